"""Conditional rescaling: keeps the old running maximum if the new one is little larger.

Online softmax subtracts the largest score so far, and rescales its sums whenever that grows.
But it doesn't have to be the largest.  Any reference m gives the same output,

    Σ exp2(sᵢ - m) · vᵢ / Σ exp2(sᵢ - m),

because exp2(-m) is a factor above and below the line, and log2 Σ exp2(sᵢ - m) + m is the same
log-sum-exp.  m only has to be close enough to the largest score that nothing overflows or
vanishes.  So we keep it until a score is more than ``THRESHOLD`` powers of two above it.  Then
no weight is above 2⁸, which FP16 and BF16 round like 1, and FP32 sums have room for another
2¹¹⁹.  And the largest weight of a row is at least 1, because m was one of its scores, so
nothing vanishes.

On random input the reference almost never moves after the first block, and a warp in which no
row moves jumps over its multiplications, D / 2 for each thread.  That pays at heads of 256,
where it saves 128 of some 430 instructions a step.  At heads of 64 and 128 there's less to
save, and the comparison costs more than it gives.

Source: T. Zadouri et al., "FlashAttention-4: Algorithm and Kernel Pipelining Co-Design for
Asymmetric Hardware Scaling", 2026, arXiv:2603.05451.
"""

from __future__ import annotations

from triton.experimental import gluon
from triton.experimental.gluon import language as gl

THRESHOLD = gl.constexpr(8.0)


@gluon.jit
def reference_max(new_max, running_max, scale_log2):
    """Returns the running maximum to go on with: the old one, unless the new one is far above.

    That's the reference m of this module: the number that we subtract from scores.
    new_max, running_max: of each row's raw scores, with and without the latest block of keys
    scale_log2: scale · log2(e), by which the kernel multiplies raw scores
    """
    # Where both are -inf the difference is NaN, and nothing moves.
    return gl.where((new_max - running_max) * scale_log2 > THRESHOLD, new_max, running_max)


@gluon.constexpr_function
def multiplications(COUNT):
    """Returns the text of PTX that multiplies, unless all factors of the warp are 1.

    COUNT: how many numbers of the accumulator a thread has
    Operands: COUNT products, then the numbers, in the same registers, then the factors.  A
    thread has numbers of two rows: its first belongs to one, its third to the other.
    """
    instructions = [
        ".reg .pred moved, other;",
        f"setp.neu.f32 moved, ${2 * COUNT}, 0f3F800000;",
        f"setp.neu.f32 other, ${2 * COUNT + 2}, 0f3F800000;",
        "or.pred moved, moved, other;",
        "vote.sync.any.pred moved, moved, 0xffffffff;",
        "@!moved bra KEPT;",
        *(f"mul.f32 ${i}, ${i}, ${2 * COUNT + i};" for i in range(COUNT)),
        "KEPT:",
    ]
    return "{\n" + "\n".join(instructions) + "\n}"


@gluon.constexpr_function
def registers(COUNT):
    """Returns the operand constraints of that PTX: products, numbers, factors.

    "=f" is an FP32 register to write, "i" the register of operand i, "f" one to read.
    """
    return ",".join(["=f"] * COUNT + [str(i) for i in range(COUNT)] + ["f"] * COUNT)


@gluon.jit
def rescale_rows(accumulator, factor):
    """Returns the accumulator times its row's factor, [rows, 1], which is mostly 1."""
    COUNT: gl.constexpr = accumulator.shape[1] // 2  # numbers of a thread
    PTX: gl.constexpr = multiplications(COUNT)
    CONSTRAINTS: gl.constexpr = registers(COUNT)
    factor = factor.broadcast_to(accumulator.shape)
    return gl.inline_asm_elementwise(
        PTX, CONSTRAINTS, [accumulator, factor], dtype=gl.float32, is_pure=True, pack=COUNT
    )
