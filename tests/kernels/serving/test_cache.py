"""A paged cache holds each row, byte for byte as PyTorch makes it, where the page table says; nothing else changes."""

import pytest
import torch

from kernels.formats.block import FP8, NVFP4, dequantize, quantize
from kernels.serving.cache import KVCache
from tests.kernels.memory import ON_CPU, between_zeros, reads_outside, recorded_reads

FORMATS = ["bf16", "fp16", "fp8", "nvfp4"]
DTYPES = [torch.float32, torch.float16, torch.bfloat16]
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # numpy's, of the interpreter

SCHEMES = {"fp8": FP8, "nvfp4": NVFP4}
SCALES = {"key_scale": 0.013, "value_scale": 0.75}  # neither a power of two
NAMES = ("keys", "values", "key_block_scales", "value_block_scales")


def new_cache(device, format="bf16", *, batch=3, per_sequence=3, kv_heads=2, head_dim=32, page_size=16, **options):
    """A cache whose page table is random and leaves out some pages, with a pattern in every row."""
    pages = batch * per_sequence + 4
    table = torch.randperm(pages)[: batch * per_sequence].view(batch, per_sequence)
    if format in SCHEMES:
        options = SCALES | options
    sizes = {"kv_heads": kv_heads, "head_dim": head_dim, "page_size": page_size, "pages": pages}
    cache = KVCache(table, format=format, device=device, **sizes, **options)
    fill_with_a_pattern(cache)
    return cache


def fill_with_a_pattern(cache):
    for x in page_tensors(cache).values():
        as_bytes(x).copy_(torch.randint(0, 256, as_bytes(x).shape, dtype=torch.uint8))


