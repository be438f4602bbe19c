"""Marks a test that runs in Triton's interpreter even on a machine with a GPU; skipped where that can't run."""

import numpy
import pytest
import triton

needs_interpreter = pytest.mark.skipif(
    triton.__version__ < "3.7" and tuple(map(int, numpy.__version__.split(".")[:2])) >= (2, 4),
    reason="the interpreter of triton 3.6 needs numpy below 2.4",
)
