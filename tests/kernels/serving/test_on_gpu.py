"""Decode on a GPU: both kernels, long and many sequences, graphs and streams, pages beyond 2³¹ bytes."""

import pytest
import torch

from kernels.serving import decode
from kernels.serving.cache import KVCache
from kernels.serving.decode import decode_attention
from tests.kernels.memory import room_for
from tests.kernels.prefilled import prefilled_with_nan
from tests.kernels.serving.harness import (
    BF16,
    FORMATS,
    FP16,
    GPU,
    HOPPER,
    PORTABLE,
    SCALES,
    SCHEMES,
    Budget,
    all_formats,
    decode_budget_used,
    fill_with_nan,
    new_cache,
    queries,
    random_rows,
    write,
)

# Rows that are masked may hold anything; what becomes of them may overflow, and is stored nowhere.
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


# What only a GPU can run.


@GPU
@pytest.mark.parametrize(
    "cases", [[(1, 1), (1, 3), (4, 1), (8, 1)], [(4, 3), (8, 3), (16, 1), (16, 3)]], ids=["8", "16"]
)
@pytest.mark.parametrize("page_size", [16, 64, 256])
@pytest.mark.parametrize("head_dim", [64, 128, 256])
@pytest.mark.parametrize("format, dtype", [FORMATS[name] for name in ("bf16", "fp16", "fp8, BF16 queries", "nvfp4")])
def test_both_kernels_on_the_same_inputs(format, dtype, head_dim, page_size, cases, device):
    """Up to 8 rows of queries in a tile, and up to 16."""
    lengths = [1000, 0, 63, 64, 65, 1, 127, 128, 129, 257]
    cache = new_cache(device, format, lengths, kv_heads=2, head_dim=head_dim, page_size=page_size)
    for group, new_tokens in cases:
        budget = Budget(queries(cache, dtype, group=group, new_tokens=new_tokens), cache)
        assert max(budget.fractions_used(PORTABLE.attention)) <= 1
        assert max(budget.fractions_used(HOPPER.attention)) <= 1


@GPU
@pytest.mark.parametrize("format, head_dim", [("bf16", 64), ("fp16", 128), ("fp8", 256), ("nvfp4", 128)])
def test_a_hopper_gpu_takes_its_own_kernel(format, head_dim, monkeypatch, device):
    """Only there, only for these head dimensions, and not if told otherwise."""
    if torch.cuda.get_device_capability() != (9, 0):
        pytest.skip("needs a Hopper GPU")
    taken = []
    right = decode.hopper_decode_parts
    monkeypatch.setattr(decode, "hopper_decode_parts", lambda *x: [taken.append(x), right(*x)])
    for size, portable, times in ((head_dim, False, 1), (head_dim, True, 0), (80, False, 0)):
        taken.clear()
        cache = new_cache(device, format, [70], head_dim=size, page_size=64)
        decode_attention(queries(cache, BF16 if format == "bf16" else FP16), cache, portable=portable)
        assert len(taken) == times


@pytest.mark.large
@GPU
@all_formats()
def test_one_batch_from_1_to_131072_keys(format, dtype, decoder, device):
    lengths = [131072, 1, 0, 4096, 131071, 65, 33333]
    cache = new_cache(device, format, lengths, kv_heads=2, head_dim=decoder.head_dim, page_size=64)
    assert decode_budget_used(decoder.attention, queries(cache, dtype, group=4, new_tokens=2), cache) <= 1


@GPU
@all_formats()
@pytest.mark.parametrize("sequences, length", [(1, 20000), (37, 700)])
def test_all_of_the_gpu_the_same_again_bit_for_bit(sequences, length, format, dtype, decoder, device):
    """Twenty times: what one program reads before another has written it differs now and then."""
    lengths = [length - i % 5 * 13 for i in range(sequences)]
    cache = new_cache(device, format, lengths, kv_heads=8, head_dim=decoder.head_dim, page_size=64)
    budget = Budget(queries(cache, dtype, group=4), cache)
    assert max(budget.fractions_used(decoder.attention)) <= 1
    first = decoder.attention(budget.q, cache, return_lse=True)
    for _ in range(20):
        with prefilled_with_nan():
            again = decoder.attention(budget.q, cache, return_lse=True)
        assert again[0].equal(first[0]) and again[1].equal(first[1])


@GPU
@all_formats()
def test_more_sequences_than_programs(format, dtype, decoder, device):
    """So that some are merged and some are not, in one launch; and 150 sequences are no power of two."""
    lengths = [0, 1, 16, 17, 64, 65, 100, 128, 129, 150] * 15
    cache = new_cache(device, format, lengths, kv_heads=3, head_dim=decoder.head_dim)
    assert decode_budget_used(decoder.attention, queries(cache, dtype, group=3, new_tokens=2), cache) <= 1


@GPU
@all_formats()
def test_a_captured_graph_sees_the_cache_grow(format, dtype, decoder, device):
    """Lengths and page table are read as it is replayed: from no key at all, across pages."""
    table = torch.randperm(36).view(3, 12)
    options = SCALES if format in SCHEMES else {}
    cache = KVCache(table, kv_heads=2, head_dim=decoder.head_dim, page_size=16, format=format, device=device, **options)
    fill_with_nan(cache, 0xFF)
    q = queries(cache, dtype, group=4, new_tokens=2)
    decoder.attention(q, cache)  # compiled
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = decoder.attention(q, cache, return_lse=True)

    def replayed(q, cache, **_):
        for x in result:
            x.fill_(torch.nan)
        graph.replay()
        return tuple(x.clone() for x in result)

    for new_tokens, sequences in ((0, None), (1, [2]), (2, None), (14, [0, 2]), (47, None), (1, None), (100, [1])):
        k, v = torch.randn(
            2, 3 if sequences is None else len(sequences), 2, new_tokens, decoder.head_dim, device=device
        )
        cache.append(k, v, sequences)
        q.copy_(queries(cache, dtype, group=4, new_tokens=2))
        assert decode_budget_used(replayed, q, cache) <= 1
    assert cache.host_lengths == [64, 150, 65]


