"""A plan: how the work is cut, and which of the Hopper kernel's mechanisms are used."""

from __future__ import annotations

import math
from typing import NamedTuple

from kernels.hopper.ring import ROWS


class Plan(NamedTuple):
    """How the work is cut and which of the mechanisms are used.

    consumers: 2 or 3 warpgroups, each with 64 queries     block_k: keys a tile
    q_stages, stages: tiles in each ring of queries, and in those of keys and of values
    registers: of each thread of a consumer, but for the first, which has what the others and
    the producer leave of what all began with: of 504 beside another with 240 it is 240, of 512
    beside two with 160 it is 168
    overlap: a consumer waits for its scores alone, before the product with values has ended
    turns: a consumer starts products once the one before has its scores (ping-pong)
    persistent: as many programs as SMs, else one for each unit of work
    paired: causal, a block of queries that sees many keys goes with one that sees few
    singles: but for those of the last heads, which go singly, the longest first
    lazy: a maximum that is exceeded by little is kept, and nothing is rescaled
    held: queries stay in registers, and not only in shared memory
    late: a consumer waits for its output to be read only after the next block's first softmax;
    its next queries lie in another stage, so there are two at least
    halved: causal, of a last block of keys of which a consumer sees at most the first half, it
    computes that half alone
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
        """How many queries a program works on at a time."""
        return ROWS.value * self.consumers


# Queries, by head_dim, from which causal heads have the plan of those that are not causal.
LONG = {64: 3072, 128: 16384}


# What was fastest, by head_dim and is_causal: consumers, tiles and registers on an H100, all
# else, and four stages, on an H200.
PLANS = {
    (64, False): Plan(3, 128, 2, 3, 160, turns=True, late=True, halved=True),
    (64, True): Plan(2, 128, 2, 4, 240, late=True, halved=True),
    (128, False): Plan(2, 128, 2, 2, 240, held=True, late=True),
    (128, True): Plan(2, 128, 2, 2, 240, turns=True, held=True),
    (256, False): Plan(2, 64, 1, 2, 240, lazy=True),
    (256, True): Plan(2, 64, 1, 2, 240, turns=True, lazy=True),
}


def padded(head_dim: int) -> int:
    """The columns of a tile: 64, 128 or 256; TMA fills those beyond head_dim with zeros."""
    return next(columns for columns in (64, 128, 256) if head_dim <= columns)


def plan_for(head_dim: int, is_causal: bool, seq_q: int) -> Plan:
    """What was fastest for tiles of so many columns, and so many queries."""
    columns = padded(head_dim)
    # At heads of 64 three consumers are faster, but share out short causal work too coarsely;
    # at heads of 128 turns gain on short causal work, and on long some runs have them behind.
    is_long = seq_q >= LONG.get(columns, math.inf)
    return PLANS[columns, is_causal and not is_long]
