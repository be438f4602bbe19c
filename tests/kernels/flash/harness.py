"""Inputs that make attention hard, the layouts in which they may lie, and tiles that make many blocks of small ones."""

import pytest
import torch

from kernels.flash.attention import flash_attention
from kernels.flash.tiles import Tiles
from tests.kernels.error_budget import gradient_budget_used

UGLY = [(1, 1), (3, 3), (113, 203), (203, 113), (1, 239), (239, 1), (64, 64), (33, 128)]
CAUSAL = pytest.mark.parametrize("is_causal", [False, True], ids=["full", "causal"])


def on_a_gpu(*values):
    return pytest.param(*values, marks=pytest.mark.gpu)


# All of them on a GPU; in the interpreter, which takes long, each dtype once and each mask once.
DTYPE_AND_MASK = pytest.mark.parametrize(
    "dtype, is_causal",
    [
        (torch.float32, True),
        (torch.float16, False),
        on_a_gpu(torch.float32, False),
        on_a_gpu(torch.float16, True),
        on_a_gpu(torch.bfloat16, False),
        on_a_gpu(torch.bfloat16, True),
    ],
    ids=["fp32, causal", "fp16, full", "fp32, full", "fp16, causal", "bf16, full", "bf16, causal"],
)


def with_masks(names, values):
    """Each value with both masks on a GPU; in the interpreter, which takes long, with one of them, in turn."""
    pairs = [
        pytest.param(*value, is_causal, marks=() if in_interpreter else pytest.mark.gpu)
        for index, value in enumerate(v if isinstance(v, tuple) else (v,) for v in values)
        for is_causal, in_interpreter in ((False, index % 2 == 0), (True, index % 2 == 1))
    ]
    return pytest.mark.parametrize(f"{names}, is_causal", pairs)


def small_tiles(monkeypatch):
    """Has the kernels of FlashAttention cut their work into small tiles."""
    for module in ("forward", "backward"):
        monkeypatch.setattr(f"kernels.flash.{module}.tiles", lambda kernel, head_dim, dtype: SMALL_TILES[kernel])


SMALL_TILES = {"forward": Tiles(32, 16, 4, 1), "dq": Tiles(16, 32, 4, 1), "dkdv": Tiles(32, 16, 4, 1)}


def inputs(device, dtype, seq_q, seq_k, head_dim, *, batch=2, heads=2, key_heads=None):
    """Queries that make sharp and flat rows; heads of very different size."""
    q = (
        torch.randn(batch, heads, seq_q, head_dim, device=device)
        * torch.linspace(0.1, 3, seq_q, device=device)[:, None]
    )
    k, v = torch.randn(2, batch, key_heads or heads, seq_k, head_dim, device=device)
    v = v * torch.logspace(-2, 2, v.shape[1], device=device)[:, None, None]
    return [x.to(dtype) for x in (q, k, v)]


def flash_budget_used(*tensors, **options):
    """How much of the budget is used, by the output or by the gradients: at most 1 passes."""
    return max(gradient_budget_used(flash_attention, *tensors, **options).values())


# Values that have gone wrong elsewhere.


def large_scores(q, k, v):
    return 100 * q, k, v


def one_hot_rows(q, k, v):
    k = k.clone()
    k[..., ::7, :] *= 30
    return q, k, v


def constant_rows(q, k, v):
    """All scores are alike, though the keys are not."""
    return torch.ones_like(q), k - k.mean(-1, keepdim=True) + 1, v


def mixed_magnitudes(q, k, v):
    size = torch.logspace(-2, 2, q.shape[-1], device=q.device)
    return q * size, k * size.flip(-1), v * size / 100


def subnormals(q, k, v):
    return q, k, 1e-7 * v


def growing_keys(q, k, v):
    """Every block moves the maximum."""
    return q.abs(), k.abs() * torch.linspace(0, 3, k.shape[-2], device=k.device)[:, None], v


VALUES = [large_scores, one_hot_rows, constant_rows, mixed_magnitudes, subnormals, growing_keys]


# Layouts: the same numbers, however they lie in memory.


def with_gradients(q, k, v, dout, **options):
    leaves = [x.detach().requires_grad_() for x in (q, k, v)]
    out = flash_attention(*leaves, **options)
    return out.detach(), *torch.autograd.grad(out, leaves, dout)


def every_other(x):
    return x.repeat_interleave(2, -2)[..., ::2, :]


def columns_first(x):
    return x.transpose(-2, -1).contiguous().transpose(-2, -1)


def sequence_first(x):
    return x.permute(2, 0, 1, 3).contiguous().permute(1, 2, 0, 3)
