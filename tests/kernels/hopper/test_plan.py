"""Every plan fits on an SM, and computes attention."""

import re
from functools import partial

import pytest
import torch

from kernels.bench.hardware import H100
from kernels.hopper import attention as forward_module
from kernels.hopper import plan as plans
from kernels.hopper.attention import hopper_attention
from kernels.hopper.plan import PLANS, plan_for
from tests.kernels.flash.harness import inputs
from tests.kernels.hopper.harness import (
    BF16,
    OTHER_PLANS,
    largest_budget_used,
    on_hopper,
    sms,
)
from tests.kernels.prefilled import prefilled_with_nan

REGISTERS = H100["registers per SM"].value // 4
SHARED_MEMORY = H100["shared memory per block"].value


# Plans.


@on_hopper
@pytest.mark.parametrize("plan", OTHER_PLANS)
def test_other_plans(plan, device):
    """Of one block of queries, and of some, with more pairs than SMs and fewer keys than queries."""
    is_causal, plan = OTHER_PLANS[plan]
    heads = 4 * (sms(device) // 8 + 1)
    for seq_q, seq_k in ((50, 120), (600, 500)):
        q, k, v = inputs(device, BF16, seq_q, seq_k, 64, batch=2, heads=heads, key_heads=heads // 4)
        attention = partial(hopper_attention, plan=plan)
        assert largest_budget_used(attention, q, k, v, is_causal=is_causal, enable_gqa=True) <= 1


@pytest.mark.large
@on_hopper
def test_more_programs_than_a_grid_axis_of_65535(device):
    q, k, v = torch.randn(3, 35000, 2, 4, 64, device=device, dtype=BF16)
    expected = hopper_attention(*(x[-100:] for x in (q, k, v)))
    for plan in (PLANS[64, False], PLANS[64, False]._replace(persistent=False)):
        with prefilled_with_nan():
            out = hopper_attention(q, k, v, plan=plan)
        assert out.isfinite().all() and out[-100:].equal(expected)


class Observed:
    """A kernel, and what was compiled for each of its launches."""

    def __init__(self, kernel):
        self.kernel, self.made = kernel, []

    def __getitem__(self, grid):
        return lambda *arguments, **options: self.made.append(self.kernel[grid](*arguments, **options))


@on_hopper
@pytest.mark.parametrize("return_lse", [False, True], ids=["out", "out and lse"])
@pytest.mark.parametrize("pairs", ["few", "many"])
@pytest.mark.parametrize(
    "head_dim, is_causal, seq_q", [*[(*x, 200) for x in PLANS], *[(d, True, n) for d, n in plans.LONG.items()]]
)
def test_what_the_compiler_says(head_dim, is_causal, seq_q, pairs, return_lse, device, monkeypatch):
    """Nothing is spilled, consumers get the registers of the plan, the rings take what they should."""
    observed = Observed(forward_module.hopper_kernel)
    monkeypatch.setattr(forward_module, "hopper_kernel", observed)
    shape = (1, 1 if pairs == "few" else sms(device) + 1, seq_q, head_dim)
    q = torch.randn(shape, device=device, dtype=BF16)
    hopper_attention(q, q, q, is_causal=is_causal, return_lse=return_lse)
    (made,) = observed.made
    assert made.n_spills == 0
    plan = plan_for(head_dim, is_causal, seq_q)
    assert re.search(rf"setmaxnreg\.inc\S+\s+{plan.registers};", made.asm["ptx"])
    rows = plan.q_stages * plan.block_q + 2 * plan.stages * plan.block_k
    assert 2 * rows * head_dim < made.metadata.shared < 2 * rows * head_dim + 1024


@pytest.mark.parametrize("head_dim, is_causal", PLANS)
def test_a_plan_fits_on_an_sm(head_dim, is_causal):
    """Its tiles of 2 bytes a number in shared memory, where barriers need some room; its warps' registers.

    Where the epilogue is overlapped, two stages of queries at least.
    """
    plan = PLANS[head_dim, is_causal]
    rows = plan.q_stages * plan.block_q + 2 * plan.stages * plan.block_k
    assert 2 * rows * head_dim + 1024 <= SHARED_MEMORY
    assert 128 * (plan.consumers * plan.registers + 24) <= REGISTERS  # the producer's warp is counted as four
    assert plan.q_stages > plan.overlap_epilogue


def test_a_head_dim_between_has_the_plan_of_the_next():
    for is_causal in (False, True):
        for head_dim in range(8, 257, 8):
            next_size = min(x for x in (64, 128, 256) if x >= head_dim)
            assert plan_for(head_dim, is_causal, 1) == PLANS[next_size, is_causal]


@pytest.mark.parametrize("head_dim, columns", [(64, 64), (72, 128), (128, 128)])
def test_long_causal_work_has_the_plan_of_full_work(head_dim, columns):
    assert plan_for(head_dim, True, plans.LONG[columns] - 1) == PLANS[columns, True]
    assert plan_for(head_dim, True, plans.LONG[columns]) == PLANS[columns, False]


def test_causal_heads_of_256_have_one_plan():
    assert plan_for(256, True, 2**20) == PLANS[256, True] != PLANS[256, False]
