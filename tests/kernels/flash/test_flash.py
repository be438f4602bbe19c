"""FlashAttention is attention, forward and backward: within the error budget on ugly shapes and values."""

import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

from kernels.flash.attention import flash_attention
from kernels.reference import attention
from tests.kernels.flash.harness import CAUSAL, DTYPE_AND_MASK, UGLY, VALUES, flash_budget_used, inputs, with_masks

# A last block of keys that is not full has rows of zeros; what becomes of them may overflow, and is stored nowhere.
pytestmark = pytest.mark.filterwarnings("ignore:(overflow|invalid value) encountered:RuntimeWarning")


@DTYPE_AND_MASK
@pytest.mark.parametrize("seq_q, seq_k", UGLY)
def test_any_lengths(seq_q, seq_k, dtype, is_causal, device, tiles):
    q, k, v = inputs(device, dtype, seq_q, seq_k, 40)
    assert flash_budget_used(q, k, v, is_causal=is_causal) <= 1


@DTYPE_AND_MASK
@pytest.mark.parametrize("head_dim", [1, 3, 16, 40, 64, 96, 128, 256])
def test_any_head_dim(head_dim, dtype, is_causal, device, tiles):
    q, k, v = inputs(device, dtype, 37, 70, head_dim)
    assert flash_budget_used(q, k, v, is_causal=is_causal) <= 1


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
@pytest.mark.parametrize("head_dim", [64, 128, 256])
def test_the_kernels_own_tiles(head_dim, dtype, device):
    q, k, v = inputs(device, dtype, 70, 150, head_dim, batch=1, heads=1)
    assert flash_budget_used(q, k, v, is_causal=True) <= 1


@with_masks("key_heads", [1, 2, 3, 6])
def test_grouped_queries(key_heads, is_causal, device, tiles):
    q, k, v = inputs(device, torch.float32, 37, 41, 16, heads=6, key_heads=key_heads)
    assert flash_budget_used(q, k, v, is_causal=is_causal, enable_gqa=True) <= 1


@with_masks("scale", [-1.5, 0.01, 0.3, 2])
def test_any_scale(scale, is_causal, device, tiles):
    q, k, v = inputs(device, torch.float32, 37, 41, 16)
    assert flash_budget_used(q, k, v, is_causal=is_causal, scale=scale) <= 1


@CAUSAL
def test_a_scale_of_0_or_below(is_causal, device, tiles):
    """torch's own CPU kernel gives NaN for a scale of 0, so it is no baseline here."""
    q, k, v = inputs(device, torch.float32, 37, 41, 16)
    below = flash_attention(q, k, v, is_causal=is_causal, scale=-1.5)
    assert below.equal(flash_attention(-q, k, v, is_causal=is_causal, scale=1.5))
    for scale in (0, 1e-46):  # which FP32 cannot tell apart
        flat = flash_attention(q, k, v, is_causal=is_causal, scale=scale)
        assert flat.equal(flash_attention(0 * q, k, v, is_causal=is_causal))
        leaves = [x.detach().requires_grad_() for x in (q, k, v)]
        results, expected = (
            torch.autograd.grad(function(*leaves, is_causal=is_causal, scale=scale), leaves, torch.ones_like(q))
            for function in (flash_attention, attention)
        )
        for result, wanted in zip(results, expected, strict=True):
            torch.testing.assert_close(result, wanted, rtol=1e-4, atol=1e-4)
        torch.testing.assert_close(flat[..., -1, :], (v[..., :37, :] if is_causal else v).mean(-2))


@DTYPE_AND_MASK
@pytest.mark.parametrize("size", [1e-6, 1, 30])
def test_flat_and_one_hot_rows(size, dtype, is_causal, device, tiles):
    q, k, v = inputs(device, dtype, 50, 70, 16)
    assert flash_budget_used((size * q.float()).to(dtype), k, v, is_causal=is_causal) <= 1


