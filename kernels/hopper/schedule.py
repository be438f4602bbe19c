"""Says which blocks of queries a program works on, and how many blocks of keys they see.

Without a mask, a work item is a block of queries.  With a causal mask, late blocks see many
keys and early ones see few.  So a work item is one of each, a pair, and all pairs are equally
long (if N_q <= N_k).  Only a middle block may be left over.

Pairs rarely come out even.  Of 1024 pairs, 132 programs have 7 each, and 100 of them an 8th,
while the others wait.  So the blocks of the last few heads are work items of their own, after
all pairs, the longest first.  They fill the round that the pairs began, and the short ones even
out what is left.  And the order is serpentine: every other round runs backwards over the
programs, so the program with the longest block of a round has the shortest of the next.
"""

from __future__ import annotations

import triton
from triton.experimental import gluon
from triton.experimental.gluon import language as gl


def work_items_of(
    heads: int, blocks: int, programs: int, pair_blocks: bool, longest_first_tail: bool
) -> tuple[int, int, int]:
    """Returns how many work items there are, and how many heads are in pairs and single blocks.

    heads: of the whole batch   blocks: of queries in each head   programs: one for each SM
    pair_blocks, longest_first_tail: see ``Plan``
    The single blocks make 7/4 of a round, rounded up to whole heads, so more if one head has
    many blocks.  One round could only fill what the pairs have begun, and the more single
    blocks there are, the more of them may be left over.
    """
    if not pair_blocks:
        return heads * blocks, 0, heads
    single_heads = (
        min(heads, triton.cdiv(7 * programs, 4 * blocks)) if longest_first_tail else 0
    )
    work_items = (heads - single_heads) * triton.cdiv(blocks, 2) + single_heads * blocks
    return work_items, heads - single_heads, single_heads


@gluon.jit
def serpentine(slot, PAIRED: gl.constexpr):
    """Returns the work item in this slot: every other round runs backwards over programs."""
    work_item = slot
    if PAIRED:
        programs = gl.num_programs(0)
        reversal = programs - 1 - 2 * gl.program_id(0)
        work_item += gl.where(slot // programs % 2 == 0, 0, reversal)
    return work_item


@gluon.jit
def blocks_in(work_item, sizes, BLOCK_Q: gl.constexpr, PAIRED: gl.constexpr):
    """Returns how many blocks of queries a work item has.

    A pair has two, or one if it's the middle block.  A single block counts as one.  After the
    last work item, where the last round isn't full, there are none.
    """
    count = gl.to_tensor(1)
    if PAIRED:
        blocks = gl.cdiv(sizes.seq_q, BLOCK_Q)
        pairs = gl.cdiv(blocks, 2)
        single_number = work_item - sizes.paired_heads * pairs
        is_pair = (single_number < 0) & (2 * (work_item % pairs) + 1 != blocks)
        exists = single_number < sizes.single_heads * blocks
        count = exists.to(gl.int32) + is_pair.to(gl.int32)
    return count


@gluon.jit
def block_of(
    work_item, member, sizes, BLOCK_Q: gl.constexpr, BLOCK_K: gl.constexpr,
    CAUSAL: gl.constexpr, PAIRED: gl.constexpr,
):  # fmt: skip
    """Returns a block's head, counted through the batch, its first query, and its key blocks.

    member: 0 for the long block of a pair, 1 for the short one
    """
    blocks = gl.cdiv(sizes.seq_q, BLOCK_Q)
    if PAIRED:
        pairs = gl.cdiv(blocks, 2)
        single_number = work_item - sizes.paired_heads * pairs
        if single_number < 0:
            batch_head = work_item // pairs
            block = gl.where(member == 0, blocks - 1 - work_item % pairs, work_item % pairs)
        else:
            batch_head = sizes.paired_heads + single_number % sizes.single_heads
            # the longest of all these heads first
            block = blocks - 1 - single_number // sizes.single_heads
    else:
        batch_head = work_item // blocks
        block = blocks - 1 - work_item % blocks  # the longest first
    first_query = block * BLOCK_Q
    visible_keys = gl.minimum(sizes.seq_k, first_query + BLOCK_Q) if CAUSAL else sizes.seq_k
    return batch_head, first_query, gl.cdiv(visible_keys, BLOCK_K)