def new_rows(cache, n, new_tokens, dtype=torch.float32):
    """Keys and values to append, of many sizes: each block of 16 has its own, one is zero and one is huge."""
    shape = (2, n, cache.kv_heads, new_tokens, cache.head_dim // 16, 16)
    rows = torch.randn(shape) * torch.exp2(torch.randint(-12, 6, (*shape[:-1], 1)))
    if new_tokens > 2:
        rows[:, :, :, 1, 0] = 0
        rows[:, :, :, 2, -1] = 6e4
    return rows.flatten(-2).to(dtype).to(cache.device)


def page_tensors(cache):
    """Its pages by name."""
    return {name: getattr(cache, name) for name in NAMES if getattr(cache, name) is not None}


def as_bytes(x):
    return x.view(torch.uint8)


def snapshot(cache):
    everything = page_tensors(cache) | {"page_table": cache.page_table, "lengths": cache.lengths}
    host = {"host_pages": [list(row) for row in cache.host_pages], "host_lengths": list(cache.host_lengths)}
    return {name: x.clone() for name, x in everything.items()} | host


def bits_equal(left, right):
    """Bit for bit, NaN included."""
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(bits_equal(x, right[name]) for name, x in left.items())
    return as_bytes(left).equal(as_bytes(right)) if isinstance(left, torch.Tensor) else left == right


def in_cache_format(cache, rows, scale):
    """What rows become in the cache's format: [..., row] of codes or numbers, and of block scales or None."""
    if cache.format not in SCHEMES:
        return rows.to(cache.keys.dtype), None
    quantized = quantize(rows, SCHEMES[cache.format], tensor_scale=scale)
    return quantized.codes, quantized.scales


def snapshot_after_append(state, cache, k, v, sequences):
    """The specification: ``state``, a snapshot, after the rows were appended one at a time."""
    state = {name: list(x) if isinstance(x, list) else x.clone() for name, x in state.items()}
    page_size = cache.page_size
    for rows, scale, *names in (
        (k, cache.key_scale, "keys", "key_block_scales"),
        (v, cache.value_scale, "values", "value_block_scales"),
    ):
        for name, row in zip(names, in_cache_format(cache, rows, scale), strict=True):
            for i, sequence in enumerate(sequences if row is not None else ()):
                for token in range(k.shape[2]):
                    page, slot = divmod(state["host_lengths"][sequence] + token, page_size)
                    state[name][state["host_pages"][sequence][page], :, slot] = row[i, :, token]
    for sequence in sequences:
        state["host_lengths"][sequence] += k.shape[2]
        state["lengths"][sequence] += k.shape[2]
    return state


def appends_as_specified(cache, k, v, sequences=None, append=KVCache.append):
    expected = snapshot_after_append(
        snapshot(cache), cache, k, v, range(cache.batch) if sequences is None else sequences
    )
    append(cache, k, v, sequences)
    return bits_equal(snapshot(cache), expected)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("format", FORMATS)
def test_every_byte_is_as_specified(format, dtype, device):
    """Written rows and, of a cache full of a pattern, all others."""
    cache = new_cache(device, format, batch=2, kv_heads=1, head_dim=48)
    for new_tokens in (1, 18):
        assert appends_as_specified(cache, *new_rows(cache, 2, new_tokens, dtype))


@pytest.mark.parametrize("format", FORMATS)
def test_many_programs_write_the_rows(format, device):
    """Of a page of 64 tokens 16 at a time, with a head_dim that is no power of two."""
    cache = new_cache(device, format, batch=1, kv_heads=1, page_size=64, head_dim=240)
    assert appends_as_specified(cache, *new_rows(cache, 1, 3))
    assert appends_as_specified(cache, *new_rows(cache, 1, 65))


@pytest.mark.parametrize("format", FORMATS)
def test_gather_is_what_was_appended(format, device):
    cache = new_cache(device, format, batch=2)
    appended = new_rows(cache, 2, 19, torch.bfloat16)
    assert cache.gather(1)[0].shape == (2, 0, 32)
    cache.append(*appended)
    for sequence in range(2):
        for actual, rows, scale in zip(cache.gather(sequence), appended, SCALES.values(), strict=True):
            expected = rows[sequence].to(cache.keys.dtype).float()
            if format in SCHEMES:
                expected = dequantize(quantize(rows[sequence], SCHEMES[format], tensor_scale=scale))
            assert actual.dtype == torch.float32 and actual.equal(expected)


SIZES = torch.arange(1, 19)


@pytest.mark.parametrize("sizes", [SIZES, SIZES.flip(0), SIZES.view(2, 9).T.flatten()], ids=["up", "down", "mixed"])
def test_pieces_of_every_size_are_the_whole(sizes, device):
    """Eleven pages, in pieces of 1 to 18 tokens."""
    whole = new_cache(device, batch=1, kv_heads=1, head_dim=16, per_sequence=11)
    rows = new_rows(whole, 1, 171)
    pieces = KVCache(whole.page_table, kv_heads=1, head_dim=16, page_size=16, pages=whole.pages)
    for x, y in zip(page_tensors(pieces).values(), page_tensors(whole).values(), strict=True):
        x.copy_(y)
    whole.append(*rows)
    for k, v in zip(*(x.split(sizes.tolist(), 2) for x in rows), strict=True):
        pieces.append(k, v)
    assert bits_equal(snapshot(pieces), snapshot(whole))


@pytest.mark.parametrize("format", FORMATS)
def test_a_batch_that_grows_unevenly(format, device):
    """Some of the sequences at a time, in any order, none of them, no new token, and pages assigned on the way."""
    sizes = {"kv_heads": 1, "head_dim": 16, "page_size": 16, "pages": 12}
    cache = KVCache(torch.full((4, 3), -1), format=format, device=device, **sizes)
    cache.assign(2, [7])
    assert appends_as_specified(cache, *new_rows(cache, 1, 16), [2])
    cache.assign(0, (3, 11))
    cache.assign(2, [0, 5])
    cache.assign(1, [])
    assert appends_as_specified(cache, *new_rows(cache, 2, 17), (2, 0))
    cache.assign(3, range(8, 10))
    assert appends_as_specified(cache, *new_rows(cache, 3, 2), [0, 3, 2])
    assert appends_as_specified(cache, *new_rows(cache, 4, 0))
    assert appends_as_specified(cache, *new_rows(cache, 0, 5), [])
    assert cache.lengths.tolist() == cache.host_lengths == [19, 0, 35, 2]
    assert cache.page_table.tolist() == [[3, 11, -1], [-1, -1, -1], [7, 0, 5], [8, 9, -1]]
    assert cache.host_pages == [[3, 11], [], [7, 0, 5], [8, 9]]
    assert cache.gather(1)[1].shape == (1, 0, 16)


def test_a_batch_of_nothing(device):
    cache = KVCache(torch.zeros(0, 0, dtype=torch.int64), kv_heads=2, head_dim=32, device=device)
    assert cache.pages == 0 and cache.bytes == 0
    cache.append(*torch.zeros(2, 0, 2, 9, 32, device=device))


STRIDED = {
    "token before head": lambda x: x.transpose(2, 3).contiguous().transpose(2, 3),
    "part of a wider row": lambda x: torch.cat([x, x, x], -1)[..., 32:64],
    "an odd row": lambda x: torch.cat([x, x[..., :1]], -1)[..., :-1],
    "columns apart": lambda x: x.mT.contiguous().mT,
    "one head for all": lambda x: x[:, :, :1].expand(-1, -1, 2, -1, -1),
    "every other token": lambda x: x.repeat_interleave(2, 3)[..., ::2, :],
}


@pytest.mark.parametrize("strided", STRIDED)
def test_strides_change_nothing(strided, device):
    """Those of keys and of values, each beside the other's own."""
    cache = new_cache(device, "nvfp4" if strided == "an odd row" else "fp16", batch=2)
    k, v = new_rows(cache, 2, 3)
    strided_k, strided_v = STRIDED[strided](torch.stack([k, v]))
    assert appends_as_specified(cache, strided_k, v)
    assert appends_as_specified(cache, k, strided_v)


def test_rounding_to_bf16_is_torchs(device):
    """FP16 numbers, and FP32 numbers at each kind of tie, at the largest numbers, and NaN."""
    halves = torch.randint(0, 2**16, (2**14,)).int().to(torch.int16).view(torch.float16)
    upper = torch.randint(0, 2**16, (2**11,)) << 16
    ties = torch.cat([upper | low for low in (0x7FFF, 0x8000, 0x8001, 0xFFFF)]).int().view(torch.float32)
    ends = torch.tensor([torch.inf, -torch.inf, torch.nan, 3.4e38, -3.4e38, 1e-45]).repeat(43)[:256]
    for numbers in (halves, ties, ends):
        rows = numbers.view(1, 1, -1, 256).to(device)
        cache = KVCache(torch.arange(16).view(1, 16), kv_heads=1, head_dim=256, page_size=16, device=device)
        cache.append(rows, rows)
        actual, expected = cache.values.view(-1, 256)[: rows.shape[2]], rows[0, 0].bfloat16()
        assert actual.isnan().equal(expected.isnan())
        assert bits_equal(actual.nan_to_num(0.0), expected.nan_to_num(0.0))


@pytest.mark.parametrize("format", FORMATS)
def test_what_is_not_finite_or_tiny_is_kept_as_specified(format, device):
    cache = new_cache(device, format, batch=1)
    odd = torch.tensor([torch.inf, -torch.inf, 1e-45, -1e-38, 3.4e38, -3.4e38, 1e-3, -0.0], device=device)
    rows = new_rows(cache, 1, len(odd))
    rows[..., 5] = rows[..., 20] = odd
    assert appends_as_specified(cache, *rows)
    rows[..., 1, 7] = torch.nan
    if format in SCHEMES:
        assert appends_as_specified(cache, *rows)
    else:  # where NaN has many codes
        cache.append(*rows)
        assert all(x[:, 9].isnan().sum(-1).eq(1).all() and x[:, 9, 7].isnan().all() for x in cache.gather(0))


def test_bytes_are_those_of_the_tensors(device):
    """128 numbers a head: 16 bits, 8 bits, and 4 bits with 8 more for each 16 numbers: 3.56 times smaller."""
    sizes = {}
    for format in FORMATS:
        cache = KVCache(torch.arange(6).view(2, 3), kv_heads=8, head_dim=128, format=format, device=device)
        sizes[format] = cache.bytes_per_token
        assert cache.bytes == 6 * 64 * cache.bytes_per_token + 6 * 4 + 2 * 2 * 4
        assert cache.bytes == sum(x.numel() * x.element_size() for x in vars(cache).values() if torch.is_tensor(x))
    assert sizes == {"bf16": 4096, "fp16": 4096, "fp8": 2048, "nvfp4": 1152}
    assert round(sizes["bf16"] / sizes["nvfp4"], 2) == 3.56


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
def test_the_page_table_is_copied_and_says_how_many_pages_there_are(dtype, device):
    table = torch.tensor([[5, 2, -1], [-1, -1, -1]], dtype=dtype, device=device)
    cache = KVCache(table, kv_heads=1, head_dim=16)
    table.fill_(0)
    assert cache.page_table.tolist() == [[5, 2, -1], [-1, -1, -1]] and cache.pages == 6
    assert cache.page_table.dtype == cache.lengths.dtype == torch.int32
    assert cache.device == table.device == cache.keys.device == cache.lengths.device
    assert not any(x.count_nonzero() for x in page_tensors(cache).values())
    assert KVCache(table[:1, :1], kv_heads=1, head_dim=16, pages=9).keys.shape == (9, 1, 64, 16)


# Wrong versions, which the specification must tell from the right one.


def next_page(cache, k, v, sequences):
    kept = cache.page_table.clone()
    cache.page_table.copy_((kept + 1) % cache.pages)
    cache.append(k, v, sequences)
    cache.page_table.copy_(kept)


def token_too_late(cache, k, v, sequences):
    cache.lengths += 1
    cache.append(k, v, sequences)
    cache.lengths -= 1


def scales_of_keys_for_values(cache, k, v, sequences):
    cache.append(k, v, sequences)
    cache.value_block_scales.copy_(cache.key_block_scales)


def key_scale_for_both(cache, k, v, sequences):
    kept, cache.value_scale = cache.value_scale, cache.key_scale
    cache.append(k, v, sequences)
    cache.value_scale = kept


def keys_for_values(cache, k, v, sequences):
    cache.append(k, k, sequences)


def heads_swapped(cache, k, v, sequences):
    cache.append(k.flip(1), v, sequences)


def one_bit_of_another_row(cache, k, v, sequences):
    cache.append(k, v, sequences)
    behind = cache.page_size - 1  # in a page that only its first tokens were written to
    as_bytes(cache.values)[cache.host_pages[0][0], 0, behind, 0] ^= 1


def lengths_forgotten(cache, k, v, sequences):
    cache.append(k, v, sequences)
    cache.lengths -= k.shape[2]


WRONG = (
    next_page, token_too_late, scales_of_keys_for_values, key_scale_for_both,
    keys_for_values, heads_swapped, one_bit_of_another_row, lengths_forgotten,
)  # fmt: skip


@pytest.mark.parametrize("append", [KVCache.append, *WRONG])
def test_a_wrong_append_is_rejected(append, device):
    cache = new_cache(device, "nvfp4", batch=2)
    assert appends_as_specified(cache, *new_rows(cache, 2, 5), None, append) is (append is KVCache.append)


# What is refused, and that nothing is changed by it.

ROWS = torch.zeros(3, 2, 4, 32)


@pytest.mark.parametrize(
    "k, v, sequences, error, words",
    [
        ([1.0], ROWS, None, TypeError, "key is list"),
        (ROWS, None, None, TypeError, "value is NoneType"),
        (ROWS[0], ROWS, None, ValueError, "key has 3 dimensions"),
        (ROWS, ROWS[:, :, 0], None, ValueError, "value has 3 dimensions"),
        (ROWS[:2], ROWS[:2], None, ValueError, r"key has shape \[2, 2, 4, 32\], \[3, 2, 4, 32\] is wanted"),
        (ROWS, ROWS, [0, 1], ValueError, r"key has shape \[3, 2, 4, 32\], \[2, 2, 4, 32\] is wanted"),
        (ROWS[:, :1], ROWS[:, :1], None, ValueError, r"key has shape \[3, 1, 4, 32\]"),
        (ROWS[..., :16], ROWS[..., :16], None, ValueError, r"key has shape \[3, 2, 4, 16\]"),
        (ROWS, ROWS[:, :, :3], None, ValueError, r"value has shape \[3, 2, 3, 32\]"),
        (ROWS.double(), ROWS.double(), None, TypeError, r"key is torch\.float64"),
        (ROWS, ROWS.half(), None, TypeError, r"value is torch\.float16, key is torch\.float32"),
        (ROWS.to("meta"), ROWS, None, ValueError, "key is on meta"),
        (ROWS, ROWS.to("meta"), None, ValueError, "value is on meta"),
        (ROWS, ROWS.clone().requires_grad_(), None, ValueError, "value requires a gradient"),
        (ROWS, ROWS, 3, TypeError, "sequences is int"),
        (ROWS, ROWS, torch.arange(3), TypeError, "sequences is Tensor"),
        (ROWS, ROWS, [0, 1, 2.0], TypeError, r"sequences has 2\.0"),
        (ROWS, ROWS, [0, 1, True], TypeError, "sequences has True"),
        (ROWS, ROWS, [0, 1, 3], ValueError, "sequence is 3, the cache has 3"),
        (ROWS, ROWS, [0, 1, -1], ValueError, "sequence is -1"),
        (ROWS, ROWS, [0, 2, 0], ValueError, r"sequences is \[0, 2, 0\]"),
        (ROWS, ROWS, None, ValueError, "sequence 1 has 13, and pages for 16"),
        (ROWS[:1], ROWS[:1], [2], ValueError, "sequence 2 has 0, and pages for 0"),
    ],
)
def test_a_bad_append_is_named_and_changes_nothing(k, v, sequences, error, words, device):
    cache = partly_filled_cache(device)
    before = snapshot(cache)
    k, v = (x.to(device) if torch.is_tensor(x) and x.device.type != "meta" else x for x in (k, v))
    with pytest.raises(error, match=words):
        cache.append(k, v, sequences)
    assert bits_equal(snapshot(cache), before)


def partly_filled_cache(device):
    """Sequence 0 has 13 of 32 tokens, sequence 1 has 13 of 16, sequence 2 has no page yet."""
    table = torch.tensor([[3, 1], [0, -1], [-1, -1]])
    cache = KVCache(table, kv_heads=2, head_dim=32, format="nvfp4", page_size=16, pages=7, device=device)
    fill_with_a_pattern(cache)
    cache.host_lengths = [13, 13, 0]
    cache.lengths.copy_(torch.tensor(cache.host_lengths))
    return cache


@pytest.mark.parametrize(
    "sequence, pages, error, words",
    [
        (0, [2], ValueError, "pages has 1 pages, sequence 0 has 2: a row of the page table holds 2"),
        (2, [2, 4, 5], ValueError, "pages has 3 pages, sequence 2 has 0"),
        (2, [7], ValueError, "pages has 7, the cache has 7 pages, from 0"),
        (2, [-1], ValueError, "pages has -1"),
        (2, [2, 3], ValueError, "pages has 3, which is used already"),
        (2, [2, 2], ValueError, "pages has 2, which is used already"),
        (3, [2], ValueError, "sequence is 3"),
        (-1, [2], ValueError, "sequence is -1"),
        ("1", [2], TypeError, "sequence is str"),
        (1, 2, TypeError, "pages is int"),
        (1, [2.0], TypeError, r"pages has 2\.0"),
    ],
)
def test_a_bad_assign_is_named_and_changes_nothing(sequence, pages, error, words, device):
    cache = partly_filled_cache(device)
    before = snapshot(cache)
    with pytest.raises(error, match=words):
        cache.assign(sequence, pages)
    assert bits_equal(snapshot(cache), before)


@pytest.mark.parametrize("sequence, error", [(3, ValueError), (-1, ValueError), (None, TypeError)])
def test_a_bad_gather_is_named(sequence, error, device):
    with pytest.raises(error, match="sequence is"):
        partly_filled_cache(device).gather(sequence)


TABLE = torch.arange(4).view(2, 2)


@pytest.mark.parametrize(
    "table, options, error, words",
    [
        ([[0]], {}, TypeError, "page_table is list"),
        (TABLE.float(), {}, TypeError, r"page_table is torch\.float32"),
        (TABLE[0], {}, ValueError, "page_table has 1 dimensions"),
        (TABLE - 2, {}, ValueError, "page_table has -2"),
        (TABLE - 1, {}, ValueError, "page_table has -1 among the pages of sequence 0"),
        (TABLE % 3, {}, ValueError, "page_table has page 0 twice"),
        (TABLE, {"pages": 3}, ValueError, "page_table has page 3, the cache has 3 pages, from 0"),
        (TABLE, {"pages": 4.0}, TypeError, "pages is float"),
        (TABLE, {"pages": -1}, ValueError, "pages is -1"),
        (TABLE, {"format": "fp4"}, ValueError, "format is 'fp4'"),
        (TABLE, {"format": ["fp8"]}, ValueError, r"format is \['fp8'\]"),
        (TABLE, {"kv_heads": 0}, ValueError, "kv_heads is 0"),
        (TABLE, {"kv_heads": True}, TypeError, "kv_heads is bool"),
        (TABLE, {"head_dim": 40}, ValueError, "head_dim is 40"),
        (TABLE, {"head_dim": 272}, ValueError, "head_dim is 272"),
        (TABLE, {"head_dim": 0}, ValueError, "head_dim is 0"),
        (TABLE, {"page_size": 8}, ValueError, "page_size is 8"),
        (TABLE, {"page_size": 48}, ValueError, "page_size is 48"),
        (TABLE, {"key_scale": 2.0}, ValueError, r"key_scale is 2\.0, format bf16 has none"),
        (TABLE, {"format": "fp8", "key_scale": 0.0}, ValueError, r"key_scale is 0\.0"),
        (TABLE, {"format": "fp8", "value_scale": -1.0}, ValueError, r"value_scale is -1\.0"),
        (TABLE, {"format": "nvfp4", "value_scale": torch.nan}, ValueError, "value_scale is nan"),
        (TABLE, {"format": "nvfp4", "key_scale": 1e38}, ValueError, "key_scale is 1e"),
        (TABLE, {"format": "nvfp4", "key_scale": torch.ones(())}, TypeError, "key_scale is Tensor"),
    ],
)
def test_a_bad_cache_is_named(table, options, error, words):
    with pytest.raises(error, match=words):
        KVCache(table, **({"kv_heads": 1, "head_dim": 16} | options))


def test_rows_that_require_a_gradient_are_taken_where_none_is_recorded(device):
    cache = new_cache(device)
    rows = new_rows(cache, 3, 1).requires_grad_()
    with torch.no_grad():
        cache.append(*rows)
    assert cache.gather(0)[0].equal(rows[0, 0].bfloat16().float())


@pytest.mark.gpu
@pytest.mark.parametrize("format", FORMATS)
def test_nothing_waits_for_the_gpu(format, device):
    cache = new_cache(device, format)
    rows = new_rows(cache, 3, 5)
    cache.append(*rows)  # compiled
    torch.cuda.synchronize()
    torch.cuda.set_sync_debug_mode("error")
    try:
        cache.append(*rows)
        cache.append(*rows.flip(1), [2, 0, 1])
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert cache.lengths.tolist() == [15, 15, 15]


@pytest.mark.gpu
def test_what_the_host_counts_is_not_captured(device):
    cache = new_cache(device, "bf16")
    rows = new_rows(cache, 3, 5)
    cache.append(*rows)
    cache.append(*rows, [0, 1, 2])
    before = snapshot(cache)
    changes = {
        "append with sequences": lambda: cache.append(*rows, [0, 1, 2]),
        "reset": cache.reset,
        "assign": lambda: cache.assign(0, []),
        "advance_host_lengths": lambda: cache.advance_host_lengths(1),
    }
    for name, change in changes.items():
        with torch.cuda.graph(torch.cuda.CUDAGraph()):
            rows[0].neg()  # a graph of nothing would warn
            with pytest.raises(RuntimeError, match=f"{name} cannot be part"):
                change()
    assert bits_equal(snapshot(cache), before)


# Append in a CUDA graph: what is captured counts on the GPU alone, and the host is told.


def append_as_if_captured(cache):
    """An append that takes itself for captured, and runs: what a graph does at each replay."""

    def append(*rows):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(cache, "_is_capturing", lambda: True)
            cache.append(*rows)

    return append


def append_by_graph(cache):
    """On a GPU a graph of one append, whose rows are copied to where it reads them."""

    def append(*rows):
        if append.graph is None:
            append.rows, append.graph = [x.clone() for x in rows], torch.cuda.CUDAGraph()
            with torch.cuda.graph(append.graph):
                cache.append(*append.rows)
        for to, x in zip(append.rows, rows, strict=True):
            to.copy_(x)
        append.graph.replay()

    append.graph = None
    return append


WAYS = pytest.mark.parametrize(
    "make_append", [append_as_if_captured, pytest.param(append_by_graph, marks=pytest.mark.gpu)]
)


@WAYS
@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("new_tokens", [1, 5])
def test_replays_append_as_calls_do(new_tokens, format, make_append, device):
    cache, eager_cache = new_cache(device, format), new_cache(device, format)
    for each in (cache, eager_cache):
        each.append(*new_rows(each, 3, new_tokens).fill_(0.5))  # compiled
    append = make_append(cache)
    for _ in range(3):
        rows = new_rows(cache, 3, new_tokens)
        eager_cache.append(*rows)
        before = list(cache.host_lengths)
        append(*rows)
        assert cache.host_lengths == before
        cache.advance_host_lengths(new_tokens)
        assert cache.host_lengths == eager_cache.host_lengths == cache.lengths.tolist()
    for sequence in range(3):
        for actual, expected in zip(cache.gather(sequence), eager_cache.gather(sequence), strict=True):
            assert actual.equal(expected)


@WAYS
def test_a_replay_too_many_writes_only_where_there_are_pages(make_append, device):
    """Sequence 0 has room for 3 more, in the last column; 1 for 3 more, and columns without page; 2 has no page."""
    table = torch.tensor([[0, 4, 1], [3, -1, -1], [-1, -1, -1]])
    cache = KVCache(table, kv_heads=2, head_dim=32, format="fp16", page_size=16, pages=7, device=device)
    keys = torch.zeros(8, *cache.keys.shape[1:], dtype=torch.float16, device=device)
    cache.keys = keys[1:]  # so that what is written before them shows
    for sequence, length in ((0, 45), (1, 13)):
        cache.append(*torch.ones(2, 1, 2, length, 32, device=device), [sequence])
    before = keys.clone()
    warm = KVCache(table[:2, :1], kv_heads=2, head_dim=32, format="fp16", page_size=16, device=device)
    warm.append(*torch.zeros(2, 2, 2, 5, 32, device=device))  # compiled
    append = make_append(cache)
    for replay in range(2):
        append(*torch.full((2, 3, 2, 5, 32), replay + 2.0, device=device))
        assert cache.lengths.tolist() == [48, 16, 0]
    after = keys.clone()
    for page in (1 + 3, 1 + 1):
        assert after[page, :, 13:].eq(2).all() and after[page, :, :13].eq(1).all()
        after[page, :, 13:] = before[page, :, 13:]
    assert after.equal(before)


def test_the_host_counts_only_what_has_room(device):
    cache = partly_filled_cache(device)
    with pytest.raises(ValueError, match="sequence 1 has 13, and pages for 16: assign it further"):
        cache.advance_host_lengths(4)
    with pytest.raises(TypeError, match="new_tokens is float, an int is wanted"):
        cache.advance_host_lengths(1.0)
    assert cache.host_lengths == [13, 13, 0]
    cache.assign(1, [5])
    cache.assign(2, [6])
    cache.advance_host_lengths(4)
    assert cache.host_lengths == [17, 17, 4]
    assert cache.capacities.tolist() == [32, 32, 16]


def test_after_a_reset_rows_are_written_over(device):
    cache = new_cache(device, "fp16")
    cache.append(*new_rows(cache, 3, 20))
    cache.reset()
    assert cache.lengths.tolist() == cache.host_lengths == [0, 0, 0]
    assert appends_as_specified(cache, *new_rows(cache, 3, 20))


def test_fp8_is_a_product_with_the_reciprocal_and_no_quotient(device):
    """Values beside the middle between two codes, of which a few go to another code if they are divided."""
    scale = torch.tensor(SCALES["key_scale"])
    numbers = torch.arange(1, 0x7E, dtype=torch.uint8).view(torch.float8_e4m3fn).double()
    middle = ((numbers[:-1] + numbers[1:]) / 2 * scale).float().repeat(2)[:240]
    rows = (middle.view(torch.int32) + torch.arange(-8, 9, dtype=torch.int32)[:, None]).view(torch.float32)[None, None]
    product, quotient = (
        quantize(rows, FP8, tensor_scale=scale).codes,
        quantize(rows / scale, FP8, tensor_scale=1.0).codes,
    )
    assert not product.equal(quotient)
    cache = new_cache(device, "fp8", batch=1, kv_heads=1, head_dim=240)
    rows = rows.to(device)
    assert appends_as_specified(cache, rows, rows)


@ON_CPU
@pytest.mark.parametrize("format", FORMATS)
def test_nothing_is_read_beside_the_page_table(format):
    """Where a sequence fills its pages, and there is no other behind it."""
    cache = new_cache(torch.device("cpu"), format, batch=2, kv_heads=1)
    cache.page_table = between_zeros(cache.page_table)
    with recorded_reads() as addresses:
        cache.append(*new_rows(cache, 2, 48))
    assert reads_outside(addresses, cache.page_table) == 0


@pytest.mark.large
@pytest.mark.gpu
def test_pages_and_rows_lie_beyond_2_to_the_31_elements(device):
    pages = 2**31 // (8 * 64 * 128) + 2
    cache = KVCache(torch.tensor([[pages - 1]]), kv_heads=8, head_dim=128, device=device)
    rows = torch.empty(2**31 + 8 * 128, device=device, dtype=torch.bfloat16).normal_()
    rows = rows.as_strided((1, 8, 3, 128), (0, 128, 2**30, 1))
    assert appends_as_specified(cache, rows, rows.flip(1))
