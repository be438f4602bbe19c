"""FlashAttention is attention, forward and backward: within the error budget on ugly shapes and values."""

import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy
import pytest
import torch
import triton
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

from kernels.flash import call
from kernels.flash.call import flash_attention
from kernels.flash.tiles import Tiles
from kernels.reference import attention
from tests.budget import attention_budget_used, budget_used, gradient_budget_used, lse_budget_used

# A last block of keys that is not full has rows of zeros; what becomes of them may overflow, and is stored nowhere.
pytestmark = pytest.mark.filterwarnings("ignore:(overflow|invalid value) encountered:RuntimeWarning")

ROOT = Path(__file__).resolve().parents[3]

UGLY = [(1, 1), (3, 3), (113, 203), (203, 113), (1, 239), (239, 1), (64, 64), (33, 128)]
DTYPES = [torch.float32, torch.float16, pytest.param(torch.bfloat16, marks=pytest.mark.gpu)]
CAUSAL = pytest.mark.parametrize("is_causal", [False, True], ids=["full", "causal"])
SMALL = {"forward": Tiles(32, 16, 4, 1), "dq": Tiles(16, 32, 4, 1), "dkdv": Tiles(32, 16, 4, 1)}


@pytest.fixture(params=[pytest.param("own tiles", marks=pytest.mark.gpu), "small tiles"])
def tiles(request, monkeypatch):
    """Small tiles make many blocks of small inputs: whole ones, the diagonal, the tail.  They differ, as others may.

    The interpreter takes long over the kernel's own tiles, most of which small inputs leave empty: one test does.
    """
    if request.param == "small tiles":
        monkeypatch.setattr(call, "tiles", lambda kernel, head_dim, dtype: SMALL[kernel])


def inputs(device, dtype, seq_q, seq_k, head_dim, *, batch=2, heads=2, key_heads=None):
    """Queries that make sharp and flat rows; heads of very different size."""
    q = (
        torch.randn(batch, heads, seq_q, head_dim, device=device)
        * torch.linspace(0.1, 3, seq_q, device=device)[:, None]
    )
    k, v = torch.randn(2, batch, key_heads or heads, seq_k, head_dim, device=device)
    v = v * torch.logspace(-2, 2, v.shape[1], device=device)[:, None, None]
    return [x.to(dtype) for x in (q, k, v)]


def used(*tensors, **options):
    """The larger share of the budget: of the output's or of the gradients'."""
    output = attention_budget_used(flash_attention, *tensors, **options)
    return max(output, *gradient_budget_used(flash_attention, *tensors, **options).values())


@CAUSAL
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("seq_q, seq_k", UGLY)
def test_any_lengths(seq_q, seq_k, dtype, is_causal, device, tiles):
    q, k, v = inputs(device, dtype, seq_q, seq_k, 40)
    assert used(q, k, v, is_causal=is_causal) <= 1


@CAUSAL
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("head_dim", [1, 3, 16, 40, 64, 96, 128, 256])
def test_any_head_dim(head_dim, dtype, is_causal, device, tiles):
    q, k, v = inputs(device, dtype, 37, 70, head_dim)
    assert used(q, k, v, is_causal=is_causal) <= 1


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
@pytest.mark.parametrize("head_dim", [64, 128, 256])
def test_the_kernels_own_tiles(head_dim, dtype, device):
    q, k, v = inputs(device, dtype, 70, 150, head_dim, batch=1, heads=1)
    assert used(q, k, v, is_causal=True) <= 1


@CAUSAL
@pytest.mark.parametrize("key_heads", [1, 2, 3, 6])
def test_grouped_queries(key_heads, is_causal, device, tiles):
    q, k, v = inputs(device, torch.float32, 37, 41, 16, heads=6, key_heads=key_heads)
    assert used(q, k, v, is_causal=is_causal, enable_gqa=True) <= 1


@CAUSAL
@pytest.mark.parametrize("scale", [-1.5, 0.01, 0.3, 2])
def test_any_scale(scale, is_causal, device, tiles):
    q, k, v = inputs(device, torch.float32, 37, 41, 16)
    assert used(q, k, v, is_causal=is_causal, scale=scale) <= 1


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


@CAUSAL
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", [1e-6, 1, 30])
def test_flat_and_one_hot_rows(size, dtype, is_causal, device, tiles):
    q, k, v = inputs(device, dtype, 50, 70, 16)
    assert used((size * q.float()).to(dtype), k, v, is_causal=is_causal) <= 1


