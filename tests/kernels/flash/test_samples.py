"""On inputs as PyTorch tests its own attention with: numbers from -9 to 9, so that scores are large.

In 16 bits the gradients lose most by ``delta = rowsum(dout ∘ out)``, because ``out`` is rounded.  So they do in every
FlashAttention, PyTorch's own included; its math has FP32 inside, and loses less.
"""

import pytest
import torch
from torch.testing import make_tensor

from kernels.first.three_kernels import three_kernel_attention
from kernels.flash.attention import flash_attention
from tests.kernels.error_budget import attention_budget_used, gradient_budget_used
from tests.kernels.flash.harness import CAUSAL

DTYPES = pytest.mark.parametrize("dtype", [torch.float16, pytest.param(torch.bfloat16, marks=pytest.mark.gpu)])
SEEDS = pytest.mark.parametrize("seed", range(7))


def sample(dtype, device, seed):
    torch.manual_seed(seed)
    return [make_tensor(4, 1, length, 8, dtype=dtype, device=device) for length in (3, 6, 6)]


@SEEDS
@DTYPES
@CAUSAL
def test_flash_attention_and_its_gradients(dtype, is_causal, seed, device, tiles):
    fractions_used = gradient_budget_used(flash_attention, *sample(dtype, device, seed), is_causal=is_causal)
    assert max(fractions_used.values()) <= 1, fractions_used


@SEEDS
@DTYPES
@CAUSAL
def test_three_kernels(dtype, is_causal, seed, device):
    assert attention_budget_used(three_kernel_attention, *sample(dtype, device, seed), is_causal=is_causal) <= 1
