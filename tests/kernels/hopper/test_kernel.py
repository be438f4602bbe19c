"""FlashAttention for Hopper is attention: within the error budget on ugly shapes and values."""

from functools import partial

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

from kernels.bench.profiling.launches import launches
from kernels.flash.attention import flash_attention
from kernels.hopper.attention import hopper_attention
from kernels.hopper.plan import plan_for
from tests.kernels.error_budget import attention_budget_used, lse_budget_used
from tests.kernels.flash.harness import CAUSAL, UGLY, VALUES, inputs
from tests.kernels.hopper.harness import (
    BF16,
    DTYPES,
    FP16,
    HEAD_DIMS,
    equal_bits,
    largest_budget_used,
    on_hopper,
    sms,
    with_lse,
)
from tests.kernels.prefilled import prefilled_with_nan

LAZY_OR_NOT = pytest.mark.parametrize("head_dim", [64, 256])  # maxima that are exceeded by little are kept at 256

# One short of, and one past, a tile of 64 rows, of 128, and the queries of two and of three warpgroups.
NEAR_A_TILE = [(63, 65), (65, 63), (127, 129), (129, 127), (191, 193), (193, 191), (192, 192), (256, 384), (1023, 1024)]


# Shapes.


@on_hopper
@CAUSAL
@HEAD_DIMS
@pytest.mark.parametrize("seq_q, seq_k", UGLY + NEAR_A_TILE)
def test_any_lengths(seq_q, seq_k, head_dim, is_causal, device):
    q, k, v = inputs(device, BF16, seq_q, seq_k, head_dim)
    assert largest_budget_used(hopper_attention, q, k, v, is_causal=is_causal) <= 1


@on_hopper
@CAUSAL
@HEAD_DIMS
@pytest.mark.parametrize("seq_q, seq_k", [(113, 203), (193, 191), (1023, 1024)])
def test_any_lengths_in_fp16(seq_q, seq_k, head_dim, is_causal, device):
    q, k, v = inputs(device, FP16, seq_q, seq_k, head_dim)
    assert largest_budget_used(hopper_attention, q, k, v, is_causal=is_causal) <= 1


@on_hopper
@CAUSAL
@DTYPES
@pytest.mark.parametrize("head_dim", [8, 24, 72, 96, 136, 248])
def test_any_head_dim(head_dim, dtype, is_causal, device):
    q, k, v = inputs(device, dtype, 113, 203, head_dim)
    assert largest_budget_used(hopper_attention, q, k, v, is_causal=is_causal) <= 1


@on_hopper
@CAUSAL
@pytest.mark.parametrize("key_heads", [1, 2, 3, 6])
def test_grouped_queries(key_heads, is_causal, device):
    """In a batch of 3, whose heads of keys are not one sequence's alone."""
    q, k, v = inputs(device, BF16, 150, 200, 64, batch=3, heads=6, key_heads=key_heads)
    assert largest_budget_used(hopper_attention, q, k, v, is_causal=is_causal, enable_gqa=True) <= 1


