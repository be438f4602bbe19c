"""A launch gives back what it was given."""

from kernels.launch import launch


def test_launch():
    assert launch(5) == 5
