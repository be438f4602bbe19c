"""Where Triton's interpreter cannot run, also beside a GPU."""

import numpy
import pytest
import triton

INTERPRETED = pytest.mark.skipif(
    triton.__version__ < "3.7" and tuple(map(int, numpy.__version__.split(".")[:2])) >= (2, 4),
    reason="the interpreter of triton 3.6 needs numpy below 2.4",
)
