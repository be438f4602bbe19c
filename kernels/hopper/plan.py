"""The plan of a call: its tiles, and which of the Hopper kernel's mechanisms it uses."""

from __future__ import annotations

import math
from typing import NamedTuple

from kernels.hopper.ring import WGMMA_M


class Plan(NamedTuple):
    """Tiles and mechanisms of a launch: the kernel's ``PLAN``.

    consumers: 2 or 3 consumer warpgroups, each with 64 queries   block_k: keys of a tile
    q_stages, stages: pipeline stages of each ring of queries, and of those of keys and values
    registers: of a consumer's thread.  The first consumer gets what the others and the producer
    leave: 240 of 504 beside another with 240, 168 of 512 beside two with 160
    overlap_softmax: a consumer does softmax while its product of weights and values still runs
    ping_pong: a consumer starts its products only when the consumer before has its scores
    persistent: there are as many programs as SMs, else one for each work item
    pair_blocks: causal, a work item is a block of queries that sees many keys and one that sees
    few
    longest_first_tail: the last heads aren't paired.  Their blocks come last, the longest first
    conditional_rescale: keeps a running maximum that is exceeded by little, and skips rescaling
    queries_in_registers: a consumer loads its queries once, instead of from shared memory in
    each product
    overlap_epilogue: TMA stores a block's output while the consumer begins the next block,
    whose queries are in another stage, so q_stages is 2 or more
    half_last_block: causal, a consumer that sees at most half of its last block of keys
    computes only that half
    """

    consumers: int
    block_k: int
    q_stages: int
    stages: int
    registers: int
    overlap_softmax: bool = True
    ping_pong: bool = False
    persistent: bool = True
    pair_blocks: bool = True
    longest_first_tail: bool = True
    conditional_rescale: bool = False
    queries_in_registers: bool = False
    overlap_epilogue: bool = False
    half_last_block: bool = False

    @property
    def block_q(self) -> int:
        """Returns how many queries a program works on at a time."""
        return WGMMA_M.value * self.consumers


# With so many queries or more, by columns, causal work has the plan of work without a mask.
LONG = {64: 3072, 128: 16384}


# The fastest plans, by columns and is_causal.  Consumers, tiles and registers were chosen on an
# H100; four stages and everything else on an H200.
PLANS = {
    (64, False): Plan(
        3, 128, 2, 3, 160, ping_pong=True, overlap_epilogue=True, half_last_block=True
    ),
    (64, True): Plan(2, 128, 2, 4, 240, overlap_epilogue=True, half_last_block=True),
    (128, False): Plan(2, 128, 2, 2, 240, queries_in_registers=True, overlap_epilogue=True),
    (128, True): Plan(2, 128, 2, 2, 240, ping_pong=True, queries_in_registers=True),
    (256, False): Plan(2, 64, 1, 2, 240, conditional_rescale=True),
    (256, True): Plan(2, 64, 1, 2, 240, ping_pong=True, conditional_rescale=True),
}


def padded_head_dim(head_dim: int) -> int:
    """Returns a tile's columns: 64, 128 or 256.  TMA fills those after head_dim with zeros."""
    return next(columns for columns in (64, 128, 256) if head_dim <= columns)


def plan_for(head_dim: int, is_causal: bool, seq_q: int) -> Plan:
    """Returns the plan that was fastest for tiles of so many columns, and so many queries."""
    columns = padded_head_dim(head_dim)
    # Heads of 64: three consumers are faster, but cut short causal work too coarsely.  Heads of
    # 128: ping-pong gains on short causal work, and some long runs lose with it.
    is_long = seq_q >= LONG.get(columns, math.inf)
    return PLANS[columns, is_causal and not is_long]


def check_plan(plan: Plan) -> None:
    """Raises a ValueError that names what the kernel can't do."""
    if plan.consumers not in (2, 3):
        raise ValueError(f"plan has {plan.consumers} consumers, 2 or 3 are wanted")
    if plan.overlap_epilogue and plan.q_stages < 2:
        raise ValueError(
            f"plan has overlap_epilogue with q_stages {plan.q_stages}, 2 or more are wanted"
        )
