"""Says how a call cuts its work, and which of the Hopper kernel's mechanisms it uses."""

from __future__ import annotations

import math
from typing import NamedTuple

from kernels.hopper.ring import ROWS


class Plan(NamedTuple):
    """How the work is cut, and which mechanisms are used: the kernel's ``PLAN``.

    consumers: 2 or 3 consumer warpgroups, each with 64 queries   block_k: keys of a tile
    q_stages, stages: stages of each ring of queries, and of those of keys and of values
    registers: of a consumer's thread.  The first consumer has what the others and the producer
    leave of what all began with: 240 of 504 beside another with 240, 168 of 512 beside two
    with 160
    overlap: a consumer waits for its scores alone, before the product with values has ended
    turns: ping-pong; a consumer starts products once the one before has its scores
    persistent: there are as many programs as SMs, else one for each unit of work
    paired: causal, a block of queries that sees many keys goes with one that sees few
    singles: except for those of the last heads, which go singly, the longest first
    lazy: lazy rescaling; a maximum that is exceeded by little is kept
    held: queries stay in registers, and not only in shared memory
    late: an epilogue in the background; a consumer waits for TMA to read its output only after
    the next block's first softmax.  Its next queries are in another stage, so there are two
    halved: causal, if a consumer sees at most the first half of its last block of keys, it
    computes only that half
    """

    consumers: int
    block_k: int
    q_stages: int
    stages: int
    registers: int
    overlap: bool = True
    turns: bool = False
    persistent: bool = True
    paired: bool = True
    singles: bool = True
    lazy: bool = False
    held: bool = False
    late: bool = False
    halved: bool = False

    @property
    def block_q(self) -> int:
        """Returns how many queries a program works on at a time."""
        return ROWS.value * self.consumers


# With so many queries or more, by columns, causal work has the plan of work without a mask.
LONG = {64: 3072, 128: 16384}


# The fastest plans, by columns and is_causal.  Consumers, tiles and registers were chosen on an
# H100; four stages and everything else on an H200.
PLANS = {
    (64, False): Plan(3, 128, 2, 3, 160, turns=True, late=True, halved=True),
    (64, True): Plan(2, 128, 2, 4, 240, late=True, halved=True),
    (128, False): Plan(2, 128, 2, 2, 240, held=True, late=True),
    (128, True): Plan(2, 128, 2, 2, 240, turns=True, held=True),
    (256, False): Plan(2, 64, 1, 2, 240, lazy=True),
    (256, True): Plan(2, 64, 1, 2, 240, turns=True, lazy=True),
}


def padded(head_dim: int) -> int:
    """Returns a tile's columns: 64, 128 or 256.  TMA fills those after head_dim with zeros."""
    return next(columns for columns in (64, 128, 256) if head_dim <= columns)


def plan_for(head_dim: int, is_causal: bool, seq_q: int) -> Plan:
    """Returns the plan that was fastest for tiles of so many columns, and so many queries."""
    columns = padded(head_dim)
    # Heads of 64: three consumers are faster, but cut short causal work too coarsely.  Heads of
    # 128: ping-pong gains on short causal work, and some long runs lose with it.
    is_long = seq_q >= LONG.get(columns, math.inf)
    return PLANS[columns, is_causal and not is_long]


def check_plan(plan: Plan) -> None:
    """Raises a ValueError that names what the kernel can't do."""
    if plan.consumers not in (2, 3):
        raise ValueError(f"plan has {plan.consumers} consumers, 2 or 3 are wanted")
    if plan.late and plan.q_stages < 2:
        raise ValueError(f"plan is late with q_stages {plan.q_stages}, 2 or more are wanted")
