"""Padding reaches nothing, and the log-sum-exp is right and has a gradient."""

from functools import partial

import pytest
import torch

from kernels.flash.attention import flash_attention
from kernels.reference import attention, oracle
from tests.kernels.error_budget import attention_budget_used, budget_used, lse_budget_used
from tests.kernels.flash.harness import (
    CAUSAL,
    DTYPE_AND_MASK,
    UGLY,
    flash_budget_used,
    inputs,
    with_gradients,
    with_masks,
)

# A last block of keys that is not full has rows of zeros; what becomes of them may overflow, and is stored nowhere.
pytestmark = pytest.mark.filterwarnings("ignore:(overflow|invalid value) encountered:RuntimeWarning")


# Padding, and the log-sum-exp.


@DTYPE_AND_MASK
@pytest.mark.parametrize("lengths", [(70, 70), (1, 33), (0, 69), (-3, 1000)])
def test_key_lengths(lengths, dtype, is_causal, device, tiles):
    q, k, v = inputs(device, dtype, 37, 70, 24, heads=4, key_heads=2)
    options = {"is_causal": is_causal, "enable_gqa": True, "key_lengths": torch.tensor(lengths, device=device)}
    assert flash_budget_used(q, k, v, **options) <= 1
    assert lse_budget_used(flash_attention, q, k, v, **options) <= 1


@CAUSAL
@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
def test_lengths_of_any_type_and_stride(dtype, is_causal, device):
    tensors = inputs(device, torch.float32, 37, 70, 24)
    tensors.append(torch.randn_like(tensors[0]))
    lengths = torch.tensor([20, 70, 65, 3], device=device, dtype=dtype)
    for laid_out in (lengths[::2], lengths[:1].expand(2), lengths[2:]):
        results = with_gradients(*tensors, is_causal=is_causal, key_lengths=laid_out)
        expected = with_gradients(*tensors, is_causal=is_causal, key_lengths=laid_out.clone().long())
        assert all(x.equal(y) for x, y in zip(results, expected, strict=True))
        assert attention_budget_used(flash_attention, *tensors[:3], is_causal=is_causal, key_lengths=laid_out) <= 1


def test_a_length_beyond_2_to_the_31_is_every_key(device):
    """Which in 32 bits would be a length of 5, and one below 0."""
    q, k, v = inputs(device, torch.float32, 3, 20, 16)
    lengths = torch.tensor([2**32 + 5, 2**31], device=device)
    assert flash_attention(q, k, v, key_lengths=lengths).equal(flash_attention(q, k, v))


def test_a_length_below_0_is_no_key(device):
    """Also one that would be a length of 5 in 32 bits."""
    q, k, v = inputs(device, torch.float32, 3, 20, 16)
    lengths = torch.tensor([-(2**32) + 5, -1], device=device)
    out, lse = flash_attention(q, k, v, key_lengths=lengths, return_lse=True)
    assert not out.any() and lse.eq(-torch.inf).all()


def test_no_keys_have_no_sum(device):
    q, k, v = inputs(device, torch.float32, 3, 0, 16)
    out, lse = flash_attention(q, k, v, return_lse=True)
    assert not out.any() and lse.eq(-torch.inf).all() and lse.shape == q.shape[:-1]


@CAUSAL
def test_lengths_may_cover_everything(is_causal, device):
    q, k, v = inputs(device, torch.float32, 37, 70, 24)
    expected = flash_attention(q, k, v, is_causal=is_causal)
    lengths = torch.full((2,), 70, device=device)
    assert flash_attention(q, k, v, is_causal=is_causal, key_lengths=lengths).equal(expected)


@CAUSAL
def test_what_padding_holds_reaches_nothing(is_causal, device, tiles):
    q, k, v = inputs(device, torch.float32, 60, 70, 24)
    lengths = torch.tensor([40, 0], device=device)
    padding = torch.arange(70, device=device) >= lengths[:, None]
    dout = torch.randn_like(q)
    results = []
    for fill in (0, torch.nan, torch.inf):
        x = [q, *(x.masked_fill(padding[:, None, :, None], fill) for x in (k, v))]
        x = [each.detach().requires_grad_() for each in x]
        out, lse = flash_attention(*x, is_causal=is_causal, key_lengths=lengths, return_lse=True)
        results.append((out, lse, *torch.autograd.grad(out, x, dout)))
    for result in results[1:]:
        assert all(x.equal(y) for x, y in zip(result, results[0], strict=True))
    out, lse, *gradients = results[0]
    assert out[1].eq(0).all() and lse[1].eq(-torch.inf).all() and all(x[1].eq(0).all() for x in gradients)
    assert all(x.isfinite().all() for x in (out, *gradients))