@settings(deadline=None, derandomize=True, max_examples=15)
@given(st.data())
def test_any_shape_whatever(data):
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    size = partial(st.integers, 1)
    key_heads, group = data.draw(size(2)), data.draw(size(3))
    tensors = inputs(
        device, torch.float32, data.draw(size(100)), data.draw(size(100)), data.draw(size(70)),
        batch=data.draw(size(2)), heads=key_heads * group, key_heads=key_heads,
    )  # fmt: skip
    assert used(*tensors, is_causal=data.draw(st.booleans()), enable_gqa=True) <= 1


# Values that have gone wrong elsewhere.


def large_scores(q, k, v):
    return 100 * q, k, v


def one_hot_rows(q, k, v):
    k = k.clone()
    k[..., ::7, :] *= 30
    return q, k, v


def constant_rows(q, k, v):
    return torch.ones_like(q), torch.ones_like(k), v


def mixed_magnitudes(q, k, v):
    size = torch.logspace(-2, 2, q.shape[-1], device=q.device)
    return q * size, k * size.flip(-1), v * size / 100


def subnormals(q, k, v):
    return q, k, 1e-7 * v


def growing_keys(q, k, v):
    """Every block moves the maximum."""
    return q.abs(), k.abs() * torch.linspace(0, 3, k.shape[-2], device=k.device)[:, None], v


VALUES = [large_scores, one_hot_rows, constant_rows, mixed_magnitudes, subnormals, growing_keys]


@CAUSAL
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("values", VALUES)
def test_adversarial_values(values, dtype, is_causal, device, tiles):
    q, k, v = (x.float() for x in inputs(device, dtype, 50, 70, 16))
    assert used(*(x.to(dtype) for x in values(q, k, v)), is_causal=is_causal) <= 1


@settings(deadline=None, derandomize=True, max_examples=15)
@given(st.data())
def test_adversarial_values_in_any_shape(data):
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    seq_q, seq_k, head_dim = (data.draw(st.integers(1, limit)) for limit in (90, 90, 40))
    tensors = data.draw(st.sampled_from(VALUES))(*inputs(device, torch.float32, seq_q, seq_k, head_dim))
    assert used(*tensors, is_causal=data.draw(st.booleans())) <= 1


# Padding, and the log-sum-exp.


@CAUSAL
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("lengths", [(70, 70), (1, 33), (0, 69), (-3, 1000)])
def test_key_lengths(lengths, dtype, is_causal, device, tiles):
    q, k, v = inputs(device, dtype, 37, 70, 24, heads=4, key_heads=2)
    options = {"is_causal": is_causal, "enable_gqa": True, "key_lengths": torch.tensor(lengths, device=device)}
    assert used(q, k, v, **options) <= 1
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


@CAUSAL
@pytest.mark.parametrize("seq_q, seq_k", UGLY)
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
    """A row is measured by what a row of its head has on average: here no row is of another size."""
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
        value = sum((results[i] * douts[i]).sum() for i in chosen)
        gradients.append(torch.autograd.grad(value, leaves, allow_unused=True))
    for actual, baseline, truth in zip(*gradients, strict=True):
        if truth is None:  # the log-sum-exp does not know the values
            assert actual.eq(0).all()
            continue
        size = truth.square().mean((-2, -1), keepdim=True).sqrt().expand(*truth.shape[:-1], 1)
        rounding = 64 * torch.finfo(torch.float32).eps * size  # of scores up to 20, sums of 24 terms
        assert budget_used(actual, baseline, truth, size, rounding) <= 1


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


