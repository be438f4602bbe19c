"""Exponentials, a part of them from the units for multiply-adds.

An SM has units that start 16 exponentials in a clock, and others that start 128 multiply-adds.
At heads of 64 a score costs the tensor cores as much time as those 16: both would have to be
busy all the time.  So a part of the exponentials can come from the others:

    2^x = 2^n · 2^f      n: x rounded to a whole number      f = x - n, from -1/2 to 1/2

2^f is a polynomial, and 2^n is n added to the exponent in that number's bits.

Source: T. Zadouri et al., "FlashAttention-4: Algorithm and Kernel Pipelining Co-Design for
Asymmetric Hardware Scaling", 2026, arXiv:2603.05451, which does so on Blackwell.
"""

from __future__ import annotations

from triton.experimental import gluon
from triton.experimental.gluon import language as gl

# A number so large that a sum with it has no room for a fraction: its last bits are n.
WHOLE = gl.constexpr(1.5 * 2**23)
# Of 2^f from -1/2 to 1/2: the polynomial of degree 5 whose largest relative error is least, but
# for its constant, which is exactly 1.  Degree 4 would do for weights, which are rounded to 16
# bits; but their sum goes into the log-sum-exp, which is FP32.
FIRST = gl.constexpr(0.6931469670647602)
SECOND = gl.constexpr(0.24022119723839977)
THIRD = gl.constexpr(0.05550713273498751)
FOURTH = gl.constexpr(0.00967554133445303)
FIFTH = gl.constexpr(0.001327647199226453)


@gluon.jit
def emulated_exp2(x):
    """2^x in FP32, for x up to 127, by multiply-adds alone; 0 where x is -inf.

    Relative error up to 3e-7 from -126 on; below it is some number below 2^-126.
    """
    x = gl.maximum(x, -127.0)
    shifted = x + WHOLE
    f = x - (shifted - WHOLE)
    power = 1.0 + f * (FIRST + f * (SECOND + f * (THIRD + f * (FOURTH + f * FIFTH))))
    n = shifted.to(gl.int32, bitcast=True) << 23  # the bits of WHOLE itself are shifted out
    return (power.to(gl.int32, bitcast=True) + n).to(gl.float32, bitcast=True)


@gluon.jit
def exponentials(x, EMULATED: gl.constexpr):
    """2^x, of which so many eighths of the columns, spread over all, are emulated.

    Columns go by eights, and which of them a thread has is known when compiling: neither of the
    two ways is computed where the other is wanted.
    """
    if EMULATED:
        LAYOUT: gl.constexpr = x.type.layout
        ROWS: gl.constexpr = x.shape[0]
        COLUMNS: gl.constexpr = x.shape[1]
        x = x.reshape([ROWS, COLUMNS // 8, 8])
        IN_EIGHTS: gl.constexpr = x.type.layout
        eight = gl.arange(0, COLUMNS // 8, gl.SliceLayout(0, gl.SliceLayout(2, IN_EIGHTS)))
        chosen = (eight * EMULATED % 8 < EMULATED)[None, :, None]
        powers = gl.where(chosen, emulated_exp2(x), gl.exp2(x)).reshape([ROWS, COLUMNS])
        return gl.convert_layout(powers, LAYOUT, assert_trivial=True)
    else:
        return gl.exp2(x)
