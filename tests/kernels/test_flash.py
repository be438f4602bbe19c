"""FlashAttention is attention: within the error budget on ugly shapes, and what is not attention is rejected."""

import os
import subprocess
import sys
from functools import partial

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

from kernels import flash
from kernels.flash import Tiles, flash_attention
from tests.budget import attention_budget_used
from tests.kernels.wrong import WRONG, streamed

UGLY = [(1, 1), (3, 3), (113, 203), (203, 113), (1, 239), (239, 1), (64, 64), (33, 128)]
DTYPES = [torch.float32, torch.float16, pytest.param(torch.bfloat16, marks=pytest.mark.gpu)]
CAUSAL = pytest.mark.parametrize("is_causal", [False, True], ids=["full", "causal"])


@pytest.fixture(params=["own tiles", "small tiles"])
def tiles(request, monkeypatch):
    """Small tiles make many blocks of small inputs: whole ones, the diagonal, the tail."""
    if request.param == "small tiles":
        monkeypatch.setattr(flash, "tiles", lambda head_dim, dtype: Tiles(32, 16, 4, 1))


def inputs(device, dtype, seq_q, seq_k, head_dim, *, batch=2, heads=2, key_heads=None):
    """Queries that make sharp and flat rows; heads of very different size."""
    q = (
        torch.randn(batch, heads, seq_q, head_dim, device=device)
        * torch.linspace(0.1, 3, seq_q, device=device)[:, None]
    )
    k, v = torch.randn(2, batch, key_heads or heads, seq_k, head_dim, device=device)
    v = v * torch.logspace(-2, 2, v.shape[1], device=device)[:, None, None]
    return [x.to(dtype) for x in (q, k, v)]


@CAUSAL
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("seq_q, seq_k", UGLY)
def test_any_lengths(seq_q, seq_k, dtype, is_causal, device, tiles):
    q, k, v = inputs(device, dtype, seq_q, seq_k, 40)
    assert attention_budget_used(flash_attention, q, k, v, is_causal=is_causal) <= 1


@CAUSAL
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("head_dim", [1, 3, 16, 40, 64, 96, 128, 256])
def test_any_head_dim(head_dim, dtype, is_causal, device, tiles):
    q, k, v = inputs(device, dtype, 37, 70, head_dim)
    assert attention_budget_used(flash_attention, q, k, v, is_causal=is_causal) <= 1


@CAUSAL
@pytest.mark.parametrize("key_heads", [1, 2, 3, 6])
def test_grouped_queries(key_heads, is_causal, device, tiles):
    q, k, v = inputs(device, torch.float32, 37, 41, 16, heads=6, key_heads=key_heads)
    assert attention_budget_used(flash_attention, q, k, v, is_causal=is_causal, enable_gqa=True) <= 1


@CAUSAL
@pytest.mark.parametrize("scale", [0.01, 0.3, 2])
def test_any_scale(scale, is_causal, device, tiles):
    q, k, v = inputs(device, torch.float32, 37, 41, 16)
    assert attention_budget_used(flash_attention, q, k, v, is_causal=is_causal, scale=scale) <= 1


@CAUSAL
def test_a_scale_of_0_or_below(is_causal, device, tiles):
    """torch's own CPU kernel gives NaN for a scale of 0, so it is no baseline here."""
    q, k, v = inputs(device, torch.float32, 37, 41, 16)
    below = flash_attention(q, k, v, is_causal=is_causal, scale=-1.5)
    assert below.equal(flash_attention(-q, k, v, is_causal=is_causal, scale=1.5))
    for scale in (0, 1e-46):  # which FP32 cannot tell apart
        flat = flash_attention(q, k, v, is_causal=is_causal, scale=scale)
        assert flat.equal(flash_attention(0 * q, k, v, is_causal=is_causal))
        torch.testing.assert_close(flat[..., -1, :], (v[..., :37, :] if is_causal else v).mean(-2))