@CAUSAL
@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
def test_torch_s_own_checks_of_an_operator(is_causal, device):
    q, k, v = (x.requires_grad_() for x in inputs(device, torch.float32, 20, 24, 16))
    lengths = torch.tensor([24, 5], device=device)
    for key_lengths in (None, lengths):
        torch.library.opcheck(call.flash_forward, (q, k, v, key_lengths, is_causal, 0.3))
    out, lse = call.flash_forward(q, k, v, lengths, is_causal, 0.3)
    tensors = [x.detach() for x in (out, lse, torch.randn_like(out), torch.randn_like(lse))]
    q, k, v = (x.detach() for x in (q, k, v))
    torch.library.opcheck(call.flash_backward, (q, k, v, lengths, is_causal, 0.3, *tensors))


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning", "ignore::FutureWarning")
@pytest.mark.parametrize("scale", [None, -0.3])
def test_torch_compile_traces_it_whole(scale, device):
    backend = "inductor" if torch.cuda.is_available() else "aot_eager"
    tensors = inputs(device, torch.float32, 37, 50, 24)

    def f(q, k, v):
        out, lse = flash_attention(2 * q, k, v, is_causal=True, scale=scale, return_lse=True)
        return out.sin().sum() + lse.sum()

    results = []
    for function in (f, torch.compile(f, fullgraph=True, backend=backend)):
        leaves = [x.detach().requires_grad_() for x in tensors]
        value = function(*leaves)
        results.append((value, *torch.autograd.grad(value, leaves)))
    for eager, compiled in zip(*results, strict=True):
        torch.testing.assert_close(compiled, eager, rtol=1e-5, atol=1e-5)


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


@CAUSAL
@pytest.mark.parametrize("layout", [every_other, columns_first, sequence_first])
def test_strides_change_nothing(layout, is_causal, device, tiles):
    tensors = inputs(device, torch.float16, 37, 50, 24)
    tensors.append(torch.randn_like(tensors[0]))  # the gradient that arrives has strides, too
    expected = with_gradients(*tensors, is_causal=is_causal)
    for number in range(4):
        laid_out = [layout(x) if i == number else x for i, x in enumerate(tensors)]
        assert not laid_out[number].is_contiguous()
        results = with_gradients(*laid_out, is_causal=is_causal)
        assert all(x.equal(y) for x, y in zip(results, expected, strict=True))


@pytest.mark.parametrize("axis", range(4), ids=["batch", "heads", "sequence", "head_dim"])
def test_stride_0_changes_nothing(axis, device, tiles):
    tensors = inputs(device, torch.float16, 37, 37, 24)
    expanded = [x.narrow(axis, 0, 1).expand_as(x) for x in (*tensors, tensors[0])]
    assert all(x.stride(axis) == 0 for x in expanded)
    copied = [x.clone(memory_format=torch.contiguous_format) for x in expanded]
    results, expected = (with_gradients(*x, is_causal=True) for x in (expanded, copied))
    assert all(x.equal(y) for x, y in zip(results, expected, strict=True))


def test_a_start_that_is_not_aligned_changes_nothing(device, tiles):
    """TMA reads from multiples of 16 bytes; a view may start anywhere."""
    tensors = inputs(device, torch.float16, 37, 37, 24)
    shifted = [torch.cat([x.new_zeros(1), x.flatten()])[1:].view_as(x) for x in tensors]
    assert all(x.data_ptr() % 16 for x in shifted)
    assert flash_attention(*shifted).equal(flash_attention(*tensors))


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


# Bad input is named.

GOOD = dict.fromkeys("qkv", torch.zeros(2, 4, 8, 16))


