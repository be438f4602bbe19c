"""Decode is attention over what its cache holds, within the error budget, whatever its shape and numbers."""

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from kernels.serving import decode
from kernels.serving.cache import KVCache
from kernels.serving.decode import decode_attention
from tests.kernels.interpreter import needs_interpreter
from tests.kernels.memory import ON_CPU, between_zeros, reads_outside, recorded_reads
from tests.kernels.prefilled import prefilled_with_nan
from tests.kernels.serving.harness import (
    BF16,
    FP16,
    GPU,
    PORTABLE,
    Budget,
    all_formats,
    decode_budget_used,
    fill_with_nan,
    new_cache,
    queries,
    write,
)

ROOT = Path(__file__).resolve().parents[3]

# Rows that are masked may hold anything; what becomes of them may overflow, and is stored nowhere.
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


# Shapes.


@all_formats(interpreted=["fp16", "fp8", "nvfp4"])
@pytest.mark.parametrize("new_tokens", [1, 3])
def test_any_lengths_in_one_batch(new_tokens, format, dtype, decoder, device):
    """None, one, one short of a page and of a block, a page, one past it; with 3 new tokens also fewer keys."""
    cache = new_cache(device, format, [0, 1, 15, 16, 17, 63, 64, 65, 0, 130, 2], head_dim=decoder.head_dim)
    assert decode_budget_used(decoder.attention, queries(cache, dtype, new_tokens=new_tokens), cache) <= 1


@all_formats(interpreted=["nvfp4"])
@pytest.mark.parametrize("page_size", [64, 128, 256])
def test_any_page_size(page_size, format, dtype, decoder, device):
    lengths = [page_size - 1, page_size + 1] if page_size > 64 else [page_size - 1, 0, page_size, page_size + 1, 1]
    cache = new_cache(device, format, lengths, head_dim=decoder.head_dim, page_size=page_size)
    assert decode_budget_used(decoder.attention, queries(cache, dtype, new_tokens=2), cache) <= 1


@pytest.mark.parametrize(
    "format, head_dim",
    [
        *(("fp16", head_dim) for head_dim in (48, 256)),
        *(("fp8", head_dim) for head_dim in (64, 80)),
        *(("nvfp4", head_dim) for head_dim in (32, 80, 96, 128)),
    ],
)
def test_any_head_dim(format, head_dim, device):
    """Also those that are no power of two, for which tiles are padded."""
    cache = new_cache(device, format, [70, 3], head_dim=head_dim)
    assert decode_budget_used(PORTABLE.attention, queries(cache, FP16), cache) <= 1


@GPU
@all_formats()
@pytest.mark.parametrize("head_dim", range(16, 257, 16))
def test_every_head_dim(head_dim, format, dtype, device):
    cache = new_cache(device, format, [70, 3, 1000], head_dim=head_dim, kv_heads=2)
    assert decode_budget_used(decode_attention, queries(cache, dtype, new_tokens=2), cache) <= 1


@all_formats(interpreted=["nvfp4"])
@pytest.mark.parametrize(
    "group, new_tokens", [(1, 1), (3, 2), (4, 5), (8, 1), (16, 1), (20, 1), pytest.param(20, 7, marks=GPU)]
)
def test_queries_that_share_keys(group, new_tokens, format, dtype, decoder, device):
    """Half a tile of them, a whole one, several, the last of which is not full.  A sequence of fewer tokens."""
    cache = new_cache(device, format, [2, 66], kv_heads=2, head_dim=decoder.head_dim)
    assert decode_budget_used(decoder.attention, queries(cache, dtype, group=group, new_tokens=new_tokens), cache) <= 1


@pytest.mark.parametrize("new_tokens", [0, 1, 3])
@pytest.mark.parametrize("pages", [0, 4])
def test_no_key_at_all(pages, new_tokens, decoder, device):
    """Also of a cache that has no page yet."""
    sizes = {"kv_heads": 1, "head_dim": decoder.head_dim, "pages": pages}
    cache = KVCache(torch.full((2, 3), -1), format="fp8", device=device, **sizes)
    fill_with_nan(cache, 0x7F)
    q = queries(cache, FP16, new_tokens=new_tokens)
    out, lse = decoder.attention(q, cache, return_lse=True)
    assert out.equal(torch.zeros_like(q)) and lse.equal(torch.full(q.shape[:-1], -torch.inf, device=device))


def test_no_sequence_at_all(decoder, device):
    table, sizes = torch.zeros(0, 0, dtype=torch.int32), {"kv_heads": 2, "head_dim": decoder.head_dim}
    cache = KVCache(table, format="fp16", device=device, **sizes)
    q = queries(cache, FP16)
    out, lse = decoder.attention(q, cache, return_lse=True)
    assert out.shape == q.shape == (0, 4, 1, decoder.head_dim) and lse.shape == (0, 4, 1)
    assert decoder.attention(q, cache).shape == q.shape


