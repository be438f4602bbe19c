"""As the real one, imported by a test of kernels/."""


def within(actual, truth):
    return abs(actual - truth) <= 0
