"""The tiles of the kernels: their own on a GPU, and small ones, which make many blocks of small inputs."""

import pytest

from tests.kernels.flash.harness import small_tiles


@pytest.fixture(params=[pytest.param("own tiles", marks=pytest.mark.gpu), "small tiles"])
def tiles(request, monkeypatch):
    """Small tiles make many blocks of small inputs: whole ones, the diagonal, the tail.  They differ, as others may.

    The interpreter takes long over the kernel's own tiles, most of which small inputs leave empty: one test does.
    """
    if request.param == "small tiles":
        small_tiles(monkeypatch)
