def quadruple(x):
    from kernels.base import double

    return double(double(x))
