"""Scores of a block of keys: started on the tensor cores, and masked when they're there."""

from __future__ import annotations

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import warpgroup_mma

from kernels.hopper.ring import WGMMA_M


@gluon.jit
def start_scores(queries, keys, LAYOUT: gl.constexpr):
    """Returns queries · keysᵀ, [64, keys], started: its numbers are there after a wait."""
    KEYS: gl.constexpr = keys.shape[0]
    zeros = gl.zeros([WGMMA_M, KEYS], gl.float32, LAYOUT)
    return warpgroup_mma(queries, keys.permute((1, 0)), zeros, use_acc=False, is_async=True)


@gluon.jit
def apply_mask(scores, first_query, first_key, seq_k, CAUSAL: gl.constexpr):
    """Returns scores with -inf where there's no key or, causal, where it's after the query.

    A key's number is 8 · eight + key.  The compiler knows which eights a thread has, so a
    thread compares with constants, and subtracts its own key from the limit once.
    """
    LAYOUT: gl.constexpr = scores.type.layout
    KEYS: gl.constexpr = scores.shape[1]
    scores = scores.reshape([WGMMA_M, KEYS // 8, 8])
    IN_EIGHTS: gl.constexpr = scores.type.layout
    BY_ROW: gl.constexpr = gl.SliceLayout(1, gl.SliceLayout(1, IN_EIGHTS))
    eight = gl.arange(0, KEYS // 8, gl.SliceLayout(0, gl.SliceLayout(2, IN_EIGHTS)))
    key = gl.arange(0, 8, gl.SliceLayout(0, gl.SliceLayout(1, IN_EIGHTS)))
    last = gl.full([WGMMA_M], seq_k - 1 - first_key, gl.int32, BY_ROW)
    if CAUSAL:
        last = gl.minimum(last, gl.arange(0, WGMMA_M, BY_ROW) + (first_query - first_key))
    last_eight = (last[:, None] - key[None, :]) >> 3
    visible = eight[None, :, None] <= last_eight[:, None, :]
    scores = gl.where(visible, scores, -float("inf")).reshape([WGMMA_M, KEYS])
    return gl.convert_layout(scores, LAYOUT, assert_trivial=True)
