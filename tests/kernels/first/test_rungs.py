"""The rungs below FlashAttention, one_key.py, key_blocks.py and three_kernels.py, are attention by one error budget."""

import os
import subprocess
import sys
from functools import partial

import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

from kernels.first import key_blocks, three_kernels
from kernels.first.key_blocks import key_blocks_attention
from kernels.first.one_key import one_key_attention
from kernels.first.three_kernels import three_kernel_attention
from kernels.reference import attention
from tests.kernels.error_budget import attention_budget_used
from tests.kernels.flash.harness import DTYPE_AND_MASK
from tests.kernels.tf32 import tf32_allowed

RUNGS = [one_key_attention, key_blocks_attention, three_kernel_attention]
DTYPES = [torch.float32, torch.float16, pytest.param(torch.bfloat16, marks=pytest.mark.gpu)]
CAUSAL = pytest.mark.parametrize("is_causal", [False, True], ids=["full", "causal"])
EVERY_RUNG = pytest.mark.parametrize("rung", RUNGS)


def small_blocks(monkeypatch):
    """Small blocks make many of small inputs: whole ones, the diagonal, the tail."""
    monkeypatch.setattr(key_blocks, "BLOCK_K", 8)
    for block in ("BLOCK_Q", "BLOCK_K", "BLOCK_D"):
        monkeypatch.setattr(three_kernels, block, 16)


on_a_gpu = partial(pytest.param, marks=pytest.mark.gpu)  # where an interpreter would take minutes


@pytest.fixture(
    params=["one_key", on_a_gpu("key_blocks"), "key_blocks, small", on_a_gpu("three_kernels"), "three_kernels, small"]
)
def rung(request, monkeypatch):
    """A rung's own blocks are larger than most inputs here; in the interpreter, other tests cover them."""
    name, _, small = request.param.partition(", ")
    if small:
        small_blocks(monkeypatch)
    return {"one_key": RUNGS[0], "key_blocks": RUNGS[1], "three_kernels": RUNGS[2]}[name]


def inputs(device, dtype, seq_q, seq_k, head_dim, *, batch=1, heads=2):
    """Queries that make sharp and flat rows; heads of very different size."""
    q = torch.randn(batch, heads, seq_q, head_dim, device=device)
    q = q * torch.linspace(0.1, 3, seq_q, device=device)[:, None]
    k, v = torch.randn(2, batch, heads, seq_k, head_dim, device=device)
    v = v * torch.logspace(-2, 2, v.shape[1], device=device)[:, None, None]
    return [x.to(dtype) for x in (q, k, v)]


@DTYPE_AND_MASK
@pytest.mark.parametrize("seq_q, seq_k", [(1, 1), (3, 3), (1, 40), (20, 1), (3, 33), (18, 3), (2, 32)])
def test_any_lengths(seq_q, seq_k, dtype, is_causal, device, rung):
    q, k, v = inputs(device, dtype, seq_q, seq_k, 24)
    assert attention_budget_used(rung, q, k, v, is_causal=is_causal) <= 1


@DTYPE_AND_MASK
@pytest.mark.parametrize("rung", [on_a_gpu(RUNGS[0]), on_a_gpu(RUNGS[1]), RUNGS[2]])
@pytest.mark.parametrize(
    "seq_q, seq_k",
    [
        on_a_gpu(113, 203),
        on_a_gpu(64, 64),
        (65, 65),
        (239, 1),
        on_a_gpu(203, 113),
        on_a_gpu(1, 239),
        on_a_gpu(1023, 1024),
    ],
)
def test_longer_sequences(seq_q, seq_k, rung, dtype, is_causal, device):
    q, k, v = inputs(device, dtype, seq_q, seq_k, 40)
    assert attention_budget_used(rung, q, k, v, is_causal=is_causal) <= 1


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("head_dim", [1, 3, 16, 40, 64, 96, 128, 256])
def test_any_head_dim(head_dim, dtype, device, rung):
    q, k, v = inputs(device, dtype, 2, 9, head_dim)
    assert attention_budget_used(rung, q, k, v) <= 1