@DTYPE_AND_MASK
@pytest.mark.parametrize("values", VALUES)
def test_adversarial_values(values, dtype, is_causal, device, tiles):
    q, k, v = (x.float() for x in inputs(device, dtype, 50, 70, 16))
    assert flash_budget_used(*(x.to(dtype) for x in values(q, k, v)), is_causal=is_causal) <= 1


# As an operator of torch.


@CAUSAL
def test_finite_differences_agree_with_the_gradient(is_causal, device, tiles):
    """In FP32, along random directions: (f(x + h·d) - f(x - h·d)) / 2h against the gradient · d."""
    tensors = [x.requires_grad_() for x in inputs(device, torch.float32, 37, 50, 24, heads=1)]
    weight = torch.randn_like(tensors[0])

    def f(*x):
        return (flash_attention(*x, is_causal=is_causal).double() * weight).sum()

    gradients = torch.autograd.grad(f(*tensors), tensors)
    for number, gradient in enumerate(gradients):
        direction = torch.randn_like(gradient) * tensors[number].detach().abs().mean()
        h = 1e-2
        with torch.no_grad():
            above, below = (
                f(*(x + sign * h * direction if i == number else x for i, x in enumerate(tensors))) for sign in (1, -1)
            )
        slope = ((above - below) / (2 * h)).item()
        expected = (gradient.double() * direction).sum().item()
        size = (gradient.double().norm() * direction.norm()).item()
        assert abs(slope - expected) < 2e-3 * size


# The edges: nothing to read, nothing to see, and what is no number.


@CAUSAL
@pytest.mark.parametrize("shape", [(0, 2, 5, 5), (2, 0, 5, 5), (2, 2, 0, 5), (2, 2, 5, 0)])
def test_empty_gives_zeros(shape, is_causal, device):
    batch, heads, seq_q, seq_k = shape
    q = torch.randn(batch, heads, seq_q, 16, device=device)
    k, v = torch.randn(2, batch, heads, seq_k, 16, device=device)
    leaves = [x.requires_grad_() for x in (q, k, v)]
    out, lse = flash_attention(*leaves, is_causal=is_causal, return_lse=True)
    assert out.shape == q.shape and out.eq(0).all() and lse.shape == out.shape[:-1] and lse.eq(-torch.inf).all()
    gradients = torch.autograd.grad(out, leaves, torch.ones_like(out))
    assert all(x.shape == leaf.shape and x.eq(0).all() for x, leaf in zip(gradients, leaves, strict=True))


def test_a_row_of_nothing_but_minus_infinity_gives_0(device, tiles):
    q, k, v = inputs(device, torch.float32, 40, 70, 16)
    q[:, :, 7] = -torch.inf
    q.requires_grad_()
    out, lse = flash_attention(q, k.abs(), v, return_lse=True)
    assert out[:, :, 7].eq(0).all() and out.isfinite().all() and lse[:, :, 7].eq(-torch.inf).all()
    assert torch.autograd.grad(out.sum(), q)[0][:, :, 7].eq(0).all()


@pytest.mark.parametrize("value", [torch.inf, -torch.inf, torch.nan])
@pytest.mark.parametrize("where", range(3), ids=["query", "key", "value"])
def test_inf_and_nan_spread_as_in_torch(where, value, device, tiles):
    tensors = inputs(device, torch.float32, 40, 70, 16)
    tensors[where][0, 0, 35, 3] = value
    with sdpa_kernel(SDPBackend.MATH):
        expected = scaled_dot_product_attention(*tensors)
    torch.testing.assert_close(flash_attention(*tensors), expected, equal_nan=True, rtol=1e-4, atol=1e-4)


def test_a_key_that_a_query_may_not_see_cannot_reach_it(device, tiles):
    q, k, v = inputs(device, torch.float32, 70, 70, 16)
    expected = flash_attention(q, k, v, is_causal=True)
    k[:, :, 50:] = torch.nan  # 50 is inside a block: the mask must hide it, and not the loop
    out = flash_attention(q, k, v, is_causal=True)
    assert out[:, :, :50].equal(expected[:, :, :50]) and out[:, :, 50:].isnan().all()