@ON_CPU
def test_nothing_is_read_beside_the_page_table():
    """Where a sequence fills its pages, and there is no other behind it."""
    cache = new_cache(torch.device("cpu"), "fp16", [64, 32])
    cache.page_table = between_zeros(cache.page_table[:, :2].contiguous()[1:])
    cache.lengths, cache.host_lengths = cache.lengths[1:].clone(), cache.host_lengths[1:]
    with recorded_reads() as addresses:
        assert decode_budget_used(PORTABLE.attention, queries(cache, FP16), cache) <= 1
    assert reads_outside(addresses, cache.page_table) == 0


# Numbers.


@all_formats(interpreted=["fp8"])
@pytest.mark.parametrize("scale", [-1.5, 0, 1e-46, 1e-3, 2])
def test_any_scale(scale, format, dtype, decoder, device):
    """FP32 cannot tell 1e-46 from 0: all keys count the same."""
    cache = new_cache(device, format, [40, 65, 1], head_dim=decoder.head_dim)
    q = queries(cache, dtype, new_tokens=2)
    assert decode_budget_used(decoder.attention, q, cache, scale=scale) <= 1
    if abs(scale) < 1e-45:
        assert decoder.attention(q, cache, scale=scale).equal(decoder.attention(0 * q, cache))


@pytest.mark.parametrize("format", ["fp8", pytest.param("nvfp4", marks=GPU)])
@pytest.mark.parametrize("scales", [(1.0, 1.0), (100.0, 1e-3), (2.0**-20, 1000.0)])
def test_any_tensor_scale(scales, format, decoder, device):
    key_scale, value_scale = scales
    rows = [(key_scale * k, value_scale * v) for k, v in (torch.randn(2, 1, n, decoder.head_dim) for n in (70, 3))]
    rows = [(k.to(device), v.to(device)) for k, v in rows]
    options = {"key_scale": key_scale, "value_scale": value_scale, "rows": rows}
    cache = new_cache(device, format, [70, 3], head_dim=decoder.head_dim, **options)
    assert decode_budget_used(decoder.attention, queries(cache, FP16, size=1 / max(1, key_scale)), cache) <= 1
    if key_scale < 1:  # scores that matter
        assert decode_budget_used(decoder.attention, queries(cache, FP16), cache, scale=0.1 / key_scale) <= 1


SIZES = [(FP16, 1e-4), (FP16, 1e4)] + [pytest.param(BF16, size, marks=GPU) for size in (1e-30, 1e5, 1e30)]


@pytest.mark.parametrize("format", ["fp8", "nvfp4"])
@pytest.mark.parametrize("dtype, size", SIZES, ids=["1e-4", "1e4", "1e-30", "1e5", "1e30"])
def test_queries_of_any_size(dtype, size, format, decoder, device):
    """FP16 subnormals, and BF16 that FP16 does not hold, beside a row of ordinary numbers and one of zeros."""
    cache = new_cache(device, format, [40, 66], head_dim=decoder.head_dim)
    q = queries(cache, torch.float32, group=4, new_tokens=2, size=0.2)
    q[:, 0] *= size
    q[:, 1] = 0
    assert decode_budget_used(decoder.attention, q.to(dtype), cache, scale=1 / size) <= 1
    if size > 1:  # one key takes it all
        q = q[:, :1, -1:].to(dtype)
        out, v = decoder.attention(q, cache, scale=1.0), [cache.gather(i)[1][0] for i in range(2)]
        best = [(cache.gather(i)[0][0].double() @ q[i, 0, 0].double()).argmax() for i in range(2)]
        expected = torch.stack([rows[key] for rows, key in zip(v, best, strict=True)])
        torch.testing.assert_close(out[:, 0, 0].float(), expected, rtol=torch.finfo(dtype).eps, atol=0)


NOT_FINITE = [("fp16", FP16, torch.nan), ("fp16", FP16, torch.inf), ("fp8", FP16, torch.nan)]
NOT_FINITE += [pytest.param("bf16", BF16, number, marks=GPU) for number in (torch.nan, torch.inf)]


@pytest.mark.parametrize("format, dtype, number", NOT_FINITE)
@pytest.mark.parametrize("place", [5, 69], ids=["an old key", "the newest key"])
@pytest.mark.parametrize("which", [0, 1], ids=["key", "value"])
def test_what_is_not_finite_goes_where_it_should(which, place, format, dtype, number, decoder, device):
    """To the rows to which the FP64 reference takes it, and to no other head or sequence."""
    rows = [torch.randn(2, 2, n, decoder.head_dim, device=device) / 4 for n in (40, 70)]
    cache = new_cache(device, format, [40, 70], kv_heads=2, head_dim=decoder.head_dim, rows=rows)
    q = queries(cache, dtype, group=1, new_tokens=2)
    before = decoder.attention(q, cache)
    rows[1][which, 0, place, 3] = number
    write(cache, 1, *rows[1])
    out = decoder.attention(q, cache)
    expected = torch.stack([x.out for x in Budget(q, cache).expected]).view(out.shape)
    assert out.isnan().equal(expected.isnan()) and out.isinf().equal(expected.isinf())
    assert not out[1, 0].equal(before[1, 0])
    assert out[0].equal(before[0]) and out[1, 1].equal(before[1, 1])


