"""The arguments of the backward kernels' warps, by name."""

from __future__ import annotations

from typing import NamedTuple

from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import tma

from kernels.hopper.backward.schedule import Tiles
from kernels.hopper.ring import Ring


class Inputs(NamedTuple):
    """What a program that owns keys reads, and the shared memory that TMA fetches it into.

    q, k, v, dout, lse_log2, delta: TMA descriptors   k_tiles, v_tiles: filled once, and kept
    q_ring, do_ring: ring buffers of a block's queries and dout
    lse_stages, delta_stages: one number for each row of those tiles, in stages like theirs
    """

    q: tma.tensor_descriptor
    k: tma.tensor_descriptor
    v: tma.tensor_descriptor
    dout: tma.tensor_descriptor
    lse_log2: tma.tensor_descriptor
    delta: tma.tensor_descriptor
    k_tiles: Tiles
    v_tiles: Tiles
    q_ring: Ring
    lse_stages: gl.shared_memory_descriptor
    do_ring: Ring
    delta_stages: gl.shared_memory_descriptor


class Outputs(NamedTuple):
    """Where a program's sums go, and the shared memory that they go through.

    dq, dk, dv, dq_semaphores: see ``hopper_backward_kernel``
    dscores: a ring that both consumers write   staging: tiles of sums that TMA adds to dq, two
    stages for each consumer
    """

    dq: tma.tensor_descriptor
    dk: tma.tensor_descriptor
    dv: tma.tensor_descriptor
    dq_semaphores: gl.tensor
    dscores: Ring
    staging: gl.shared_memory_descriptor


class Sizes(NamedTuple):
    """Numbers of a launch whose programs own keys.

    scale: of the scores   heads: of queries in one sequence   group: how many share a key head
    splits: how many programs share the heads of a group
    batch_heads: pairs of batch and key head, times splits   interleave: see ``share_of``
    seq_q, seq_k: queries and keys of one sequence   padded_q: queries up to whole blocks
    number: of this program
    """

    scale: gl.tensor
    heads: gl.tensor
    group: gl.tensor
    splits: gl.tensor
    batch_heads: gl.tensor
    interleave: gl.tensor
    seq_q: gl.tensor
    seq_k: gl.tensor
    padded_q: gl.tensor
    number: gl.tensor


class QuerySizes(NamedTuple):
    """Numbers of a launch whose programs own queries: as in ``Sizes``, with pairs of heads."""

    scale: gl.tensor
    heads: gl.tensor
    group: gl.tensor
    batch_heads: gl.tensor
    interleave: gl.tensor
    seq_q: gl.tensor
    seq_k: gl.tensor
    padded_q: gl.tensor