def test_every_head_of_every_sequence_is_its_own(device, rung):
    q, k, v = inputs(device, torch.float32, 2, 7, 8, batch=2, heads=3)
    assert attention_budget_used(rung, q, k, v) <= 1


@pytest.mark.parametrize("scale", [0.01, 2])
def test_any_scale(scale, device, rung):
    q, k, v = inputs(device, torch.float32, 5, 21, 16)
    assert attention_budget_used(rung, q, k, v, scale=scale) <= 1


def test_a_scale_of_0_or_below(device, rung):
    q, k, v = inputs(device, torch.float32, 3, 13, 16)
    below = rung(q, k, v, scale=-1.5)
    assert below.equal(rung(-q, k, v, scale=1.5))
    flat = rung(q, k, v, scale=0)
    torch.testing.assert_close(flat, v.mean(-2, keepdim=True).expand_as(flat))


def one_hot(q, k, v):
    return 300 * q, k, v


def constant(q, k, v):
    return torch.ones_like(q), torch.ones_like(k), v


def mixed_magnitudes(q, k, v):
    k = k * torch.logspace(-3, 1, k.shape[-2], device=k.device)[:, None]
    return q, k, v * torch.logspace(-3, 1, v.shape[-1], device=v.device)


def large_scores(q, k, v):
    """Up to about 1e6, far beyond FP16's 65504, though what is multiplied is not."""
    return 200 * q, 200 * k, v


def tiny(q, k, v):
    return 1e-6 * q, 1e-6 * k, v


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("change", [one_hot, constant, mixed_magnitudes, large_scores, tiny])
def test_values_that_are_hard(change, dtype, device, rung):
    q, k, v = change(*inputs(device, torch.float32, 3, 17, 16))
    q, k, v = (x.to(dtype) for x in (q, k, v))
    assert attention_budget_used(rung, q, k, v) <= 1


@pytest.mark.parametrize("dtype", DTYPES)
def test_subnormal_values_are_kept(dtype, device, rung):
    """One key alone: its value comes out as it went in, or as a zero where FP32 hardware flushes."""
    q, k, v = inputs(device, dtype, 3, 1, 16)
    v = torch.full_like(v, 3 * torch.finfo(dtype).smallest_normal / 8)
    out = rung(q, k, v)
    assert (out == v).all() or (dtype != torch.float16 and torch.cuda.is_available() and out.eq(0).all())


# The edges: nothing to read, nothing to see, and what is no number.


@CAUSAL
@pytest.mark.parametrize("shape", [(0, 2, 5, 5), (2, 0, 5, 5), (2, 2, 0, 5), (2, 2, 5, 0)])
def test_empty_gives_zeros(shape, is_causal, device, rung):
    batch, heads, seq_q, seq_k = shape
    q = torch.randn(batch, heads, seq_q, 16, device=device)
    k, v = torch.randn(2, batch, heads, seq_k, 16, device=device)
    out = rung(q, k, v, is_causal=is_causal)
    assert out.shape == q.shape and out.eq(0).all()


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("value", [torch.inf, -torch.inf, torch.nan])
@pytest.mark.parametrize("where", range(3), ids=["query", "key", "value"])
def test_inf_and_nan_spread_as_in_torch(where, value, device, rung):
    tensors = inputs(device, torch.float32, 3, 21, 8)
    tensors[where][0, 0, 2, 3] = value
    with sdpa_kernel(SDPBackend.MATH):
        expected = scaled_dot_product_attention(*tensors)
    torch.testing.assert_close(rung(*tensors), expected, equal_nan=True, rtol=1e-4, atol=1e-4)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_row_of_nothing_but_minus_infinity(device, rung):
    """NaN as in the reference; 0 where ``softmax_kernel`` makes the shares."""
    q, k, v = inputs(device, torch.float32, 3, 21, 8)
    q[:, :, 1] = -torch.inf
    expected = attention(q, k.abs(), v)
    assert expected[:, :, 1].isnan().all()
    if rung is three_kernel_attention:
        expected[:, :, 1] = 0
    torch.testing.assert_close(rung(q, k.abs(), v), expected, equal_nan=True, rtol=1e-4, atol=1e-4)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("value", [torch.inf, torch.nan])
