"""Tells a program of FlashAttention which work is its own, and reads a block for it.

The kernels read blocks through tensor descriptors.  All other tensors are pointers to
contiguous numbers.  ``scale_log2`` is scale · log2(e), because the kernels use exp2 in place of
exp.
"""

from __future__ import annotations

import math

import triton
import triton.language as tl

LOG2_E = tl.constexpr(math.log2(math.e))

# Triton doesn't compile again when one of these changes.
COUNTS = ["heads", "group", "seq_q", "seq_k", "padded_q"]


@triton.jit
def load_block(tensor, batch, head, row):
    """Returns a block of rows, [rows, columns], from ``row`` on, and zeros outside."""
    block = tensor.load([batch, head, row, 0])
    return block.reshape(block.shape[2], block.shape[3])


@triton.jit
def share_of_work(blocks, rows, CAUSAL: tl.constexpr):
    """Returns a program's pair of batch and head, and the number of its block, longest first.

    The programs take one pair after another.  If the mask is causal, blocks differ in length,
    and the last long ones would run alone at the end.  So the last pairs are interleaved:
    first the longest block of each, then the next.  They have 2**15 rows, about what runs on an
    H100 at once; if all pairs were interleaved, they wouldn't share what L2 holds.

    blocks, rows: of one pair
    """
    program = tl.program_id(0)
    batch_head = program // blocks
    block_number = program % blocks
    if CAUSAL:
        batch_heads = tl.num_programs(0) // blocks
        interleave = tl.minimum(batch_heads, tl.cdiv(32768, rows))
        interleaved_number = program - (batch_heads - interleave) * blocks
        if interleaved_number >= 0:
            batch_head = batch_heads - interleave + interleaved_number % interleave
            block_number = interleaved_number // interleave
    return batch_head, block_number


@triton.jit
def length_of(key_lengths, batch, seq_k):
    """Returns how many keys of this sequence aren't padding."""
    if key_lengths is not None:
        seq_k = tl.minimum(tl.maximum(tl.load(key_lengths + batch), 0), seq_k).to(tl.int32)
    return seq_k