@on_hopper
@CAUSAL
@HEAD_DIMS
@pytest.mark.parametrize("seq_q, seq_k", [(100, 120), (250, 130), (300, 400), (500, 300)])
def test_more_work_than_sms(seq_q, seq_k, head_dim, is_causal, device):
    """Every program goes on to other units; causal, 1, 2, 3 or 4 blocks of queries of a head go in pairs or singly."""
    heads = 4 * (sms(device) // 12 + 1)
    q, k, v = inputs(device, BF16, seq_q, seq_k, head_dim, batch=3, heads=heads, key_heads=heads // 4)
    assert 3 * heads > sms(device)
    assert largest_budget_used(hopper_attention, q, k, v, is_causal=is_causal, enable_gqa=True) <= 1


@on_hopper
@CAUSAL
@pytest.mark.parametrize("heads", [4, 24])
def test_few_heads_and_more_blocks_than_sms(heads, is_causal, device):
    """An odd number of blocks each, all of which go singly, or those of some heads in pairs."""
    blocks = sms(device) // heads // 2 * 2 + 7
    assert heads * blocks > sms(device) and blocks % 2
    assert (heads * blocks < 7 / 4 * sms(device)) == (heads == 4)
    q, k, v = inputs(device, BF16, 128 * blocks - 1, 128 * blocks + 1, 128, batch=1, heads=heads, key_heads=2)
    assert largest_budget_used(hopper_attention, q, k, v, is_causal=is_causal, enable_gqa=True) <= 1


@on_hopper
@settings(deadline=None, derandomize=True, max_examples=15)
@given(st.data())
def test_any_shape_whatever(data):
    torch.manual_seed(data.draw(st.integers(0, 2**32 - 1)))
    size = partial(st.integers, 1)
    key_heads, group = data.draw(size(2)), data.draw(size(3))
    tensors = inputs(
        torch.device("cuda"), data.draw(st.sampled_from([FP16, BF16])),
        data.draw(size(700)), data.draw(size(700)), 8 * data.draw(size(32)),
        batch=data.draw(size(3)), heads=key_heads * group, key_heads=key_heads,
    )  # fmt: skip
    assert largest_budget_used(hopper_attention, *tensors, is_causal=data.draw(st.booleans()), enable_gqa=True) <= 1


@on_hopper
@CAUSAL
@HEAD_DIMS
def test_long_sequences(head_dim, is_causal, device):
    """16384 queries and keys; some rows, each as a sequence of its own that has as many keys as the row sees."""
    length = 16384
    q, k, v = torch.randn(3, 1, 1, length, head_dim, device=device, dtype=BF16)
    rows = torch.tensor([0, 1, 127, 128, 5000, 8191, 8192, 12345, length - 64, length - 1], device=device)
    out, lse = with_lse(q, k, v, is_causal=is_causal)

    def of_rows(*_, return_lse=False, **__):
        picked = out[0, 0, rows, None, None], lse[0, 0, rows, None, None]
        return picked if return_lse else picked[0]

    tensors = q[0, 0, rows, None, None], *(x.expand(len(rows), -1, -1, -1) for x in (k, v))
    options = {"key_lengths": rows + 1 if is_causal else torch.full_like(rows, length)}
    assert attention_budget_used(of_rows, *tensors, **options) <= 1
    assert lse_budget_used(of_rows, *tensors, **options) <= 1


# Numbers.


@on_hopper
@CAUSAL
@DTYPES
@LAZY_OR_NOT
@pytest.mark.parametrize("scale", [-1.5, -1e-3, 1e-20, 0.3, 2, 30])
def test_any_scale(scale, head_dim, dtype, is_causal, device):
    q, k, v = inputs(device, dtype, 150, 300, head_dim)
    assert largest_budget_used(hopper_attention, q, k, v, is_causal=is_causal, scale=scale) <= 1


@on_hopper
@CAUSAL
def test_a_scale_of_0_or_below(is_causal, device):
    q, k, v = inputs(device, FP16, 150, 300, 64)
    below = with_lse(q, k, v, is_causal=is_causal, scale=-1.5)
    assert equal_bits(below, with_lse(-q, k, v, is_causal=is_causal, scale=1.5))
    for scale in (0, 1e-46, -1e-46):  # which FP32 cannot tell apart
        flat = with_lse(q, k, v, is_causal=is_causal, scale=scale)
        assert equal_bits(flat, with_lse(0 * q, k, v, is_causal=is_causal))
        mean = (v[..., :150, :] if is_causal else v).float().mean(-2)
        torch.testing.assert_close(flat[0][..., -1, :].float(), mean, rtol=2e-3, atol=2e-3)


@on_hopper
@DTYPES
@LAZY_OR_NOT
def test_a_huge_scale_leaves_one_key(head_dim, dtype, device):
    q, k, v = (x.to(dtype) for x in torch.randn(3, 1, 2, 150, head_dim, device=device))
    best = (q.double() @ k.double().mT).argmax(-1)
    expected = v.gather(-2, best[..., None].expand_as(v))
    out = with_lse(q, k, v, scale=1e5)[0]
    torch.testing.assert_close(out, expected, rtol=2 * torch.finfo(dtype).eps, atol=0)


@on_hopper
@CAUSAL
@DTYPES
@LAZY_OR_NOT
@pytest.mark.parametrize("values", VALUES)
def test_adversarial_values(values, head_dim, dtype, is_causal, device):
    q, k, v = (x.float() for x in inputs(device, dtype, 150, 300, head_dim))
    assert largest_budget_used(hopper_attention, *(x.to(dtype) for x in values(q, k, v)), is_causal=is_causal) <= 1


@on_hopper
@CAUSAL
@HEAD_DIMS
def test_a_row_of_nothing_but_minus_infinity_gives_0(head_dim, is_causal, device):
    """The last block of keys is not full: zeros there make NaN of -inf, which the mask must hide."""
    q, k, v = inputs(device, BF16, 150, 300, head_dim)
    q[:, :, [7, 140]] = -torch.inf
    out, lse = with_lse(q, k.abs() + 0.1, v, is_causal=is_causal)
    nothing = torch.zeros(150, dtype=torch.bool, device=device)
    nothing[[7, 140]] = True
    assert out[:, :, nothing].eq(0).all() and lse[:, :, nothing].eq(-torch.inf).all()
    assert out.isfinite().all() and lse[:, :, ~nothing].isfinite().all()


@on_hopper
@LAZY_OR_NOT
@pytest.mark.parametrize("value", [torch.inf, -torch.inf, torch.nan])
@pytest.mark.parametrize("where", range(3), ids=["query", "key", "value"])
def test_inf_and_nan_spread_as_in_torch(where, value, head_dim, device):
    tensors = list(torch.randn(3, 2, 2, 150, head_dim, device=device).half())
    tensors[where][0, 0, 100, 3] = value
    with sdpa_kernel(SDPBackend.MATH):
        expected = scaled_dot_product_attention(*(x.float() for x in tensors))
    out = with_lse(*tensors)[0].float()
    torch.testing.assert_close(out, expected, equal_nan=True, rtol=1e-2, atol=1e-2)


@on_hopper
@HEAD_DIMS
def test_a_key_that_a_query_may_not_see_cannot_reach_it(head_dim, device):
    q, k, v = inputs(device, BF16, 400, 400, head_dim)
    expected = with_lse(q, k, v, is_causal=True)
    k[:, :, 150:] = torch.nan  # 150 is inside a block: the mask must hide it, and not the loop
    results = with_lse(q, k, v, is_causal=True)
    assert equal_bits((x[:, :, :150] for x in results), (x[:, :, :150] for x in expected))
    assert all(x[:, :, 150:].isnan().all() for x in results)


@on_hopper
@HEAD_DIMS
@pytest.mark.parametrize("value", [torch.inf, torch.nan])
def test_a_value_reaches_only_blocks_that_read_it(value, head_dim, device):
    """In one column of one head, every query that sees it, and none of an earlier block."""
    plan = plan_for(head_dim, True, 600)
    q, k, v = inputs(device, BF16, 600, 600, head_dim)
    expected = hopper_attention(q, k, v, is_causal=True)
    v[0, 1, 350, 3] = value
    out = hopper_attention(q, k, v, is_causal=True)
    not_read = 350 // plan.block_k * plan.block_k // plan.block_q * plan.block_q
    assert 0 < not_read < 350
    may_differ = torch.zeros_like(out, dtype=torch.bool)
    may_differ[0, 1, not_read:, 3] = True
    assert out[~may_differ].equal(expected[~may_differ])
    assert not out[0, 1, 350:, 3].isfinite().any()


@on_hopper
@CAUSAL
@pytest.mark.parametrize("shape", [(0, 2, 5, 5), (2, 0, 5, 5), (2, 2, 0, 5), (2, 2, 5, 0)])
def test_empty_gives_zeros(shape, is_causal, device):
    batch, heads, seq_q, seq_k = shape
    q = torch.randn(batch, heads, seq_q, 64, device=device, dtype=BF16)
    k, v = torch.randn(2, batch, heads, seq_k, 64, device=device, dtype=BF16)
    with prefilled_with_nan():
        out, lse = with_lse(q, k, v, is_causal=is_causal)
        alone = hopper_attention(q, k, v, is_causal=is_causal)
    assert out.shape == q.shape and out.eq(0).all() and out.equal(alone)
    assert lse.shape == out.shape[:-1] and lse.eq(-torch.inf).all()


# The same again.


@on_hopper
@CAUSAL
@HEAD_DIMS
@pytest.mark.parametrize("pairs", ["few", "many"])
def test_without_lse_the_same_bits(pairs, head_dim, is_causal, device):
    heads = 2 if pairs == "few" else sms(device) // 2 + 1
    q, k, v = inputs(device, BF16, 300, 400, head_dim, heads=heads)
    with prefilled_with_nan():
        out = hopper_attention(q, k, v, is_causal=is_causal)
    assert out.equal(with_lse(q, k, v, is_causal=is_causal)[0])


@on_hopper
@CAUSAL
@HEAD_DIMS
def test_the_same_again_bit_for_bit(head_dim, is_causal, device):
    """Twenty times: what is read before it has come, or overwritten before it was read, differs now and then."""
    q, k, v = torch.randn(3, 2, 40, 2000, head_dim, device=device, dtype=BF16)
    first = with_lse(q, k, v, is_causal=is_causal)
    for _ in range(20):
        with prefilled_with_nan():
            again = with_lse(q, k, v, is_causal=is_causal)
        assert equal_bits(again, first)


@on_hopper
@CAUSAL
@pytest.mark.parametrize("seq_q, seq_k", [(113, 203), (600, 500)])
def test_the_log_sum_exp_of_flash_attention(seq_q, seq_k, is_causal, device):
    """Of scores that are the same, summed in another order."""
    q, k, v = inputs(device, BF16, seq_q, seq_k, 64, heads=4, key_heads=2)
    options = {"is_causal": is_causal, "enable_gqa": True, "return_lse": True}
    lse, expected = (attention(q, k, v, **options)[1] for attention in (hopper_attention, flash_attention))
    torch.testing.assert_close(lse, expected, rtol=1e-5, atol=1e-5)


@on_hopper
def test_nothing_else_runs(device):
    """Neither torch's attention nor a copy."""
    q, k, v = inputs(device, BF16, 300, 400, 64, heads=4, key_heads=2)
    assert launches(partial(hopper_attention, q, k, v, is_causal=True, enable_gqa=True)) == ["hopper_kernel"]