def test_what_a_query_may_not_see_cannot_reach_it(value, device, rung):
    q, k, v = inputs(device, torch.float32, 21, 21, 8, heads=1)
    expected = rung(q, k, v, is_causal=True)
    k[:, :, 12:] = value  # 12 is inside a block
    if rung is not three_kernel_attention:  # whose blocks read the values of their tile, see below
        v[:, :, 16:] = value
    out = rung(q, k, v, is_causal=True)
    assert out[:, :, :12].equal(expected[:, :, :12]) and not out[:, :, 12:].isfinite().all()


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_value_that_a_query_may_not_see_reaches_its_tile_of_three_kernels_at_most(device, rung):
    q, k, v = inputs(device, torch.float32, 21, 21, 8, heads=1)
    expected = rung(q, k, v, is_causal=True)
    v[:, :, 18:] = torch.nan
    clean = 18
    if rung is three_kernel_attention:
        clean = 18 // three_kernels.BLOCK_Q * three_kernels.BLOCK_Q
    out = rung(q, k, v, is_causal=True)
    assert out[:, :, :clean].equal(expected[:, :, :clean]) and out[:, :, 18:].isnan().all()


# Bad input is named.


@pytest.mark.parametrize("rung", [one_key_attention, key_blocks_attention])
def test_a_row_that_does_not_fit_is_refused(rung, device):
    q = torch.zeros(1, 1, 1, 1, device=device)
    k = torch.zeros(1, 1, 16385, 1, device=device)
    with pytest.raises(ValueError, match=r"key has sequence length 16385, at most 16384 .* kernels\.flash_attention"):
        rung(q, k, k)


@pytest.mark.gpu
@pytest.mark.parametrize("rung", [one_key_attention, key_blocks_attention])
def test_the_longest_row_fits(rung, device):
    q, k, v = inputs(device, torch.float32, 1, 16384, 2, heads=1)
    assert attention_budget_used(rung, q, k, v) <= 1


@EVERY_RUNG
@pytest.mark.parametrize(
    "change, error, words",
    [
        ({"k": torch.zeros(2, 4, 8, 12)}, ValueError, "key has head_dim 12, query has 16"),
        (dict.fromkeys("qkv", torch.zeros(2, 4, 8, 257)), ValueError, "query has head_dim 257, at most 256"),
        (
            dict.fromkeys("kv", torch.zeros(2, 2, 8, 16)),
            ValueError,
            r"key has 2 heads, query has 4: use kernels\.flash_",
        ),
        ({"k": torch.zeros(2, 8, 4, 16).transpose(1, 2)}, ValueError, r"key is not contiguous: .* kernels\.flash_"),
        ({"scale": "1"}, TypeError, "scale is str"),
        ({"v": torch.zeros(2, 4, 8, 16, requires_grad=True)}, ValueError, "value requires a gradient"),
    ],
)
def test_bad_input_is_named(rung, change, error, words, device):
    arguments = {**dict.fromkeys("qkv", torch.zeros(2, 4, 8, 16)), **change}
    arguments = {name: x.to(device) if isinstance(x, torch.Tensor) else x for name, x in arguments.items()}
    with pytest.raises(error, match=words):
        rung(**arguments)


@EVERY_RUNG
@pytest.mark.skipif(torch.cuda.is_available(), reason="the interpreter runs only where there is no GPU")
def test_bf16_is_refused_by_the_interpreter(rung):
    q = torch.zeros(1, 1, 8, 16, dtype=torch.bfloat16)
    with pytest.raises(TypeError, match=r"query is torch\.bfloat16, which"):
        rung(q, q, q)


ON_A_CPU = """
import torch, kernels
x = torch.zeros(1, 1, 8, 16)
for name in ("one_key_attention", "key_blocks_attention", "three_kernel_attention", "flash_attention"):
    try:
        getattr(kernels, name)(x, x, x)
    except ValueError as error:
        print(error)
"""


