"""What is attention is accepted, and what is not is rejected: by its output, its gradients, its log-sum-exp."""

import pytest
import torch

from kernels.flash.call import flash_attention
from tests.budget import attention_budget_used, gradient_budget_used, lse_budget_used
from tests.kernels.flash.wrong import WRONG, WRONG_GRADIENT, WRONG_LSE, streamed

RIGHT = {"flash_attention": flash_attention, "streamed": streamed}
DTYPES = pytest.mark.parametrize("dtype", [torch.float32, torch.float16], ids=["fp32", "fp16"])
CASES = [
    (seq_q, seq_k, options)
    for seq_q, seq_k in ((70, 130), (130, 70), (16, 1000))
    for options in ({}, {"is_causal": True}, {"key_lengths": [0, 70]})
]


def inputs(device, dtype, seq_q, seq_k, head_dim=40, *, batch=2, heads=4, key_heads=2):
    """Queries that make sharp and flat rows; values with a mean, heads of very different size."""
    size = torch.linspace(0.1, 3, seq_q, device=device)[:, None]
    q = size * torch.randn(batch, heads, seq_q, head_dim, device=device)
    k, v = torch.randn(2, batch, key_heads, seq_k, head_dim, device=device)
    v = (v + 1) * torch.logspace(-2, 2, key_heads, device=device)[:, None, None]
    return [x.to(dtype) for x in (q, k, v)]


def worst(budget_used, kernel, dtype, device):
    """Over every case: how much of its budget a kernel uses."""
    used = []
    for seq_q, seq_k, options in CASES:
        options = {name: torch.tensor(x, device=device) if name == "key_lengths" else x for name, x in options.items()}
        result = budget_used(kernel, *inputs(device, dtype, seq_q, seq_k), enable_gqa=True, **options)
        used.append(result if isinstance(result, float) else max(result.values()))
    return max(used)


@DTYPES
@pytest.mark.parametrize("kernel", RIGHT)
def test_a_right_kernel_is_accepted(kernel, dtype, device):
    assert worst(attention_budget_used, RIGHT[kernel], dtype, device) <= 1
    assert worst(gradient_budget_used, RIGHT[kernel], dtype, device) <= 1
    assert worst(lse_budget_used, RIGHT[kernel], dtype, device) <= 1


@DTYPES
@pytest.mark.parametrize("mistake", WRONG)
def test_a_wrong_output_is_rejected(mistake, dtype, device):
    assert worst(attention_budget_used, WRONG[mistake], dtype, device) > 1


@DTYPES
@pytest.mark.parametrize("mistake", WRONG_GRADIENT)
def test_wrong_gradients_are_rejected(mistake, dtype, device):
    assert worst(gradient_budget_used, WRONG_GRADIENT[mistake], dtype, device) > 1


@DTYPES
@pytest.mark.parametrize("mistake", WRONG_LSE)
def test_a_wrong_lse_is_rejected(mistake, dtype, device):
    assert worst(lse_budget_used, WRONG_LSE[mistake], dtype, device) > 1
