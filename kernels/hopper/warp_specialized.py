"""Warp specialisation in one short kernel: a producer warp, two consumers, a ring of stages.

This is ``kernels.hopper.attention`` without its switches.  The producer has TMA fetch tiles,
and each consumer warpgroup computes attention for 64 queries.  Keys and values go through ring
buffers of two stages.  A stage is full when its bytes are there, and free again when both
consumers have read it; ``kernels.hopper.ring`` has the mbarriers that say so.

Source: J. Shah et al., "FlashAttention-3: Fast and Accurate Attention with Asynchrony and
Low-precision", 2024, arXiv:2407.08608.
"""

from __future__ import annotations

import torch
import triton
from torch import Tensor
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import (
    fence_async_shared,
    tma,
    warpgroup_mma,
    warpgroup_mma_wait,
)

from kernels.checks import check_no_gradient, check_shapes
from kernels.flash.schedule import LOG2_E
from kernels.hopper.ring import WGMMA_M, fetch, make_ring, release, wait_for_tile
from kernels.hopper.tensors import check_hopper, make_descriptor

BLOCK_K = gl.constexpr(128)
STAGES = gl.constexpr(2)  # of the rings of keys and of values


def warp_specialized_attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Returns attention without a mask, [batch, heads, N_q, head_dim], on a Hopper GPU.

    q: [batch, heads, N_q, head_dim]   k, v: [batch, heads, N_k, head_dim]
    All contiguous, FP16 or BF16, sums in FP32; head_dim 64 or 128, N_q and N_k multiples of
    128, and not 0.

    Raises a ValueError or TypeError that names the argument, and a RuntimeError where the GPU
    is no Hopper.  It has no gradient.  ``hopper_attention`` takes all that this refuses.
    """
    scale = check_shapes(q, k, v)
    check_no_gradient(instead="hopper_attention", query=q, key=k, value=v)
    for name, x in {"query": q, "key": k, "value": v}.items():
        if x.shape[-1] not in (64, 128):
            raise ValueError(
                f"{name} has head_dim {x.shape[-1]}, 64 or 128 is wanted: use hopper_attention"
            )
        if x.shape[-2] % 128 or not x.numel():
            raise ValueError(
                f"{name} has shape {list(x.shape)}, a sequence of 128, 256, 384 ... is wanted: "
                "use hopper_attention"
            )
        if not x.is_contiguous() or x.data_ptr() % 16:
            raise ValueError(
                f"{name} has strides {x.stride()}, a contiguous tensor is wanted, from a "
                "multiple of 16 bytes on: use hopper_attention"
            )
    check_hopper(q, k, v)
    out = torch.empty_like(q)
    with torch.cuda.device_of(q):
        launch(q, k, v, out, scale)
    return out


def launch(q: Tensor, k: Tensor, v: Tensor, out: Tensor, scale: float) -> None:
    """Starts a program for each 128 queries of a head."""
    batch, heads, seq_q, head_dim = q.shape
    warp_specialized_kernel[(batch * heads * triton.cdiv(seq_q, 128),)](
        make_descriptor(q, WGMMA_M.value, head_dim),
        make_descriptor(k, BLOCK_K.value, head_dim),
        make_descriptor(v, BLOCK_K.value, head_dim),
        make_descriptor(out, WGMMA_M.value, head_dim),
        scale * LOG2_E.value, heads, seq_q, k.shape[2], HEAD_DIM=head_dim, num_warps=4,
    )  # fmt: skip


@gluon.jit(do_not_specialize=["heads", "seq_q", "seq_k"])
def warp_specialized_kernel(
    q, k, v, out, scale_log2, heads, seq_q, seq_k, HEAD_DIM: gl.constexpr
):  # fmt: skip
    """128 queries, through all keys: warps 0 to 7 compute, and warp 8 fetches."""
    blocks = seq_q // 128
    batch_head = gl.program_id(0) // blocks
    batch, head = batch_head // heads, batch_head % heads
    first_query = gl.program_id(0) % blocks * 128
    q_rings = (make_ring(q, 1, 1), make_ring(q, 1, 1))
    k_ring, v_ring = make_ring(k, STAGES, 2), make_ring(v, STAGES, 2)
    fence_async_shared()  # TMA sees the barriers, too
    work = (batch, head, first_query, seq_k)
    rings = (q_rings, k_ring, v_ring)
    gl.warp_specialize(
        [
            (consume, (out, rings, work, scale_log2, 0, HEAD_DIM)),
            (consume, (out, rings, work, scale_log2, 1, HEAD_DIM)),
            (produce, (q, k, v, rings, work)),
        ],
        [4, 1],  # warps of the second consumer and of the producer
        [240, 24],  # registers of their threads
    )


@gluon.jit
def produce(q, k, v, rings, work):
    """The producer warp: fetches the queries, then each block of keys and values."""
    q_rings, k_ring, v_ring = rings
    batch, head, first_query, seq_k = work
    for i in gl.static_range(2):
        fetch(q, q_rings[i], 0, batch, head, first_query + i * WGMMA_M)
    for block in range(seq_k // BLOCK_K):
        fetch(k, k_ring, block, batch, head, block * BLOCK_K)  # waits until the stage is free
        fetch(v, v_ring, block, batch, head, block * BLOCK_K)


@gluon.jit
def consume(out, rings, work, scale_log2, CONSUMER: gl.constexpr, HEAD_DIM: gl.constexpr):
    """A consumer warpgroup: online softmax of 64 queries, and their output."""
    SCORES: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, BLOCK_K, 16])
    OUTPUT: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, HEAD_DIM, 16])
    BY_ROW: gl.constexpr = gl.SliceLayout(1, SCORES)
    LEFT: gl.constexpr = gl.DotOperandLayout(0, OUTPUT, 2)  # a left operand in registers
    q_rings, k_ring, v_ring = rings
    batch, head, first_query, seq_k = work
    queries = wait_for_tile(q_rings[CONSUMER], 0)
    running_max = gl.full([WGMMA_M], -float("inf"), gl.float32, BY_ROW)
    running_sum = gl.zeros([WGMMA_M], gl.float32, BY_ROW)
    accumulator = gl.zeros([WGMMA_M, HEAD_DIM], gl.float32, OUTPUT)
    zeros = gl.zeros([WGMMA_M, BLOCK_K], gl.float32, SCORES)

    for block in range(seq_k // BLOCK_K):
        # Scores, on the tensor cores.  The stage of keys is free once they're there.
        keys = wait_for_tile(k_ring, block).permute((1, 0))
        scores = warpgroup_mma(queries, keys, zeros, use_acc=False, is_async=True)
        scores = warpgroup_mma_wait(0, deps=(scores,))
        release(k_ring, block)

        # Online softmax, while the tensor cores work for the other consumer.
        new_max = gl.maximum(running_max, gl.max(scores, 1) * scale_log2)
        weights = gl.exp2(scores * scale_log2 - new_max[:, None])
        rescale = gl.exp2(running_max - new_max)
        running_sum = running_sum * rescale + gl.sum(weights, 1)
        running_max = new_max

        # Values, and then their stage is free, too.
        factor = gl.convert_layout(rescale, gl.SliceLayout(1, OUTPUT))
        accumulator = accumulator * factor[:, None]
        weights = gl.convert_layout(weights.to(queries.dtype), LEFT)
        values = wait_for_tile(v_ring, block)
        accumulator = warpgroup_mma(weights, values, accumulator, is_async=True)
        accumulator = warpgroup_mma_wait(0, deps=(accumulator,))
        release(v_ring, block)

    # The output overwrites the queries in shared memory, and TMA stores it from there.
    total = gl.convert_layout(running_sum, gl.SliceLayout(1, OUTPUT))
    queries.store((accumulator / total[:, None]).to(queries.dtype))
    fence_async_shared()  # TMA sees what the threads wrote
    row = first_query + CONSUMER * WGMMA_M
    tile = q_rings[CONSUMER].tiles.index(0)
    tma.async_copy_shared_to_global(out, [batch, head, row, 0], tile)
    tma.store_wait(0)  # shared memory ends with the program
