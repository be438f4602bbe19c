"""Sharing out: which blocks of queries a program works on, and which keys they see.

A unit of work is a block of queries.  Causal, late blocks see many keys and early ones few:
there a unit is one of each, a pair, and all pairs are equally long (if N_q <= N_k), but for a
block in the middle, which may be left over.

Pairs rarely come out even.  Of 1024 pairs, 132 programs have 7 each, and 100 of them an 8th,
while the others wait.  So the blocks of the last few heads are units of their own, which come
after all pairs, the longest first: these fill the round that pairs have begun, and short ones
are left to make up for what is uneven.  And every other round is dealt back, as one deals
cards, so that who had the longest block of a round has the shortest of the next.
"""

from __future__ import annotations

import triton
from triton.experimental import gluon
from triton.experimental.gluon import language as gl


def units_of(
    heads: int, blocks: int, programs: int, paired: bool, singles: bool
) -> tuple[int, int, int]:
    """How many units there are; of how many heads blocks go in pairs, and of how many singly.

    heads: of all sequences   blocks: of queries in each   singles: whether some go singly
    Single blocks make 7/4 of a round, up to whole heads: more where one head has many blocks.
    With one round they could only fill what pairs have begun; the more they are, the more of
    them may be left over.
    """
    if not paired:
        return heads * blocks, 0, heads
    single = min(heads, triton.cdiv(7 * programs, 4 * blocks)) if singles else 0
    units = (heads - single) * triton.cdiv(blocks, 2) + single * blocks
    return units, heads - single, single


@gluon.jit
def dealt(place, PAIRED: gl.constexpr):
    """The unit that comes to a place of this program."""
    unit = place
    if PAIRED:
        programs = gl.num_programs(0)
        back = programs - 1 - 2 * gl.program_id(0)
        unit += gl.where(place // programs % 2 == 0, 0, back)
    return unit


@gluon.jit
def blocks_in(unit, work, seq_q, BLOCK_Q: gl.constexpr, PAIRED: gl.constexpr):
    """How many blocks of queries a unit has: a pair two, or one if it is the middle block.

    A single block is one, and past the last unit, where the last round is not full, is none.
    """
    count = gl.to_tensor(1)
    if PAIRED:
        paired, single = work
        blocks = gl.cdiv(seq_q, BLOCK_Q)
        pairs = gl.cdiv(blocks, 2)
        alone = unit - paired * pairs
        is_pair = (alone < 0) & (2 * (unit % pairs) + 1 != blocks)
        count = (alone < single * blocks).to(gl.int32) + is_pair.to(gl.int32)
    return count


@gluon.jit
def block_of(
    unit, which, work, seq_q, seq_k,
    BLOCK_Q: gl.constexpr, BLOCK_K: gl.constexpr,
    CAUSAL: gl.constexpr, PAIRED: gl.constexpr,
):  # fmt: skip
    """Where a block of queries is: which head of the batch, first query, key blocks."""
    blocks = gl.cdiv(seq_q, BLOCK_Q)
    if PAIRED:
        paired, single = work
        pairs = gl.cdiv(blocks, 2)
        alone = unit - paired * pairs
        if alone < 0:
            batch_head = unit // pairs
            block = gl.where(which == 0, blocks - 1 - unit % pairs, unit % pairs)
        else:
            batch_head = paired + alone % single
            block = blocks - 1 - alone // single  # the longest of all these heads first
    else:
        batch_head = unit // blocks
        block = blocks - 1 - unit % blocks  # the longest first
    first_query = block * BLOCK_Q
    seen = gl.minimum(seq_k, first_query + BLOCK_Q) if CAUSAL else seq_k
    return batch_head, first_query, gl.cdiv(seen, BLOCK_K)
