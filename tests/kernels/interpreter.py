"""Marks a test that runs in Triton's interpreter even on a machine with a GPU; skipped where that can't run."""

import numpy
import pytest
import triton


def major_and_minor(version: str) -> tuple[int, ...]:
    """Returns a version's first two numbers, since as strings "3.10" is less than "3.7"."""
    return tuple(map(int, version.split(".")[:2]))


needs_interpreter = pytest.mark.skipif(
    major_and_minor(triton.__version__) < (3, 7) and major_and_minor(numpy.__version__) >= (2, 4),
    reason="the interpreter of triton 3.6 needs numpy below 2.4",
)