@CAUSAL
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", [1e-6, 1, 30])
def test_flat_and_one_hot_rows(size, dtype, is_causal, device, tiles):
    q, k, v = inputs(device, dtype, 50, 70, 16)
    assert attention_budget_used(flash_attention, (size * q.float()).to(dtype), k, v, is_causal=is_causal) <= 1


@settings(deadline=None, derandomize=True, max_examples=25)
@given(st.data())
def test_any_shape_whatever(data):
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    size = partial(st.integers, 1)
    key_heads, group = data.draw(size(3)), data.draw(size(3))
    q, k, v = inputs(
        device, torch.float32, data.draw(size(150)), data.draw(size(150)), data.draw(size(70)),
        batch=data.draw(size(2)), heads=key_heads * group, key_heads=key_heads,
    )  # fmt: skip
    assert attention_budget_used(flash_attention, q, k, v, is_causal=data.draw(st.booleans()), enable_gqa=True) <= 1


# What is not attention is rejected by the same budget.

CASES = [(seq_q, seq_k, dtype) for seq_q, seq_k in ((113, 203), (203, 113)) for dtype in (torch.float32, torch.float16)]


def worst_budget_used(kernel, device):
    return max(
        attention_budget_used(
            kernel,
            *inputs(device, dtype, seq_q, seq_k, 40, heads=6, key_heads=3),
            enable_gqa=True,
            is_causal=is_causal,
        )
        for seq_q, seq_k, dtype in CASES
        for is_causal in (False, True)
    )


@pytest.mark.parametrize("right", [flash_attention, streamed], ids=["flash_attention", "streamed"])
def test_a_right_kernel_is_accepted(right, device):
    assert worst_budget_used(right, device) <= 1


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_kernel_is_rejected(name, device):
    assert worst_budget_used(WRONG[name], device) > 2, name


# Layouts: the same numbers, however they lie in memory.


def every_other(x):
    return x.repeat_interleave(2, -2)[..., ::2, :]


def columns_first(x):
    return x.transpose(-2, -1).contiguous().transpose(-2, -1)


def sequence_first(x):
    return x.permute(2, 0, 1, 3).contiguous().permute(1, 2, 0, 3)


@CAUSAL
@pytest.mark.parametrize("layout", [every_other, columns_first, sequence_first])
def test_strides_change_nothing(layout, is_causal, device, tiles):
    q, k, v = inputs(device, torch.float16, 37, 50, 24)
    expected = flash_attention(q, k, v, is_causal=is_causal)
    for number in range(3):
        laid_out = [layout(x) if i == number else x for i, x in enumerate((q, k, v))]
        assert not laid_out[number].is_contiguous()
        assert flash_attention(*laid_out, is_causal=is_causal).equal(expected)


@pytest.mark.parametrize("axis", range(4), ids=["batch", "heads", "sequence", "head_dim"])
def test_stride_0_is_read_in_place(axis, device, tiles):
    q, k, v = inputs(device, torch.float16, 37, 37, 24)
    expanded = [x.narrow(axis, 0, 1).expand_as(x) for x in (q, k, v)]
    assert all(x.stride(axis) == 0 for x in expanded)
    copied = [x.clone(memory_format=torch.contiguous_format) for x in expanded]
    assert flash_attention(*expanded, is_causal=True).equal(flash_attention(*copied, is_causal=True))


# The edges: nothing to read, nothing to see, and what is no number.


