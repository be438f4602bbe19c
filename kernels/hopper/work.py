"""Sharing out: which blocks of queries a program works on, and which keys they see.

A unit of work is a block of queries.  Causal, late blocks see many keys and early ones few:
there a unit is one of each, and all units are equally long (if N_q <= N_k), but for a block in
the middle, which may be left over.
"""

from __future__ import annotations

from triton.experimental import gluon
from triton.experimental.gluon import language as gl


@gluon.jit
def blocks_in(unit, seq_q, BLOCK_Q: gl.constexpr, PAIRED: gl.constexpr):
    """How many blocks of queries a unit has: two, but one where the middle is left over."""
    count = gl.to_tensor(1)
    if PAIRED:
        blocks = gl.cdiv(seq_q, BLOCK_Q)
        count += (2 * (unit % gl.cdiv(blocks, 2)) + 1 != blocks).to(gl.int32)
    return count


@gluon.jit
def block_of(
    unit, which, seq_q, seq_k,
    BLOCK_Q: gl.constexpr, BLOCK_K: gl.constexpr,
    CAUSAL: gl.constexpr, PAIRED: gl.constexpr,
):  # fmt: skip
    """Where a block of queries is: which head of the batch, first query, key blocks."""
    blocks = gl.cdiv(seq_q, BLOCK_Q)
    units = gl.cdiv(blocks, 2) if PAIRED else blocks
    batch_head = unit // units
    block = blocks - 1 - unit % units  # the longest first
    if PAIRED:
        block = gl.where(which == 0, block, unit % units)
    first_query = block * BLOCK_Q
    seen = gl.minimum(seq_k, first_query + BLOCK_Q) if CAUSAL else seq_k
    return batch_head, first_query, gl.cdiv(seen, BLOCK_K)