@pytest.mark.parametrize(
    "change, error, words",
    [
        ({"k": torch.zeros(2, 4, 8, 12)}, ValueError, "key has head_dim 12, query has 16: they must match"),
        ({"v": torch.zeros(2, 4, 8, 12)}, ValueError, "value has head_dim 12, query has 16: they must match"),
        ({"v": torch.zeros(2, 4, 9, 16)}, ValueError, "value has sequence length 9, key has 8: they must match"),
        ({"v": torch.zeros(2, 2, 8, 16)}, ValueError, "value has leading dimensions"),
        ({"k": torch.zeros(3, 4, 8, 16)}, ValueError, "(key|value) has leading dimensions"),
        (dict.fromkeys("kv", torch.zeros(2, 2, 8, 16)), ValueError, "key has 2 heads, query has 4: .* enable_gqa"),
        ({**dict.fromkeys("kv", torch.zeros(2, 3, 8, 16)), "enable_gqa": True}, ValueError, "has 3 heads, query has 4"),
        ({**dict.fromkeys("kv", torch.zeros(2, 0, 8, 16)), "enable_gqa": True}, ValueError, "has 0 heads, query has 4"),
        (dict.fromkeys("qkv", torch.zeros(4, 8, 16)), ValueError, "query has 3 dimensions"),
        ({"q": torch.zeros(16)}, ValueError, "query has 1 dimensions"),
        ({"k": torch.zeros(8, 16)}, ValueError, "key has 2 dimensions, query has 4"),
        (dict.fromkeys("qkv", torch.zeros(2, 4, 8, 257)), ValueError, "query has head_dim 257, at most 256"),
        (dict.fromkeys("qkv", torch.zeros(2, 4, 8, 0)), ValueError, "query has head_dim 0"),
        ({"k": torch.zeros(2, 4, 8, 16).half()}, TypeError, "key is torch.float16, query is torch.float32"),
        (dict.fromkeys("qkv", torch.zeros(2, 4, 8, 16).double()), TypeError, "query is torch.float64"),
        ({"q": torch.zeros(2, 4, 8, 16).int()}, TypeError, "query is torch.int32"),
        ({"q": [[1.0]]}, TypeError, "query is list"),
        ({"v": torch.zeros(2, 4, 8, 16, device="meta")}, ValueError, "value is on meta, query is on"),
        ({"scale": torch.tensor(1.0)}, TypeError, "scale is Tensor"),
        ({"is_causal": "no"}, TypeError, "is_causal is str, True or False is wanted"),
        ({"key_lengths": [8, 8]}, TypeError, "key_lengths is list"),
        ({"key_lengths": torch.tensor([8.0, 8.0])}, TypeError, "key_lengths is torch.float32, int32 or int64"),
        ({"key_lengths": torch.tensor([8])}, ValueError, r"key_lengths has shape \[1\], query has 2 sequences: \[2\]"),
        ({"key_lengths": torch.zeros(2, device="meta").long()}, ValueError, "key_lengths is on meta, query is on"),
    ],
)  # fmt: skip
def test_bad_input_is_named(change, error, words, device):
    arguments = {
        name: x.to(device) if isinstance(x, torch.Tensor) and not x.is_meta and x.ndim else x
        for name, x in {**GOOD, **change}.items()
    }
    with pytest.raises(error, match=words):
        flash_attention(**arguments)


@pytest.mark.skipif(torch.cuda.is_available(), reason="the interpreter runs only where there is no GPU")
def test_bf16_is_refused_by_the_interpreter():
    q = torch.zeros(1, 1, 8, 16, dtype=torch.bfloat16)
    with pytest.raises(TypeError, match=r"query is torch\.bfloat16, which"):
        flash_attention(q, q, q)


def test_a_cpu_outside_the_interpreter_is_told_what_to_do():
    script = (
        "import torch; from kernels.flash.call import flash_attention as f; x = torch.zeros(1, 1, 8, 16); f(x, x, x)"
    )
    environment = {**os.environ, "TRITON_INTERPRET": "0"}
    run = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True)
    assert "ValueError: query is on cpu" in run.stderr
    assert "kernels.reference.attention" in run.stderr and "TRITON_INTERPRET=1" in run.stderr


# What only a GPU can run: other matmul hardware, sizes that an interpreter would never finish.


@pytest.mark.gpu
@CAUSAL
@pytest.mark.parametrize("head_dim", [64, 128, 256])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_long_sequences(dtype, head_dim, is_causal, device):
    q, k, v = torch.randn(3, 1, 1, 8192, head_dim, device=device, dtype=dtype)
    assert used(q, k, v, is_causal=is_causal) <= 1


@pytest.mark.gpu
@CAUSAL
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_two_runs_are_bitwise_equal(dtype, is_causal, device):
    tensors = torch.randn(4, 2, 8, 2000, 128, device=device).to(dtype)
    once, again = (with_gradients(*tensors, is_causal=is_causal) for _ in range(2))
    assert all(x.equal(y) for x, y in zip(once, again, strict=True))


@pytest.mark.gpu
@pytest.mark.parametrize("shape", [(1, 520, 32768, 128), (520, 1, 32768, 128)])  # 2.18e9 elements, 4.4 GB each
def test_offsets_beyond_2_to_the_31_elements(shape, device):
    tensors = [torch.empty(shape, device=device, dtype=torch.bfloat16).normal_() for _ in range(4)]
    assert tensors[0].numel() > 2**31
    results = [x[-2:, -2:].clone() for x in with_gradients(*tensors, is_causal=True)]
    expected = with_gradients(*(x[-2:, -2:].clone() for x in tensors), is_causal=True)
    assert all(x.equal(y) for x, y in zip(results, expected, strict=True))