@with_masks("seq_q, seq_k", UGLY)
def test_the_log_sum_exp(seq_q, seq_k, is_causal, device, tiles):
    tensors = inputs(device, torch.float32, seq_q, seq_k, 40)
    assert lse_budget_used(flash_attention, *tensors, is_causal=is_causal) <= 1
    out, lse = flash_attention(*tensors, is_causal=is_causal, return_lse=True)
    assert out.equal(flash_attention(*tensors, is_causal=is_causal)) and lse.shape == out.shape[:-1]


def attention_and_lse(q, k, v, *, is_causal):
    """Both results of flash_attention, as torch computes them in the dtype that comes in."""
    scores = q @ k.mT * q.shape[-1] ** -0.5
    if is_causal:
        scores = scores.masked_fill(~torch.ones_like(scores, dtype=torch.bool).tril(), -torch.inf)
    return attention(q, k, v, is_causal=is_causal), scores.logsumexp(-1)


@CAUSAL
@pytest.mark.parametrize("outputs", ["out", "lse", "both"])
def test_the_log_sum_exp_has_a_gradient(outputs, is_causal, device, tiles):
    """Its own may be the same number for every query, expanded."""
    tensors = inputs(device, torch.float32, 33, 70, 24)
    douts = torch.randn_like(tensors[0]), torch.randn(2, 2, 1, device=device).expand(-1, -1, 33)
    chosen = {"out": [0], "lse": [1], "both": [0, 1]}[outputs]
    gradients = []
    for function, dtype in (
        (partial(flash_attention, return_lse=True), torch.float32),
        (attention_and_lse, torch.float32),
        (attention_and_lse, torch.float64),
    ):
        leaves = [x.to(dtype).requires_grad_() for x in tensors]
        results = function(*leaves, is_causal=is_causal)
        wanted, of_them = zip(*((results[i], douts[i].to(dtype)) for i in chosen), strict=True)
        gradients.append(torch.autograd.grad(wanted, leaves, of_them, allow_unused=True))
    for actual, baseline, truth in zip(*gradients, strict=True):
        if truth is None:  # the log-sum-exp does not know the values
            assert actual.eq(0).all()
            continue
        # A row is measured by what a row of its head has on average: here no row is of another size.
        size = truth.square().mean((-2, -1), keepdim=True).sqrt().expand(*truth.shape[:-1], 1)
        rounding = 64 * torch.finfo(torch.float32).eps * size  # of scores up to 20, sums of 24 terms
        assert budget_used(actual, baseline, truth, size, rounding) <= 1


def test_a_head_whose_scores_are_far_below_0_does_not_reach_the_one_before(device, tiles):
    """Of 33 queries the last block is not full: what it would read next, the log-sum-exp of that head, makes inf."""
    q, k, v, dout = torch.ones(4, 1, 2, 33, 16, device=device)
    results_of_first_head = with_gradients(*(x[:, :1] for x in (q, k, v, dout)))
    q = torch.stack([q[:, 0], -1000 * q[:, 1]], 1)
    for result, expected in zip(with_gradients(q, k, v, dout), results_of_first_head, strict=True):
        assert result[:, :1].equal(expected)


# Large scores.


@pytest.mark.parametrize(
    "least, most, off", [(0.5, 1, (0, 5e-7)), (512, 1024, (1e-5, 1e-4)), (5120, 10240, (1e-4, 1.1e-3))]
)
def test_large_scores_cost_the_gradients_digits_and_the_output_none(least, most, off, device, tiles):
    """Two keys that are alike share a half each.  One-hot gradients of the output read the shares off that of v."""
    q, k = torch.zeros(1, 1, 64, 64, device=device), torch.zeros(1, 1, 2, 64, device=device)
    q[..., 0], k[..., 0] = torch.linspace(least, most, 64, device=device), 1
    v = torch.randn(1, 1, 2, 64, device=device)
    for attend, bounds in ((flash_attention, off), (attention, (0, 5e-7))):
        leaf = v.clone().requires_grad_()
        out = attend(q, k, leaf, scale=1.0)
        torch.testing.assert_close(out, oracle(q, k, v, scale=1.0).float(), rtol=2e-7, atol=1e-7)
        (shares,) = torch.autograd.grad(out, leaf, torch.eye(64, device=device)[None, None])
        assert bounds[0] <= (2 * shares - 1).abs().max() <= bounds[1]
