"""Says which blocks of queries a program works on, and how many blocks of keys they see.

A unit of work is a block of queries.  If the mask is causal, late blocks see many keys and
early ones few: there a unit is one of each, a pair, and all pairs are equally long (if N_q <=
N_k) except for a middle block, which may be left over.

Pairs rarely come out even.  Of 1024 pairs, 132 programs have 7 each, and 100 of them an 8th,
while the others wait.  So the blocks of the last few heads are units of their own, which come
after all pairs, the longest first.  They fill the round that the pairs began, and the short
ones even out what is left.  And every other round is dealt backwards, like cards, so the
program with the longest block of a round has the shortest of the next.
"""

from __future__ import annotations

import triton
from triton.experimental import gluon
from triton.experimental.gluon import language as gl


def units_of(
    heads: int, blocks: int, programs: int, paired: bool, singles: bool
) -> tuple[int, int, int]:
    """Returns how many units there are, how many heads are paired, and how many are single.

    heads: of the whole batch   blocks: of queries in each head   programs: one for each SM
    paired: whether blocks go in pairs   singles: whether the last heads' blocks go singly
    Single blocks make 7/4 of a round, rounded up to whole heads: more if one head has many
    blocks.  With one round they could only fill what pairs have begun, and the more there are,
    the more of them may be left over.
    """
    if not paired:
        return heads * blocks, 0, heads
    single = min(heads, triton.cdiv(7 * programs, 4 * blocks)) if singles else 0
    units = (heads - single) * triton.cdiv(blocks, 2) + single * blocks
    return units, heads - single, single


@gluon.jit
def dealt(place, PAIRED: gl.constexpr):
    """Returns the unit at this place: every other round goes backwards over the programs."""
    unit = place
    if PAIRED:
        programs = gl.num_programs(0)
        back = programs - 1 - 2 * gl.program_id(0)
        unit += gl.where(place // programs % 2 == 0, 0, back)
    return unit


@gluon.jit
def blocks_in(unit, sizes, BLOCK_Q: gl.constexpr, PAIRED: gl.constexpr):
    """Returns how many blocks of queries a unit has.

    A pair has two, or one if it is the middle block.  A single block counts as one.  After the
    last unit, where the last round isn't full, there are none.
    """
    count = gl.to_tensor(1)
    if PAIRED:
        blocks = gl.cdiv(sizes.seq_q, BLOCK_Q)
        pairs = gl.cdiv(blocks, 2)
        alone = unit - sizes.paired * pairs
        is_pair = (alone < 0) & (2 * (unit % pairs) + 1 != blocks)
        count = (alone < sizes.single * blocks).to(gl.int32) + is_pair.to(gl.int32)
    return count


@gluon.jit
def block_of(
    unit, which, sizes, BLOCK_Q: gl.constexpr, BLOCK_K: gl.constexpr,
    CAUSAL: gl.constexpr, PAIRED: gl.constexpr,
):  # fmt: skip
    """Returns a block's head, counted through the batch, its first query, and its key blocks.

    which: 0 for the long block of a pair, 1 for the short one
    """
    blocks = gl.cdiv(sizes.seq_q, BLOCK_Q)
    if PAIRED:
        pairs = gl.cdiv(blocks, 2)
        alone = unit - sizes.paired * pairs
        if alone < 0:
            batch_head = unit // pairs
            block = gl.where(which == 0, blocks - 1 - unit % pairs, unit % pairs)
        else:
            batch_head = sizes.paired + alone % sizes.single
            block = blocks - 1 - alone // sizes.single  # the longest of all these heads first
    else:
        batch_head = unit // blocks
        block = blocks - 1 - unit % blocks  # the longest first
    first_query = block * BLOCK_Q
    seen = gl.minimum(sizes.seq_k, first_query + BLOCK_Q) if CAUSAL else sizes.seq_k
    return batch_head, first_query, gl.cdiv(seen, BLOCK_K)
