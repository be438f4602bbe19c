"""The arguments of the Hopper kernel's warps, by name: tensors, ring buffers and sizes.

Inside a kernel a tuple's type is its fields in order, so names cost nothing when it runs.
"""

from __future__ import annotations

from typing import NamedTuple

from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import tma

from kernels.hopper.ring import Ring


class Tensors(NamedTuple):
    """Tensors in global memory, ring buffers for their tiles, and the mbarriers of ping-pong.

    q, k, v: TMA descriptors of [batch, heads, rows, columns], with tiles of one head
    out: one of [1, batch · heads, rows, columns]   lse: a pointer, or None
    q_rings: a ring for each consumer   k_ring, v_ring: one for all of them
    ping_pong: an mbarrier for each consumer, that it's its turn; unused without ping-pong
    """

    q: tma.tensor_descriptor
    k: tma.tensor_descriptor
    v: tma.tensor_descriptor
    out: tma.tensor_descriptor
    lse: gl.tensor
    q_rings: tuple[Ring, ...]
    k_ring: Ring
    v_ring: Ring
    ping_pong: gl.shared_memory_descriptor


class Sizes(NamedTuple):
    """Numbers of a launch.

    scale_log2: scale · log2(e)   slots: of the schedule, each with a work item or empty
    paired_heads, single_heads: how many heads of the whole batch have their blocks in pairs,
    and how many have single blocks
    heads: of queries in one sequence   group: how many of them share a key head
    seq_q, seq_k: queries and keys of one sequence
    """

    scale_log2: gl.tensor
    slots: gl.tensor
    paired_heads: gl.tensor
    single_heads: gl.tensor
    heads: gl.tensor
    group: gl.tensor
    seq_q: gl.tensor
    seq_k: gl.tensor
