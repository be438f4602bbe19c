import pytest

from kernels.base import double

NO_TEXT = pytest.param("a::b[c]", marks=pytest.mark.skip("no text"))


@pytest.mark.parametrize("x", [1, 2, NO_TEXT, pytest.param("x", marks=pytest.mark.xfail(reason="text isn't a number"))])
def test_double(x):
    assert double(x) - x == x