@pytest.mark.gpu
def test_rows_further_apart_than_2_to_the_31_elements(device, monkeypatch):
    rows = 20
    storage = torch.empty((rows - 1) * 2**27 + 64, device=device, dtype=torch.float16)
    k = storage.as_strided((1, 1, rows, 64), (0, 0, 2**27, 1))
    k.copy_(torch.randn(1, 1, rows, 64))
    assert (rows - 1) * k.stride(-2) > 2**31
    # A second block of keys, which begins at 16 · 2**27 = 2**31.
    monkeypatch.setattr(call, "tiles", lambda kernel, head_dim, dtype: Tiles(32, 16, 4, 1))
    results, expected = (with_gradients(x, x, x, x) for x in (k, k.contiguous()))
    assert all(x.equal(y) for x, y in zip(results, expected, strict=True))


@pytest.mark.gpu
def test_more_programs_than_a_grid_axis_of_65535(device):
    q, k, v = torch.randn(3, 35000, 2, 4, 16, device=device, dtype=torch.float16)
    assert used(q, k, v) <= 1


@pytest.mark.gpu
@pytest.mark.parametrize("setting, value", [("allow_tf32", True), ("fp32_precision", "tf32")])
def test_fp32_is_true_fp32_unless_tf32_is_allowed(setting, value, device, monkeypatch):
    q, k, v = inputs(device, torch.float32, 200, 300, 64)
    exact = flash_attention(q, k, v)
    expected = attention_budget_used(flash_attention, q, k, v)
    monkeypatch.setattr(torch.backends.cuda.matmul, setting, value)
    rounded = flash_attention(q, k, v)
    assert expected <= 1 and not rounded.equal(exact)
    assert (rounded - exact).norm() < 0.02 * exact.norm()


@pytest.mark.gpu
def test_nothing_of_torch_s_own_runs(device):
    """One kernel forward, two backward: neither torch's attention nor its matmul, nor a copy."""
    tensors = [x.requires_grad_() for x in torch.randn(3, 1, 2, 300, 64, device=device, dtype=torch.bfloat16)]
    dout = torch.randn_like(tensors[0])
    torch.autograd.grad(flash_attention(*tensors), tensors, dout)
    with torch.profiler.profile() as profile:
        torch.autograd.grad(flash_attention(*tensors), tensors, dout)
        torch.cuda.synchronize()
    kernels = [e.name for e in profile.events() if e.device_type == torch.autograd.DeviceType.CUDA]
    assert kernels == ["flash_forward_kernel", "flash_dq_kernel", "flash_dkdv_kernel"]


BY_THE_INTERPRETER = """
import sys, torch
from tests.kernels.flash.test_flash import with_gradients
tensors, is_causal = torch.load(sys.argv[1])
torch.save(with_gradients(*tensors, is_causal=is_causal), sys.argv[2])
"""


@pytest.mark.gpu
@pytest.mark.skipif(
    triton.__version__ < "3.7" and tuple(map(int, numpy.__version__.split(".")[:2])) >= (2, 4),
    reason="the interpreter of triton 3.6 needs numpy below 2.4",
)
@CAUSAL
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_the_interpreter_and_the_gpu_agree(dtype, is_causal, device, tmp_path):
    """The same numbers through both: apart by no more than the budget allows each."""
    tensors = [*inputs(device, dtype, 113, 150, 40), torch.randn(2, 2, 113, 40, device=device).to(dtype)]
    torch.save(([x.cpu() for x in tensors], is_causal), tmp_path / "inputs")
    environment = os.environ | {"TRITON_INTERPRET": "1", "CUDA_VISIBLE_DEVICES": ""}
    command = [sys.executable, "-c", BY_THE_INTERPRETER, tmp_path / "inputs", tmp_path / "outputs"]
    subprocess.run(command, cwd=ROOT, env=environment, check=True)
    interpreted = [x.to(device) for x in torch.load(tmp_path / "outputs")]
    compiled = with_gradients(*tensors, is_causal=is_causal)
    q, k, v, dout = tensors
    for results in (interpreted, compiled):

        def recorded(*_, results=results, **__):
            return Replay.apply(*results, *_)

        assert attention_budget_used(recorded, q, k, v, is_causal=is_causal) <= 1
        assert max(gradient_budget_used(recorded, q, k, v, dout, is_causal=is_causal).values()) <= 1


class Replay(torch.autograd.Function):
    """An attention function that knows its results."""

    @staticmethod
    def forward(ctx, out, dq, dk, dv, q, k, v):
        ctx.save_for_backward(dq, dk, dv)
        return out.clone()

    @staticmethod
    def backward(ctx, _):
        return None, None, None, None, *ctx.saved_tensors
