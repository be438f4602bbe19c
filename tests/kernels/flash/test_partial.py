"""Attention over some of the keys and over the others, merged, is attention over all of them."""

from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels.flash.attention import flash_attention
from kernels.flash.partial import merge
from kernels.reference import oracle

DTYPES = [torch.float32, torch.float16, torch.bfloat16]


def partial_attention(q, k, v):
    """Output and log-sum-exp over these keys, in FP64."""
    return oracle(q, k, v), (q @ k.mT * q.shape[-1] ** -0.5).logsumexp(-1)


def inputs(*cuts, size=3.0):
    """Rows from flat to sharp, values with a mean: the result over all keys, and over each part of them."""
    q, k, v = torch.randn(3, 2, 3, 50, 16, dtype=torch.float64)
    q = size * q * torch.linspace(0.1, 2, 50)[:, None]
    v = v + 1
    parts = [
        partial_attention(q, k[..., begin:end, :], v[..., begin:end, :]) for begin, end in pairwise([0, *cuts, 50])
    ]
    return partial_attention(q, k, v), parts


def round_parts(parts, dtype):
    return [x for out, lse in parts for x in (out.to(dtype), lse.float())]


def exact_merge(out_a, lse_a, out_b, lse_b):
    """What merging these numbers gives, in FP64."""
    outs, lses = torch.stack([out_a, out_b]).double(), torch.stack([lse_a, lse_b]).double()
    return (lses.softmax(0)[..., None] * outs).sum(0), lses.logsumexp(0)


def largest_error(merge, dtype, cut, size):
    """The largest error, as a share of what FP32 arithmetic and one rounding of the result may do to a row."""
    tensors = round_parts(inputs(cut, size=size)[1], dtype)
    (out, lse), (exact_out, exact_lse) = merge(*tensors), exact_merge(*tensors)
    assert (out.dtype, lse.dtype) == (dtype, torch.float32)
    fp32, one_rounding = torch.finfo(torch.float32).eps, torch.finfo(dtype).eps / 2
    of_out = (out.double() - exact_out).abs() / torch.stack(tensors[::2]).double().abs().amax((0, -1))[..., None]
    of_lse = (lse.double() - exact_lse).abs() / (1 + exact_lse.abs())
    fractions_used = torch.cat([(of_out / (4 * fp32 + one_rounding)).flatten(), (of_lse / fp32).flatten()])
    return fractions_used.nan_to_num(nan=torch.inf).max().item()


CASES = [(cut, size) for cut in (0, 1, 17, 50) for size in (0.0, 3.0, 100.0)]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("cut, size", CASES)
def test_it_is_exact_up_to_rounding(cut, size, dtype):
    assert largest_error(merge, dtype, cut, size) <= 1


@pytest.mark.parametrize("cut", [0, 1, 17, 50])
def test_two_parts_are_the_whole(cut):
    (out, lse), parts = inputs(cut)
    for result, wanted in zip(merge(*parts[0], *parts[1]), (out, lse), strict=True):
        torch.testing.assert_close(result, wanted, rtol=1e-12, atol=1e-12)


