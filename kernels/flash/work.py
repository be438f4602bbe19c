"""What the FlashAttention kernels share: which work is a program's, and how it reads a block.

The kernels read blocks through tensor descriptors; all other tensors are pointers to contiguous
numbers.  ``scale_log2`` is scale · log2(e), because the kernels use exp2 in place of exp.
"""

from __future__ import annotations

import math

import triton
import triton.language as tl

LOG2_E = tl.constexpr(math.log2(math.e))

# Triton does not compile anew when one of these changes.
COUNTS = ["pairs", "interleave", "heads", "group", "seq_q", "seq_k", "padded_q"]


@triton.jit
def load_block(tensor, batch, head, row):
    """A block of rows, [rows, columns], from ``row`` on; outside of the tensor, zeros."""
    block = tensor.load([batch, head, row, 0])
    return block.reshape(block.shape[2], block.shape[3])


@triton.jit
def share_of_work(blocks, pairs, interleave):
    """Which pair of batch and head is this program's, and which of its blocks, longest first.

    One pair after the other; but of the last ``interleave`` first the longest block of each,
    then the next, so that at the end only short work is left.
    """
    program = tl.program_id(0)
    in_order = (pairs - interleave) * blocks
    if program < in_order:
        pair = program // blocks
        rank = program % blocks
    else:
        pair = pairs - interleave + (program - in_order) % interleave
        rank = (program - in_order) // interleave
    return pair, rank


@triton.jit
def length_of(key_lengths, batch, seq_k):
    """How many keys of this sequence are no padding."""
    if key_lengths is not None:
        seq_k = tl.minimum(tl.maximum(tl.load(key_lengths + batch), 0), seq_k).to(tl.int32)
    return seq_k
