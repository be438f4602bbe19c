"""Rescaling only where it is worth it: a running maximum that is exceeded by little is kept.

Online softmax subtracts the largest score so far, and multiplies what it has by a factor
whenever that grows.  It need not be the largest.  Any mark m gives the same output,

    Σ exp2(sᵢ - m) · vᵢ / Σ exp2(sᵢ - m),

for a factor exp2(-m) stands above and below the line; and log2 Σ exp2(sᵢ - m) + m is the same
log-sum-exp.  The mark has to be near the largest score only so that numbers neither overflow
nor vanish.  So it stays until a score is more than ``ROOM`` powers of two above it.  Then a
weight is 2⁸ at most, which FP16 and BF16 round as they round 1, and sums in FP32 keep a room
of 2¹¹⁹; and the largest weight of a row is 1 at least, for its mark was one of its scores, so
that nothing vanishes.

On random input marks hardly ever move after the first block, and a warp whose marks all stay
jumps over the multiplications: D / 2 of each thread.  That pays at heads of 256, where 128 of
some 430 instructions of a step are gone.  At heads of 64 and 128, which have fewer to save,
the comparison costs more than it gives.

Source: T. Zadouri et al., "FlashAttention-4: Algorithm and Kernel Pipelining Co-Design for
Asymmetric Hardware Scaling", 2026, arXiv:2603.05451.
"""

from __future__ import annotations

from triton.experimental import gluon
from triton.experimental.gluon import language as gl

ROOM = gl.constexpr(8.0)


@gluon.jit
def mark(new_max, running_max, scale_log2):
    """``new_max`` where it is far enough above ``running_max``, which else is kept."""
    # Where both are -inf the difference is NaN, and nothing moves.
    return gl.where((new_max - running_max) * scale_log2 > ROOM, new_max, running_max)


@gluon.constexpr_function
def multiplications(COUNT):
    """PTX: multiplies COUNT numbers by factors, unless those of all threads of the warp are 1.

    $0 and so on: products; $COUNT and so on: the numbers, in the same registers; behind them
    the factors.  A thread has numbers of two rows: the first is of one, the third of the other.
    """
    lines = [
        ".reg .pred moved, other;",
        f"setp.neu.f32 moved, ${2 * COUNT}, 0f3F800000;",
        f"setp.neu.f32 other, ${2 * COUNT + 2}, 0f3F800000;",
        "or.pred moved, moved, other;",
        "vote.sync.any.pred moved, moved, 0xffffffff;",
        "@!moved bra KEPT;",
        *(f"mul.f32 ${i}, ${i}, ${2 * COUNT + i};" for i in range(COUNT)),
        "KEPT:",
    ]
    return "{\n" + "\n".join(lines) + "\n}"


@gluon.constexpr_function
def registers(COUNT):
    """The constraints of that PTX: products, the same registers as numbers, factors."""
    return ",".join(["=f"] * COUNT + [str(i) for i in range(COUNT)] + ["f"] * COUNT)


@gluon.jit
def rescaled(accumulator, factor):
    """The accumulator times the factor of its row, [rows, 1]; most often that is 1."""
    COUNT: gl.constexpr = accumulator.shape[1] // 2  # numbers that a thread has
    TEXT: gl.constexpr = multiplications(COUNT)
    REGISTERS: gl.constexpr = registers(COUNT)
    factor = factor.broadcast_to(accumulator.shape)
    return gl.inline_asm_elementwise(
        TEXT, REGISTERS, [accumulator, factor], dtype=gl.float32, is_pure=True, pack=COUNT
    )
