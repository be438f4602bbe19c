"""What is attention is accepted, and what is not is rejected: by its output, its gradients, its log-sum-exp."""

import math
from typing import NamedTuple

import pytest
import torch

from kernels.flash.attention import flash_attention
from tests.kernels.error_budget import attention_budget_used, gradient_budget_used, lse_budget_used
from tests.kernels.flash.wrong import WRONG, WRONG_GRADIENT, WRONG_LSE, streaming_attention, with_changed_gradients

FP32, FP16 = torch.float32, torch.float16
DTYPES = pytest.mark.parametrize("dtype", [FP32, FP16], ids=["fp32", "fp16"])
JUDGES = [attention_budget_used, gradient_budget_used, lse_budget_used]


class Case(NamedTuple):
    """Inputs on which a mistake may show.

    spread: how far values are from 1; where they are all alike, nothing hides the error of a weight
    """

    seq_q: int
    seq_k: int
    is_causal: bool = False
    key_lengths: list[int] | None = None
    spread: float = 1.0

    def options(self, device):
        options = {"is_causal": True} if self.is_causal else {}
        if self.key_lengths is not None:
            options["key_lengths"] = torch.tensor(self.key_lengths, device=device)
        return {"enable_gqa": True} | options


CASES = [
    Case(seq_q, seq_k, is_causal, key_lengths)
    for is_causal, key_lengths in ((False, None), (True, None), (False, [0, 70]))
    for seq_q, seq_k in ((70, 130), (130, 70), (16, 1000))
] + [Case(70, 4, spread=0.05)]


def inputs(device, dtype, case, head_dim=40, *, batch=2, heads=4, key_heads=2):
    """Queries that make sharp and flat rows; values with a mean, heads of very different size."""
    size = torch.linspace(0.1, 3, case.seq_q, device=device)[:, None]
    q = size * torch.randn(batch, heads, case.seq_q, head_dim, device=device)
    k, v = torch.randn(2, batch, key_heads, case.seq_k, head_dim, device=device)
    v = (1 + case.spread * v) * torch.logspace(-2, 2, key_heads, device=device)[:, None, None]
    return [x.to(dtype) for x in (q, k, v)]


def budget_is_kept(budget_used, kernel, dtype, device):
    """In every case, up to the first in which it is not."""
    # The interpreter takes a minute for all: there FlashAttention has each mask once, and the values that are alike.
    cases = CASES[::3] if kernel is flash_attention and device.type == "cpu" else CASES
    for case in cases:
        fractions_used = budget_used(kernel, *inputs(device, dtype, case), **case.options(device))
        if max(fractions_used.values() if isinstance(fractions_used, dict) else [fractions_used]) > 1:
            return False
    return True


@pytest.mark.parametrize("budget_used", JUDGES)
@pytest.mark.parametrize(
    "kernel, dtype",
    [
        (streaming_attention, FP32),
        (streaming_attention, FP16),
        pytest.param(flash_attention, FP32, marks=pytest.mark.gpu),  # the interpreter takes minutes
        (flash_attention, FP16),
    ],
)
def test_a_right_kernel_is_accepted(kernel, dtype, budget_used, device):
    assert budget_is_kept(budget_used, kernel, dtype, device)


@DTYPES
@pytest.mark.parametrize("mistake", WRONG)
def test_a_wrong_output_is_rejected(mistake, dtype, device):
    assert not budget_is_kept(attention_budget_used, WRONG[mistake], dtype, device)


@DTYPES
@pytest.mark.parametrize("mistake", WRONG_GRADIENT)
def test_wrong_gradients_are_rejected(mistake, dtype, device):
    assert not budget_is_kept(gradient_budget_used, WRONG_GRADIENT[mistake], dtype, device)


@DTYPES
@pytest.mark.parametrize("mistake", WRONG_LSE)
def test_a_wrong_lse_is_rejected(mistake, dtype, device):
    assert not budget_is_kept(lse_budget_used, WRONG_LSE[mistake], dtype, device)


@pytest.mark.parametrize("units, accepted", [(1.5, True), (8, False)])
def test_weights_made_again_from_lse_may_miss_what_its_rounding_costs(units, accepted, device):
    """Of a thousand keys with scores near 0, lse is log(1000), and so many units of 2⁻²³ of it are in every weight."""
    q, k, v = inputs(device, FP32, Case(1, 1000), heads=2)
    relative_error = units * torch.finfo(FP32).eps * math.log(1000)
    kernel = with_changed_gradients(lambda *gradients: [x * (1 - relative_error) for x in gradients])
    fractions_used = gradient_budget_used(kernel, 0.01 * q, k, v)
    assert (max(fractions_used.values()) <= 1) == accepted, fractions_used