@CAUSAL
@pytest.mark.parametrize("shape", [(0, 2, 5, 5), (2, 0, 5, 5), (2, 2, 0, 5), (2, 2, 5, 0)])
def test_empty_gives_zeros(shape, is_causal, device):
    batch, heads, seq_q, seq_k = shape
    q = torch.randn(batch, heads, seq_q, 16, device=device)
    k, v = torch.randn(2, batch, heads, seq_k, 16, device=device)
    out = flash_attention(q, k, v, is_causal=is_causal)
    assert out.shape == q.shape and out.eq(0).all()


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_row_of_nothing_but_minus_infinity_gives_0(device, tiles):
    q, k, v = inputs(device, torch.float32, 40, 70, 16)
    q[:, :, 7] = -torch.inf
    out = flash_attention(q, k.abs(), v)
    assert out[:, :, 7].eq(0).all() and out.isfinite().all()


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("value", [torch.inf, -torch.inf, torch.nan])
@pytest.mark.parametrize("where", range(3), ids=["query", "key", "value"])
def test_inf_and_nan_spread_as_in_torch(where, value, device, tiles):
    tensors = inputs(device, torch.float32, 40, 70, 16)
    tensors[where][0, 0, 35, 3] = value
    with sdpa_kernel(SDPBackend.MATH):
        expected = scaled_dot_product_attention(*tensors)
    torch.testing.assert_close(flash_attention(*tensors), expected, equal_nan=True, rtol=1e-4, atol=1e-4)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
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
        ({"v": torch.zeros(2, 4, 8, 16, requires_grad=True)}, ValueError, "value requires a gradient"),
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
    script = "import torch; from kernels.flash import flash_attention as f; x = torch.zeros(1, 1, 8, 16); f(x, x, x)"
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
    q, k, v = torch.randn(3, 1, 2, 16384, head_dim, device=device, dtype=dtype)
    assert attention_budget_used(flash_attention, q, k, v, is_causal=is_causal) <= 1


@pytest.mark.gpu
@CAUSAL
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_two_runs_are_bitwise_equal(dtype, is_causal, device):
    q, k, v = torch.randn(3, 2, 8, 2000, 128, device=device).to(dtype)
    once, again = (flash_attention(q, k, v, is_causal=is_causal) for _ in range(2))
    assert once.equal(again)


@pytest.mark.gpu
@pytest.mark.parametrize("shape", [(1, 520, 32768, 128), (520, 1, 32768, 128)])  # 2.18e9 elements, 4.4 GB each
def test_offsets_beyond_2_to_the_31_elements(shape, device):
    q, k, v = (torch.empty(shape, device=device, dtype=torch.bfloat16).normal_() for _ in range(3))
    assert q.numel() > 2**31
    out = flash_attention(q, k, v, is_causal=True)[-2:, -2:].clone()
    assert out.equal(flash_attention(*(x[-2:, -2:].clone() for x in (q, k, v)), is_causal=True))


@pytest.mark.gpu
def test_rows_further_apart_than_2_to_the_31_elements(device, monkeypatch):
    rows = 20
    storage = torch.empty((rows - 1) * 2**27 + 64, device=device, dtype=torch.float16)
    k = storage.as_strided((1, 1, rows, 64), (0, 0, 2**27, 1))
    k.copy_(torch.randn(1, 1, rows, 64))
    assert (rows - 1) * k.stride(-2) > 2**31
    # A second block of keys, which begins at 16 · 2**27 = 2**31.
    monkeypatch.setattr(flash, "tiles", lambda head_dim, dtype: flash.Tiles(32, 16, 4, 1))
    assert flash_attention(k, k, k).equal(flash_attention(*[k.contiguous()] * 3))


@pytest.mark.gpu
def test_more_programs_than_a_grid_axis_of_65535(device):
    q, k, v = torch.randn(3, 35000, 2, 4, 16, device=device, dtype=torch.float16)
    assert attention_budget_used(flash_attention, q, k, v) <= 1


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
    q, k, v = torch.randn(3, 1, 2, 300, 64, device=device, dtype=torch.bfloat16)
    flash_attention(q, k, v)
    with torch.profiler.profile() as profile:
        flash_attention(q, k, v)
        torch.cuda.synchronize()
    kernels = [e.name for e in profile.events() if e.device_type == torch.autograd.DeviceType.CUDA]
    assert kernels == ["flash_kernel"]
