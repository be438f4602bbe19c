"""A mark of tests that need Triton's interpreter, also beside a GPU: skipped where it cannot run."""

import numpy
import pytest
import triton

needs_interpreter = pytest.mark.skipif(
    triton.__version__ < "3.7" and tuple(map(int, numpy.__version__.split(".")[:2])) >= (2, 4),
    reason="the interpreter of triton 3.6 needs numpy below 2.4",
)
