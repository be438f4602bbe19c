"""Chapter 9: its drawings and its arithmetic speak of the kernel's own plan, and the pairs are counted."""

from math import ceil

import pytest

from kernels.bench.hardware import H100
from tests.claims.rows import row
from tests.docs.tables import drawn

SMS, ROWS = int(H100["sms"].value), int(H100["wgmma rows"].value)


def test_a_drawn_consumer_has_the_rows_of_a_wgmma():
    assert drawn("hopper-sm").count(f"4 warps, {ROWS} queries") == 2


def test_the_drawn_phases_are_those_that_the_producer_waits_for():
    wait = [1 - use // 2 % 2 for use in range(6)]
    wanted = f"use 0 waits for {wait[0]}, use 2 for {wait[2]}, use 4 for {wait[4]}."
    assert wanted in drawn("phases")


@pytest.mark.parametrize("head_dim, consumers, block_k, stages", [(64, 3, 128, 3), (128, 2, 128, 2), (256, 2, 64, 2)])
def test_the_plan_of_the_arithmetic_is_the_kernels(head_dim, consumers, block_k, stages):
    """A run of the kernel with these plans; consumers have 64 queries each."""
    plan = row("hopper_budget", "budget", head_dim=head_dim, consumers=consumers, stages=stages)
    compiled = row("hopper_compiled", "compiled", head_dim=head_dim, causal=False, lse=False)
    assert (compiled["consumers"], compiled["block_k"]) == (consumers, block_k) == (plan["consumers"], plan["block_k"])
    assert compiled["consumer"] == plan["granted"]


@pytest.mark.parametrize("head_dim, block_q, block_k", [(64, 192, 128), (128, 128, 128), (256, 128, 64)])
def test_counting_blocks_gives_the_recorded_gain_of_pairs(head_dim, block_q, block_k):
    blocks, heads = ceil(16384 / block_q), 2048 // head_dim
    lengths = [ceil(min(16384, (block + 1) * block_q) / block_k) for block in reversed(range(blocks))]
    pairs = [long + short for long, short in zip(lengths[: blocks // 2], reversed(lengths), strict=False)]
    single, paired = (max(sum((works * heads)[sm::SMS]) for sm in range(SMS)) for works in (lengths, pairs))
    assert blocks % 2 == 0
    assert row("hopper_shares", "shares", head_dim=head_dim, n=16384)["gain"] == round(single / paired, 3)
