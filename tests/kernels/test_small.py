"""Every kernel once on small shapes, with memory prefilled with NaN or as it is; compute-sanitizer watches these tests.

Inputs come from the CPU and results go back there, so that nothing but the kernels under test runs on a GPU.
"""

from contextlib import nullcontext
from functools import partial

import pytest
import torch

from kernels.bench.microbenchmarks.repeated_read import repeated_read
from kernels.bench.microbenchmarks.strided_read import strided_read
from kernels.first.add import add
from kernels.first.key_blocks import key_blocks_attention
from kernels.first.one_head import one_head_attention
from kernels.first.one_key import one_key_attention
from kernels.first.three_kernels import three_kernel_attention
from kernels.flash.attention import flash_attention
from kernels.flash.partial import merge
from kernels.formats.block import FP8, FP8_BLOCKS, MXFP4, MXFP8, NVFP4, dequantize, quantize
from kernels.formats.block_triton import dequantize_blocks, quantize_blocks
from kernels.hopper.attention import hopper_attention
from kernels.hopper.warp_specialized import warp_specialized_attention
from kernels.parallel.merge_rows import launch as merge_in_place
from kernels.reference import oracle
from kernels.serving.cache import KVCache
from kernels.serving.decode import decode_attention
from kernels.softmax import softmax
from tests.kernels.error_budget import gradients, visible
from tests.kernels.prefilled import prefilled_with_nan

# What is right in memory full of NaN is right in any: plain memory is for the sanitizer, which a GPU alone has.
MEMORY = pytest.mark.parametrize(
    "memory", [pytest.param(nullcontext, marks=pytest.mark.gpu), prefilled_with_nan], ids=["plain", "prefilled"]
)
RUNGS = pytest.mark.parametrize(
    "attention, seq_q, seq_k",
    [
        (flash_attention, 70, 130),
        (flash_attention, 200, 140),
    ],
)
HEAD_DIM = pytest.mark.parametrize("head_dim", [40, pytest.param(128, marks=pytest.mark.gpu)])
OPTIONS = pytest.mark.parametrize(
    "options", [{}, {"is_causal": True}, {"key_lengths": [0, 19]}], ids=["full", "causal", "padded"]
)

assert_close = partial(torch.testing.assert_close, rtol=1e-2, atol=1e-2)


def inputs(seq_q, seq_k, head_dim, options, key_heads=1):
    """On the CPU: query, key, value, the output's gradient, and the options with tensors for lists."""
    q, dout = torch.randn(2, 2, 2, seq_q, head_dim, dtype=torch.float16)
    k, v = torch.randn(2, 2, key_heads, seq_k, head_dim, dtype=torch.float16)
    tensors = {name: torch.tensor(x) for name, x in options.items() if isinstance(x, list)}
    return (q, k, v, dout), {"enable_gqa": True, **options, **tensors}


def options_on(device, options):
    return {name: x.to(device) if isinstance(x, torch.Tensor) else x for name, x in options.items()}


def truth(q, k, v, *, enable_gqa, **options):
    return oracle(q, k, v, enable_gqa=enable_gqa, attn_mask=visible(q, k, **options))


@MEMORY
@OPTIONS
@HEAD_DIM
@RUNGS
def test_forward(attention, seq_q, seq_k, head_dim, options, memory, device):
    (q, k, v, _), options = inputs(seq_q, seq_k, head_dim, options)
    with memory():
        out = attention(*(x.to(device) for x in (q, k, v)), **options_on(device, options))
    assert_close(out.cpu().double(), truth(q, k, v, **options))


@MEMORY
@pytest.mark.parametrize("is_causal", [False, True], ids=["full", "causal"])
@HEAD_DIM
@pytest.mark.parametrize(
    "attention, seq_q, seq_k",
    [(one_key_attention, 3, 21), (key_blocks_attention, 3, 70), (three_kernel_attention, 70, 130)],
)
def test_first_kernels(attention, seq_q, seq_k, head_dim, is_causal, memory, device):
    (q, k, v, _), _ = inputs(seq_q, seq_k, head_dim, {}, key_heads=2)
    with memory():
        out = attention(*(x.to(device) for x in (q, k, v)), is_causal=is_causal)
    assert_close(out.cpu().double(), oracle(q, k, v, is_causal=is_causal))


@MEMORY
def test_first_steps(memory, device):
    x, y = torch.randn(2, 1500)
    q, k, v = torch.randn(3, 9, 16)
    with memory():
        total = add(x.to(device), y.to(device))
        out = one_head_attention(*(table.to(device) for table in (q, k, v)))
    assert total.cpu().equal(x + y)
    assert_close(out.cpu().double(), oracle(q, k, v))


@MEMORY
@pytest.mark.gpu
@pytest.mark.parametrize("options", [{}, {"is_causal": True}], ids=["full", "causal"])
@pytest.mark.parametrize("head_dim", [64, 128])
def test_hopper(head_dim, options, memory, device):
    if torch.cuda.get_device_capability() != (9, 0):
        pytest.skip("needs a Hopper GPU")
    (q, k, v, _), options = inputs(200, 140, head_dim, options)
    with memory():
        out = hopper_attention(*(x.to(device) for x in (q, k, v)), **options)
    assert_close(out.cpu().double(), truth(q, k, v, **options))


