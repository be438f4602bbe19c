"""Kernels: one that is launched with its helpers, one given to it, one only compiled, one that nobody asks for."""

import triton


@triton.jit
def innermost(x):
    return x


@triton.jit
def helper(x):
    return innermost(x)


@triton.jit
def bystander(x):
    return x


@triton.jit
def given(x):
    return x


@triton.autotune
@triton.jit
def kernel(x, bystander, operators):
    helper(x).bystander(operators[0](bystander))


@triton.jit
def warmed_up(x):
    helper(x)


@triton.jit
def forgotten(x):
    bystander(x)


def launch(x):
    warmed_up.warmup(x, grid=(1,))
    kernel[(1,)](x, x, (given,))
    return x
