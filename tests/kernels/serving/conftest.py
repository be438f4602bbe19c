"""Fixtures of the serving tests: either decode kernel."""

import pytest
import torch

from tests.kernels.serving.harness import GPU, HOPPER, PORTABLE


@pytest.fixture(params=["portable", pytest.param("hopper", marks=GPU)])
def decoder(request):
    """Either decoder, with a head_dim that it is for."""
    if request.param == "hopper" and torch.cuda.get_device_capability() != (9, 0):
        pytest.skip("needs a Hopper GPU")
    return PORTABLE if request.param == "portable" else HOPPER