@MEMORY
@pytest.mark.gpu
@pytest.mark.parametrize("head_dim", [64, 128])
def test_warp_specialized(head_dim, memory, device):
    if torch.cuda.get_device_capability() != (9, 0):
        pytest.skip("needs a Hopper GPU")
    (q, k, v, _), _ = inputs(128, 384, head_dim, {}, key_heads=2)
    with memory():
        out = warp_specialized_attention(*(x.to(device) for x in (q, k, v)))
    assert_close(out.cpu().double(), oracle(q, k, v))


@MEMORY
@OPTIONS
@HEAD_DIM
@pytest.mark.parametrize("seq_q, seq_k", [(70, 130), (130, 70)])
def test_backward(seq_q, seq_k, head_dim, options, memory, device):
    tensors, options = inputs(seq_q, seq_k, head_dim, options)
    with memory():
        results = gradients(partial(flash_attention, **options_on(device, options)), *(x.to(device) for x in tensors))
    expected = gradients(partial(truth, **options), *(x.double() for x in tensors))
    for result, wanted in zip(results, expected, strict=True):
        assert_close(result.cpu().double(), wanted, atol=5e-2)


@MEMORY
def test_softmax(memory, device):
    scores = torch.randn(3, 100, dtype=torch.float16)
    with memory():
        shares = softmax(scores.to(device), block=64)
    assert_close(shares.cpu(), scores.softmax(-1))


@MEMORY
@pytest.mark.parametrize("scheme", [NVFP4, MXFP4, MXFP8, FP8, FP8_BLOCKS], ids=lambda scheme: scheme.name)
@pytest.mark.parametrize("columns", [33, 130])
def test_blocks(columns, scheme, memory, device):
    x = torch.randn(3, columns)
    expected = quantize(x, scheme)
    given = None if expected.tensor_scale is None else expected.tensor_scale.to(device)
    with memory():
        quantized = quantize_blocks(x.to(device), scheme, tensor_scale=given)
        values = dequantize_blocks(quantized)
    assert quantized.codes.cpu().equal(expected.codes)
    assert scheme.block_size is None or quantized.scales.cpu().equal(expected.scales)
    assert values.cpu().equal(dequantize(expected))


@MEMORY
def test_merging_in_place(memory, device):
    parts = torch.randn(2, 1, 3, 21, 24)
    lses = torch.randn(2, 1, 3, 21)
    out, lse = parts[0].clone().to(device), lses[0].clone().to(device)
    with memory():
        merge_in_place(out, lse, parts[1, :, :, 4:].to(device), lses[1, :, :, 4:].to(device), first=4)
    merged = merge(parts[0, :, :, 4:], lses[0, :, :, 4:], parts[1, :, :, 4:], lses[1, :, :, 4:])
    assert_close(out[:, :, 4:].cpu(), merged[0])
    assert_close(lse[:, :, 4:].cpu(), merged[1])
    assert out[:, :, :4].cpu().equal(parts[0, :, :, :4])


@MEMORY
@pytest.mark.parametrize("stride", [1, 8])
def test_strided_read(stride, memory, device):
    x = torch.randn(4096)
    with memory():
        sums = strided_read(x.to(device), stride)
    assert_close(sums.cpu().sum(), x.sum())


@MEMORY
def test_repeated_read(memory, device):
    x = torch.randn(8192)
    with memory():
        sums = repeated_read(x.to(device), 3)
    assert_close(sums.cpu(), x.sum().expand(3))


@MEMORY
@pytest.mark.parametrize("format", ["fp16", "fp8", "nvfp4"])
@pytest.mark.parametrize("portable", [True, pytest.param(False, marks=pytest.mark.gpu)])
def test_decode(portable, format, memory, device):
    q, kv = torch.randn(3, 4, 2, 64).half(), torch.randn(2, 1, 2, 150, 64).half()
    with memory():
        pages = torch.tensor([[3, 0, 2], [4, -1, -1], [1, -1, -1]])
        cache = KVCache(pages, kv_heads=2, head_dim=64, format=format, device=device)
        cache.append(*kv.to(device), [0])
        cache.append(*kv[:, :, :, :3].to(device), [2])
        out = decode_attention(q.to(device), cache, portable=portable)
    assert not out[1].any()
    for sequence, length in ((0, 150), (2, 3)):
        k, v = (x[None].cpu() for x in cache.gather(sequence))
        seen = torch.arange(length) < torch.tensor([[length - 1], [length]])
        expected = oracle(q[sequence][None], k.half(), v.half(), enable_gqa=True, attn_mask=seen)
        assert_close(out[sequence][None].cpu().double(), expected)


def test_what_was_never_written_is_nan_inside_and_nothing_changes_outside(device):
    before = torch.are_deterministic_algorithms_enabled(), torch.utils.deterministic.fill_uninitialized_memory
    like = torch.zeros(3, device=device)
    with prefilled_with_nan():
        for never_written in (torch.empty(3, device=device), torch.empty_like(like), like.new_empty(3)):
            assert never_written.isnan().all()
        with pytest.raises(AssertionError, match="not close"):
            assert_close(torch.empty_like(like), like)  # what a kernel leaves that forgets to write
    after = torch.are_deterministic_algorithms_enabled(), torch.utils.deterministic.fill_uninitialized_memory
    assert before == after