def test_a_cpu_outside_the_interpreter_is_told_what_to_do():
    """By each rung, FlashAttention included."""
    environment = {**os.environ, "TRITON_INTERPRET": "0"}
    run = subprocess.run([sys.executable, "-c", ON_A_CPU], env=environment, capture_output=True, text=True)
    messages = run.stdout.splitlines()
    assert len(messages) == 4, run.stderr
    for message in messages:
        assert message.startswith("query is on cpu, ")
        assert "kernels.reference.attention" in message and "TRITON_INTERPRET=1" in message


# What only a GPU can run: what is launched, and sizes that an interpreter would never finish.


@pytest.mark.gpu
@EVERY_RUNG
@DTYPE_AND_MASK
@pytest.mark.parametrize("head_dim", [64, 256])
def test_two_runs_are_bitwise_equal(head_dim, dtype, is_causal, rung, device):
    q, k, v = inputs(device, dtype, 1000, 1000, head_dim, batch=2, heads=4)
    once, again = (rung(q, k, v, is_causal=is_causal) for _ in range(2))
    assert once.equal(again)


@pytest.mark.gpu
@pytest.mark.parametrize(
    "rung, expected",
    [
        (one_key_attention, ["one_key_kernel"]),
        (key_blocks_attention, ["key_blocks_kernel"]),
        (three_kernel_attention, ["scores_kernel", "softmax_kernel", "pv_kernel"]),
    ],
)
def test_only_our_own_kernels_run(rung, expected, device):
    q, k, v = inputs(device, torch.bfloat16, 300, 300, 64, batch=2)
    rung(q, k, v)
    with torch.profiler.profile() as profile:
        rung(q, k, v)
        torch.cuda.synchronize()
    launched = [e.name for e in profile.events() if e.device_type == torch.autograd.DeviceType.CUDA]
    assert launched == expected


@pytest.mark.large
@pytest.mark.gpu
@EVERY_RUNG
@pytest.mark.parametrize("shape", [(1, 66000, 256, 128), (66000, 1, 256, 128)])  # 2.16e9 elements, 4.3 GB each
def test_offsets_beyond_2_to_the_31_elements(shape, rung, device):
    """Queries and output; keys and values are few, so that the slow rungs end soon."""
    q = torch.empty(shape, device=device, dtype=torch.float16).normal_()
    k, v = (torch.randn(*shape[:2], 16, 128, device=device, dtype=torch.float16) for _ in range(2))
    assert q.numel() > 2**31
    out = rung(q, k, v)[-2:, -2:].clone()
    assert out.equal(rung(*(x[-2:, -2:].clone() for x in (q, k, v))))


@pytest.mark.large
@pytest.mark.gpu
def test_a_square_beyond_2_to_the_31_scores(device):
    q, k, v = torch.randn(3, 3, 1, 28000, 16, device=device, dtype=torch.float16)  # 2.35e9 scores, 9.4 GB
    out = three_kernel_attention(q, k, v)[-1:].clone()
    assert out.equal(three_kernel_attention(q[-1:], k[-1:], v[-1:]))


@pytest.mark.large
@pytest.mark.gpu
@EVERY_RUNG
def test_more_programs_than_a_grid_axis_of_65535(rung, device):
    q, k, v = torch.randn(3, 35000, 2, 4, 16, device=device, dtype=torch.float16)
    parts = (rung(*part) for part in zip(*(x.split(7000) for x in (q, k, v)), strict=True))
    assert rung(q, k, v).equal(torch.cat([*parts]))


@pytest.mark.gpu
@pytest.mark.parametrize("head_dim", [64, 256])
def test_fp32_is_true_fp32_unless_tf32_is_allowed(head_dim, device):
    q, k, v = inputs(device, torch.float32, 200, 300, head_dim)
    exact = three_kernel_attention(q, k, v)
    fraction_used = attention_budget_used(three_kernel_attention, q, k, v)
    with tf32_allowed():
        rounded = three_kernel_attention(q, k, v)
    assert fraction_used <= 1 and not rounded.equal(exact)
    assert (rounded - exact).norm() < 0.02 * exact.norm()
