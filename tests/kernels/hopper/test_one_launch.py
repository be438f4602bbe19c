"""One launch of each kind of the Hopper kernel is attention; each compiles what it launches, and nothing else."""

from functools import partial

import pytest

from kernels.hopper.attention import hopper_attention
from tests.kernels.flash.harness import inputs
from tests.kernels.hopper.harness import BF16, OTHER_PLANS, largest_budget_used, sms

KINDS = {  # is_causal, whether there are more pairs of batch and head than SMs, and the plan
    "full": (False, False, None),
    "causal": (True, False, None),
    "paired": (True, True, None),
    "few keys a tile": (True, False, OTHER_PLANS["few keys a tile"][1]),
}


@pytest.mark.gpu
@pytest.mark.parametrize("kind", KINDS)
def test_one_launch(kind, hopper_gpu):
    """With groups of two heads, a batch of two, and lengths that fill no tile."""
    is_causal, many, plan = KINDS[kind]
    heads = 2 * (sms(hopper_gpu) // 4 + 1) if many else 4
    q, k, v = inputs(hopper_gpu, BF16, 300, 410, 64, heads=heads, key_heads=heads // 2)
    attention = partial(hopper_attention, plan=plan)
    assert largest_budget_used(attention, q, k, v + 1, is_causal=is_causal, enable_gqa=True) <= 1
