"""Twice is twice <exactly>, by hand.

More is said here.
"""

import pytest
from kernels.base import double
from tests.budget import within


@pytest.mark.parametrize("x", [1, 2, 3])
def test_double(x, two):
    assert within(double(x), two * x)


def test_zero():
    assert double(0) == 0


@pytest.mark.skip(reason="needs two GPUs")
def test_on_two():
    pass


@pytest.mark.parametrize("x", ["a::b[c]", "d", "e"])
def test_text(x):
    if x != "d":
        pytest.skip("no text")
    assert double(x) == x + x


@pytest.mark.xfail(reason="text cannot be halved")
def test_half():
    double("x") / 2