def test_what_kernels_return_can_be_merged(device):
    q, k, v = torch.randn(3, 2, 2, 40, 16, device=device)
    parts = [flash_attention(q, k[:, :, i], v[:, :, i], return_lse=True) for i in (slice(0, 13), slice(13, 40))]
    expected = flash_attention(q, k, v, return_lse=True)
    for result, wanted in zip(merge(*parts[0], *parts[1]), expected, strict=True):
        torch.testing.assert_close(result, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", DTYPES)
def test_it_commutes_bit_for_bit(dtype):
    _, parts = inputs(17)
    out_a, lse_a, out_b, lse_b = round_parts(parts, dtype)
    merged, swapped = merge(out_a, lse_a, out_b, lse_b), merge(out_b, lse_b, out_a, lse_a)
    assert merged[0].equal(swapped[0]) and merged[1].equal(swapped[1])


@settings(deadline=None, derandomize=True, max_examples=20)
@given(st.integers(0, 50), st.integers(0, 50), st.integers(0, 2**31))
def test_it_associates_up_to_rounding(first, second, seed):
    torch.manual_seed(seed)
    _, parts = inputs(*sorted((first, second)))
    a, b, c = ((out.float(), lse.float()) for out, lse in parts)
    left, right = merge(*merge(*a, *b), *c), merge(*a, *merge(*b, *c))
    torch.testing.assert_close(left, right, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("empty_value", [0.0, torch.nan, torch.inf])
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_part_without_keys_is_the_identity_bit_for_bit(dtype, empty_value):
    """Whatever it holds."""
    _, parts = inputs(17)
    out, lse = round_parts(parts, dtype)[:2]
    nothing = torch.full_like(out, empty_value), torch.full_like(lse, -torch.inf)
    for result in (merge(out, lse, *nothing), merge(*nothing, out, lse)):
        assert result[0].equal(out) and result[1].equal(lse)


@pytest.mark.parametrize("empty_value", [0.0, torch.nan])
def test_no_keys_on_either_side_give_0_and_minus_infinity(empty_value):
    nothing = torch.full((2, 3, 5, 16), empty_value), torch.full((2, 3, 5), -torch.inf)
    out, lse = merge(*nothing, *nothing)
    assert out.eq(0).all() and lse.eq(-torch.inf).all()


def test_rows_without_keys_stand_beside_others():
    _, parts = inputs(17)
    tensors = round_parts(parts, torch.float32)
    expected = merge(*tensors)
    for lse in tensors[1::2]:
        lse[..., 7] = -torch.inf
    out, lse = merge(*tensors)
    assert out[..., 7, :].eq(0).all() and lse[..., 7].eq(-torch.inf).all()
    others = torch.arange(50) != 7
    assert out[..., others, :].equal(expected[0][..., others, :]) and lse[..., others].equal(expected[1][..., others])


def test_gradients_are_those_of_finite_differences():
    out_a, out_b = torch.randn(2, 1, 2, 3, 4, dtype=torch.float64, requires_grad=True)
    lse_a, lse_b = torch.randn(2, 1, 2, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(merge, (out_a, lse_a, out_b, lse_b))


def test_where_a_part_is_empty_its_gradient_is_0_and_the_others_is_whole():
    out_a, out_b = torch.randn(2, 1, 1, 3, 4)
    lse_a, lse_b = torch.tensor([[[0.5, -torch.inf, -torch.inf]]]), torch.tensor([[[-torch.inf, 0.5, -torch.inf]]])
    leaves = [x.detach().requires_grad_() for x in (out_a, lse_a, out_b, lse_b)]
    out, lse = merge(*leaves)
    weight = torch.randn_like(out)
    (out * weight).sum().backward(retain_graph=True)
    lse.masked_fill(lse == -torch.inf, 0).sum().backward()
    d_out_a, d_lse_a, d_out_b, d_lse_b = (x.grad[0, 0] for x in leaves)
    only = torch.eye(3)[:, :, None] * weight[0, 0]
    assert d_out_a.equal(only[0]) and d_out_b.equal(only[1])
    assert d_lse_a.equal(torch.eye(3)[0]) and d_lse_b.equal(torch.eye(3)[1])


# Wrong versions, each by one mistake that has been made.


def without_a_guard(out_a, lse_a, out_b, lse_b):
    lse = torch.logaddexp(lse_a, lse_b)
    part_weights = [(x - torch.maximum(lse_a, lse_b)).exp() for x in (lse_a, lse_b)]
    out = sum(part_weight[..., None] * out for part_weight, out in zip(part_weights, (out_a, out_b), strict=True))
    return (out / sum(part_weights)[..., None]).to(out_a.dtype), lse


def in_16_bits(out_a, lse_a, out_b, lse_b):
    out, lse = merge(out_a.bfloat16(), lse_a.bfloat16().float(), out_b.bfloat16(), lse_b.bfloat16().float())
    return out.to(out_a.dtype), lse


def lse_in_fp16(out_a, lse_a, out_b, lse_b):
    return merge(out_a, lse_a.half().float(), out_b, lse_b.half().float())


def averaged(out_a, lse_a, out_b, lse_b):
    return (out_a + out_b) / 2, torch.logaddexp(lse_a, lse_b)


def the_larger_alone(out_a, lse_a, out_b, lse_b):
    larger = lse_a > lse_b
    return torch.where(larger[..., None], out_a, out_b), torch.maximum(lse_a, lse_b)


def not_normalised(out_a, lse_a, out_b, lse_b):
    lse = torch.maximum(lse_a, lse_b)
    return (lse_a - lse).exp()[..., None] * out_a + (lse_b - lse).exp()[..., None] * out_b, torch.logaddexp(
        lse_a, lse_b
    )


def shares_swapped(out_a, lse_a, out_b, lse_b):
    return merge(out_a, lse_b, out_b, lse_a)


@pytest.mark.parametrize("wrong", [in_16_bits, lse_in_fp16, averaged, the_larger_alone, not_normalised, shares_swapped])
def test_a_wrong_merge_is_rejected(wrong):
    assert any(largest_error(wrong, torch.float32, *case) > 1 for case in CASES)


def test_without_a_guard_nothing_becomes_nan():
    """Right everywhere but where neither part has a key."""
    assert largest_error(without_a_guard, torch.float32, 17, 3.0) <= 1
    nothing = torch.zeros(1, 1, 1, 4), torch.full((1, 1, 1), -torch.inf)
    assert without_a_guard(*nothing, *nothing)[0].isnan().all()


# Bad input is named.

OUT, LSE = torch.zeros(2, 3, 5, 16), torch.zeros(2, 3, 5)
GOOD = {"out_a": OUT, "lse_a": LSE, "out_b": OUT, "lse_b": LSE}


@pytest.mark.parametrize(
    "change, error, words",
    [
        ({"out_b": [1.0]}, TypeError, "out_b is list, a tensor is wanted"),
        ({"out_a": OUT.int(), "out_b": OUT.int()}, TypeError, r"out_a is torch\.int32, a floating-point tensor"),
        ({"out_b": OUT.half()}, TypeError, r"out_b is torch\.float16, out_a is torch\.float32: they must match"),
        ({"lse_a": LSE.half(), "lse_b": LSE.half()}, TypeError, r"lse_a is torch\.float16, float32 is wanted"),
        ({"lse_b": LSE.double()}, TypeError, r"lse_b is torch\.float64, lse_a is torch\.float32: they must match"),
        ({"lse_a": LSE[..., None]}, ValueError, r"lse_a has shape \[2, 3, 5, 1\], .*: \[2, 3, 5\] is wanted"),
        ({"out_b": OUT[:, :1]}, ValueError, r"out_b has shape \[2, 1, 5, 16\], .*: \[2, 3, 5, 16\] is wanted"),
        ({"lse_b": LSE[:1]}, ValueError, r"lse_b has shape \[1, 3, 5\], .*: \[2, 3, 5\] is wanted"),
        ({"lse_b": LSE.to("meta")}, ValueError, "lse_b is on meta, out_a is on cpu: they must match"),
        ({"out_a": OUT.sum(), "lse_a": LSE.sum()}, ValueError, "out_a has 0 dimensions"),
    ],
)
def test_bad_input_is_named(change, error, words):
    with pytest.raises(error, match=words):
        merge(**GOOD | change)