def test_a_query_that_is_not_finite_spoils_its_own_row_alone(decoder, device):
    cache = new_cache(device, "fp8", [40, 70], head_dim=decoder.head_dim)
    q = queries(cache, FP16, group=3, new_tokens=2)
    expected = decoder.attention(q, cache)
    q[1, 0, 0, 3], q[0, 2, 1, 4] = torch.nan, torch.inf
    out = decoder.attention(q, cache)
    spoiled = torch.zeros(2, 3, 2, dtype=torch.bool, device=device)
    spoiled[1, 0, 0] = spoiled[0, 2, 1] = True
    assert out[spoiled].isnan().all() and out[~spoiled].equal(expected[~spoiled])


@all_formats(interpreted=["fp16", "fp8", "nvfp4"])
def test_what_is_not_used_does_not_matter(format, dtype, decoder, device):
    """Not a bit of it: rows past the length, pages of nobody."""
    cache = new_cache(device, format, [17, 70], kv_heads=2, head_dim=decoder.head_dim)
    q = queries(cache, dtype, group=1, new_tokens=2)
    unused = torch.ones(cache.pages, cache.page_size, dtype=torch.bool)
    for pages, length in zip(cache.host_pages, cache.host_lengths, strict=True):
        for position in range(length):
            unused[pages[position // cache.page_size], position % cache.page_size] = False
    results = []
    for byte in (0x00, 0x7F, 0xFF):
        fill_with_nan(cache, byte, unused.to(device))
        with prefilled_with_nan():
            results.append(decoder.attention(q, cache, return_lse=True))
    for out, lse in results:
        assert out.equal(results[0][0]) and lse.equal(results[0][1])


def test_strides_of_queries_change_nothing(decoder, device):
    cache = new_cache(device, "fp16", [40, 3], head_dim=decoder.head_dim)
    q = queries(cache, FP16, group=3, new_tokens=2)
    strided = q.permute(3, 2, 1, 0).contiguous().permute(3, 2, 1, 0)
    assert decoder.attention(strided, cache).equal(decoder.attention(q, cache))


# Which kernel: the one for Hopper, or the portable one, which runs wherever Triton does.


def choice(monkeypatch, *, capability=(9, 0), hip=None, gluon=True, **sizes):
    """Whether a GPU of this kind, which need not be there, takes the kernel for Hopper."""
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: capability)
    monkeypatch.setattr(torch.version, "hip", hip)
    monkeypatch.setattr(decode, "GLUON", gluon)
    cache = SimpleNamespace(**{"format": "nvfp4", "page_size": 64, "head_dim": 128, "pages": 3} | sizes)
    with FakeTensorMode():
        return decode.hopper_supports(torch.empty(1, 2, 1, cache.head_dim, dtype=FP16, device="cuda"), cache)


def test_a_hopper_gpu_takes_the_kernel_for_hopper(monkeypatch):
    assert choice(monkeypatch)
    for head_dim, taken in ((64, True), (128, True), (256, True), (80, False), (32, False)):
        assert choice(monkeypatch, head_dim=head_dim) == taken
    assert not choice(monkeypatch, pages=0)
    assert not choice(monkeypatch, head_dim=64, page_size=16) and choice(monkeypatch, head_dim=64, page_size=32)
    assert choice(monkeypatch, head_dim=64, page_size=16, format="fp8")


@pytest.mark.parametrize("capability", [(8, 0), (8, 9), (9, 1), (10, 0), (12, 0)])
def test_another_gpu_takes_the_portable_one(capability, monkeypatch):
    assert not choice(monkeypatch, capability=capability)


def test_a_gpu_of_amds_is_no_hopper_though_it_is_called_9_0(monkeypatch):
    assert not choice(monkeypatch, hip="6.4")


def test_without_gluon_a_hopper_gpu_takes_the_portable_one(monkeypatch):
    assert not choice(monkeypatch, gluon=False)


WITHOUT_GLUON = """
import sys
sys.modules["triton.experimental.gluon.language.nvidia.hopper"] = None
import torch
from kernels.serving import decode
from kernels.serving.cache import KVCache
cache = KVCache(torch.arange(2)[None], kv_heads=1, head_dim=16, page_size=16, format="fp16")
k, v = torch.randn(2, 1, 1, 20, 16)
cache.append(k, v)
q = torch.randn(1, 1, 1, 16).half()
expected = torch.nn.functional.scaled_dot_product_attention(q.float(), k.half().float(), v.half().float())
torch.testing.assert_close(decode.decode_attention(q, cache).float(), expected, rtol=1e-2, atol=1e-2)
print(decode.GLUON)
"""


@needs_interpreter
def test_a_triton_without_gluon_decodes_all_the_same():
    environment = os.environ | {"TRITON_INTERPRET": "1", "CUDA_VISIBLE_DEVICES": ""}
    command = [sys.executable, "-c", WITHOUT_GLUON]
    run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert run.stdout == "False\n", run.stderr


# Refused.

CACHE = {"kv_heads": 2, "head_dim": 32, "format": "fp8"}


QUERY = torch.zeros(2, 4, 1, 32, dtype=FP16)


@pytest.mark.parametrize(
    "q, options, error, words",
    [
        ([1.0], {}, TypeError, "query is list, a tensor is wanted"),
        (QUERY[0], {}, ValueError, r"query has 3 dimensions, \[batch, heads, new_tokens, head_dim\] is wanted"),
        (QUERY[:1], {}, ValueError, "query has batch 1, the cache has 2 sequences"),
        (QUERY[:, :3], {}, ValueError, "query has 3 heads, the cache has 2: a whole multiple is wanted"),
        (QUERY[:, :0], {}, ValueError, "query has 0 heads, the cache has 2: a whole multiple is wanted"),
        (QUERY[..., :16], {}, ValueError, "query has head_dim 16, the cache has 32: they must match"),
        (QUERY.float(), {}, TypeError, "query is torch.float32, for a cache in fp8 torch.bfloat16 or torch.float16"),
        (QUERY.bfloat16(), {"format": "fp16"}, TypeError, "query is torch.bfloat16, for a cache in fp16 torch.float16"),
        (QUERY, {"format": "bf16"}, TypeError, "query is torch.float16, for a cache in bf16 torch.bfloat16"),
        (QUERY.to("meta"), {}, ValueError, "query is on meta, the cache is on c.*: they must match"),
        (QUERY.clone().requires_grad_(), {}, ValueError, "query requires a gradient.*: use .* KVCache.gather and"),
        (QUERY, {"scale": "1"}, TypeError, "scale is str, a Python number is wanted"),
        (QUERY, {"scale": torch.ones(())}, TypeError, "scale is Tensor, a Python number is wanted"),
    ],
)
def test_a_bad_query_is_named_and_nothing_runs(q, options, error, words, monkeypatch, device):
    nothing_runs(monkeypatch)
    scale = options.get("scale")
    cache = KVCache(torch.arange(2).view(2, 1), device=device, **CACHE | {"format": options.get("format", "fp8")})
    if torch.is_tensor(q) and q.device.type != "meta":
        q = q.detach().to(device).requires_grad_(q.requires_grad)
    for portable in (False, True):
        with pytest.raises(error, match=words):
            decode_attention(q, cache, scale=scale, portable=portable)


def test_a_cache_that_is_none_is_named(monkeypatch, device):
    nothing_runs(monkeypatch)
    with pytest.raises(TypeError, match="cache is tuple, a KVCache is wanted"):
        decode_attention(QUERY.to(device), (QUERY, QUERY))


@pytest.mark.skipif(torch.cuda.is_available(), reason="is about what has no GPU")
def test_bf16_is_refused_in_the_interpreter(monkeypatch):
    nothing_runs(monkeypatch)
    for format in ("fp8", "bf16"):
        cache = KVCache(torch.arange(2).view(2, 1), **CACHE | {"format": format})
        with pytest.raises(TypeError, match=r"query is torch\.bfloat16, which Triton's interpreter computes wrongly"):
            decode_attention(QUERY.bfloat16(), cache)


@GPU
def test_a_cpu_is_refused_where_kernels_are_compiled(monkeypatch):
    nothing_runs(monkeypatch)
    with pytest.raises(ValueError, match=r"query is on cpu, where a Triton kernel cannot run: use KVCache\.gather"):
        decode_attention(QUERY, KVCache(torch.arange(2).view(2, 1), **CACHE))


def nothing_runs(monkeypatch):
    def refuse(*arguments, **options):
        raise AssertionError("something ran")

    for name in ("decode_parts", "merge", "hopper_supports", "program_count"):
        monkeypatch.setattr(decode, name, refuse)


def test_a_query_that_requires_a_gradient_is_taken_where_none_is_recorded(device):
    cache = new_cache(device, "fp8", [3])
    q = queries(cache, FP16)
    with torch.no_grad():
        assert decode_attention(q.clone().requires_grad_(), cache).equal(decode_attention(q, cache))