@GPU
@all_formats()
def test_a_whole_step_of_decode_is_one_graph(format, dtype, decoder, device):
    """A token is appended and attended to, again and again; lengths advance on the GPU."""
    sizes = {"kv_heads": 2, "head_dim": decoder.head_dim, "page_size": 16}
    options = SCALES if format in SCHEMES else {}
    cache = KVCache(torch.randperm(36).view(3, 12), format=format, device=device, **sizes, **options)
    fill_with_nan(cache, 0xFF)
    for sequence, length in enumerate((15, 1, 150)):
        cache.append(*torch.randn(2, 1, 2, length, decoder.head_dim, device=device), [sequence])
    q, (k, v) = queries(cache, dtype, group=4), torch.randn(2, 3, 2, 1, decoder.head_dim, device=device)
    cache.append(k, v)
    decoder.attention(q, cache)  # compiled
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        cache.append(k, v)
        result = decoder.attention(q, cache, return_lse=True)

    def replayed(q, cache, **_):
        return tuple(x.clone() for x in result)

    for step in range(20):
        cache.advance_host_lengths(1)
        q.copy_(queries(cache, dtype, group=4))
        for x in (k, v):
            x.copy_(torch.randn_like(x))
        graph.replay()
        assert cache.lengths.tolist() == cache.host_lengths == [17 + step, 3 + step, 152 + step]
        assert decode_budget_used(replayed, q, cache) <= 1
    assert cache.gather(1)[0].shape == (2, 22, decoder.head_dim)


@GPU
@all_formats()
def test_what_comes_next_waits_also_where_nothing_is_merged(format, dtype, decoder, device):
    """No sequence is longer than a tile: the kernel that merges has nothing to do, and must not end first."""
    lengths = [100 + i % 28 for i in range(64)]
    caches = [new_cache(device, format, lengths, kv_heads=8, head_dim=decoder.head_dim, page_size=128) for _ in "ab"]
    q = [queries(cache, dtype, group=4) for cache in caches]
    expected = [decoder.attention(*x) for x in zip(q, caches, strict=True)]
    copied = [torch.empty_like(x) for x in expected]
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for x, cache, copy in zip(q, caches, copied, strict=True):
            out = decoder.attention(x, cache)
            copy.copy_(out)
            out.fill_(torch.nan)
            del out  # the next one may take its place
    for _ in range(20):
        for copy in copied:
            copy.fill_(torch.nan)
        graph.replay()
        assert all(copy.equal(wanted) for copy, wanted in zip(copied, expected, strict=True))


@GPU
@all_formats()
def test_nothing_waits_for_the_gpu(format, dtype, decoder, device):
    cache = new_cache(device, format, [40, 3], head_dim=decoder.head_dim)
    q = queries(cache, dtype)
    expected = decoder.attention(q, cache)  # compiled
    torch.cuda.synchronize()
    torch.cuda.set_sync_debug_mode("error")
    try:
        out = decoder.attention(q, cache)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert out.equal(expected)


@GPU
def test_another_stream(decoder, device):
    cache = new_cache(device, "fp16", [4000, 3], head_dim=decoder.head_dim)
    q = queries(cache, FP16)
    expected = decoder.attention(q, cache)
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        out = decoder.attention(q, cache)
    stream.synchronize()
    assert out.equal(expected)


@pytest.mark.large
@GPU
@pytest.mark.parametrize("format", ["fp8", "nvfp4"])
def test_pages_lie_beyond_2_to_the_31_bytes(format, decoder, device):
    head_dim, row = 128, 128 if format == "fp8" else 64
    pages = 2**31 // (8 * 64 * row) + 3
    table = torch.tensor([[0, pages - 1], [pages - 2, pages - 3]])
    cache = KVCache(table, kv_heads=8, head_dim=head_dim, format=format, device=device, **SCALES)
    for sequence, length in enumerate((70, 128)):
        write(cache, sequence, *random_rows(cache, length))
    assert decode_budget_used(decoder.attention, queries(cache, FP16, group=2), cache) <= 1


@pytest.mark.large
@GPU
@pytest.mark.parametrize("length", [0, 64])
def test_queries_beyond_2_to_the_31_elements(length, decoder, device):
    room_for(10)
    cache = new_cache(device, "fp16", [length], head_dim=128)
    q = torch.empty(1, 2**24 + 16, 1, 128, device=device, dtype=FP16).normal_()
    assert q.numel() > 2**31
    out = decoder.attention(q, cache)[:, -16:].clone()
    assert out.equal(decoder.attention(q[:, -16:].clone(), cache))


@GPU
@pytest.mark.parametrize("format", ["fp8", "nvfp4"])
def test_decode_reads_what_append_wrote(format, decoder, device):
    """A prompt, then a token at a time."""
    sizes = {"kv_heads": 2, "head_dim": decoder.head_dim}
    cache = KVCache(torch.randperm(20).view(2, 10), format=format, device=device, **sizes, **SCALES)
    for new_tokens in (60, 1, 1, 1, 1, 1, 70):
        cache.append(*torch.randn(2, 2, 2, new_tokens, decoder.head_dim, device=device))
        assert decode_budget_used(decoder.attention, queries(cache, BF16, new_tokens=min(new_tokens, 4)), cache) <= 1
