"""Imports a module inside a function."""


def quadruple(x):
    from kernels.base import double

    return double(double(x))
