"""Decode is attention over what its cache holds, within the error budget, however the work is shared out.

What the cache's format does to attention stays within bounds of its own.
"""

import math
from functools import partial
from typing import NamedTuple

import pytest
import torch
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from kernels import decode
from kernels.formats.block import FP8, NVFP4, quantize
from kernels.reference import oracle
from kernels.serving.cache import KVCache
from kernels.serving.decode import decode_attention
from tests.budget import arithmetic, budget_used, torch_results
from tests.kernels.prefilled import prefilled_with_nan
from tests.kernels.wrong_decode import WRONG, WRONG_LSE, in_parts

# Rows that are masked may hold anything; what becomes of them may overflow, and is stored nowhere.
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

GPU = pytest.mark.gpu
FP16, BF16 = torch.float16, torch.bfloat16
FORMATS = {  # of the cache, and the type of the queries
    "fp16": ("fp16", FP16),
    "fp8": ("fp8", FP16),
    "nvfp4": ("nvfp4", FP16),
    "bf16": ("bf16", BF16),
    "fp8, BF16 queries": ("fp8", BF16),
    "nvfp4, BF16 queries": ("nvfp4", BF16),
}
SCHEMES = {"fp8": FP8, "nvfp4": NVFP4}
SCALES = {"key_scale": 0.013, "value_scale": 0.75}  # neither a power of two


def each_format(*here):
    """All of them on a GPU; in the interpreter, which takes long and does not know BF16, those named."""
    formats = [pytest.param(*x, id=name, marks=() if name in here else GPU) for name, x in FORMATS.items()]
    return pytest.mark.parametrize("format, dtype", formats)


class Kernel(NamedTuple):
    attention: object
    head_dim: int
    programs: str  # how many there are says this function


PORTABLE = Kernel(partial(decode_attention, portable=True), 16, "kernels.serving.decode.programs_of")
HOPPER = Kernel(decode_attention, 128, "kernels.serving.decode_hopper.programs_of")


@pytest.fixture(params=["portable", pytest.param("hopper", marks=GPU)])
def kernel(request):
    """Either kernel, with a head_dim that it is for."""
    if request.param == "hopper" and torch.cuda.get_device_capability() != (9, 0):
        pytest.skip("needs a Hopper GPU")
    return PORTABLE if request.param == "portable" else HOPPER


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """Tensors here are small: threads of a CPU would wait for each other longer than they work."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


# Caches.


def new_cache(device, format, lengths, *, kv_heads=1, head_dim=16, page_size=16, rows=None, **options):
    """Sequences of these lengths, of random rows or the given ones, in a random order of pages.

    Everything else, unused rows of a page and pages of nobody, is NaN: codes 0x7F and 0xFF, or whatever a bit gives.
    """
    needed = [-(-length // page_size) for length in lengths]
    pages = torch.randperm(sum(needed) + 2).tolist()
    table = torch.full((len(lengths), max(needed, default=0) + 1), -1)
    for row, count in zip(table, needed, strict=True):
        row[:count] = torch.tensor([pages.pop() for _ in range(count)])
    options = (SCALES if format in SCHEMES else {}) | options
    sizes = {"kv_heads": kv_heads, "head_dim": head_dim, "page_size": page_size, "pages": sum(needed) + 2}
    cache = KVCache(table, format=format, device=device, **sizes, **options)
    fill_with_nan(cache, 0xFF)
    for sequence, length in enumerate(lengths):
        write(cache, sequence, *(random_rows(cache, length) if rows is None else rows[sequence]))
    return cache


def random_rows(cache, length):
    """Keys and values of heads that differ in size, values with a mean: [2, kv_heads, length, head_dim]."""
    k, v = torch.randn(2, cache.kv_heads, length, cache.head_dim, device=cache.device)
    return k, (v + 1) * torch.logspace(-1, 1, cache.kv_heads, device=cache.device)[:, None, None]


def write(cache, sequence, k, v):
    """What ``append`` to an empty sequence does, in PyTorch: quick in a test, and there for long sequences."""
    length = k.shape[1]
    position = torch.arange(length, device=cache.device)
    page, row = cache.page_table[sequence, position // cache.page_size].long(), position % cache.page_size
    for rows, scale, paged, paged_scales in (
        (k, cache.key_scale, cache.keys, cache.key_block_scales),
        (v, cache.value_scale, cache.values, cache.value_block_scales),
    ):
        if cache.format in SCHEMES:
            quantized = quantize(rows, SCHEMES[cache.format], tensor_scale=scale)
            rows = quantized.codes
            if paged_scales is not None:
                paged_scales[page, :, row] = quantized.scales.transpose(0, 1)
        paged[page, :, row] = rows.transpose(0, 1).to(paged.dtype)
    cache.lengths[sequence] = cache.host_lengths[sequence] = length


def paged(cache):
    tensors = (cache.keys, cache.values, cache.key_block_scales, cache.value_block_scales)
    return [x for x in tensors if x is not None]


def fill_with_nan(cache, byte, unused=None):
    """One byte everywhere, or in unused rows: 0xFF, or 0x7F, which is NaN also in FP16, and 3·10³⁸ in BF16."""
    for x in paged(cache):
        as_bytes = x.view(torch.uint8)
        if unused is None:
            as_bytes.fill_(byte)
        else:
            as_bytes.transpose(1, 2)[unused] = byte


def queries(cache, dtype, *, group=2, new=1, size=1.0):
    """Heads that make flat and sharp rows."""
    heads = cache.kv_heads * group
    q = torch.randn(cache.batch, heads, new, cache.head_dim, device=cache.device)
    return (size * q * torch.linspace(0.3, 3, heads, device=cache.device)[:, None, None]).to(dtype)


# The budget.


class Budget:
    """What decode may be off by, for each row of each head of each sequence, by its output and by its lse.

    The truth is FP64 over what ``KVCache.gather`` gives.  The baseline is SDPA in the type of the queries, over the
    codes, which 16 bits hold exactly; for lse it is FP32.
    """

    def __init__(self, q, cache, *, scale=None):
        self.q, self.cache, self.options = q, cache, {"scale": scale}
        scale = q.shape[-1] ** -0.5 if scale is None else scale
        self.expected = [Expected(q[i], cache, i, scale) for i in range(cache.batch)]

    def used(self, attention):
        """How much of it a decode kernel uses, by its output and by its lse: at most 1 passes."""
        with prefilled_with_nan():
            out, lse = attention(self.q, self.cache, return_lse=True, **self.options)
        q = self.q
        assert (out.shape, out.dtype, out.device) == (q.shape, q.dtype, q.device)
        assert (lse.shape, lse.dtype, lse.device) == (q.shape[:-1], torch.float32, q.device)
        each = zip(self.expected, out, lse, strict=True)
        used = [(expected.used_by_out(out), expected.used_by_lse(lse)) for expected, out, lse in each]
        return tuple(map(max, zip((0.0, 0.0), *used, strict=True)))


class Expected:
    """Output and lse of one sequence in FP64, and what ``budget_used`` measures errors by."""

    def __init__(self, q, cache, sequence, scale):
        (heads, new, head_dim), group = q.shape, q.shape[0] // cache.kv_heads
        k, v = (x.double() for x in cache.gather(sequence))
        length = k.shape[1]
        token = torch.arange(new, device=q.device)[:, None]
        mask = torch.arange(length, device=q.device) <= length - new + token  # bottom-right: [new, length]

        def product(left, right):
            """Rows of queries of all heads that share a head of keys, by columns of that head: [heads, new, ...]."""
            left = left.reshape(cache.kv_heads, group * new, left.shape[-1])
            return (left @ right).unflatten(1, (group, new)).flatten(0, 1)

        scores = (product(q.double(), k.mT) * scale).masked_fill(~mask, -torch.inf)
        shares = scores.softmax(-1).masked_fill(~mask, 0)
        self.out = product(shares, v)
        self.size = (product(shares.square(), v.square()) + self.out.square()).amax(-1, keepdim=True).sqrt()
        self.empty = ~mask.any(-1, keepdim=True).expand(heads, new, 1)
        self.lse = scores.logsumexp(-1, keepdim=True)
        in_fp32 = (product(q.float(), k.float().mT) * scale).masked_fill(~mask, -torch.inf)
        self.lse_baseline = in_fp32.logsumexp(-1, keepdim=True)

        # To what FP32 knows a score, as in the budget of the other kernels.
        squares = max(1, head_dim / 8) * scale**2 * product(q.double().square(), k.mT.square())
        squares = (squares + scores.square()).masked_fill(~mask, 0)
        self.rounding = torch.zeros_like(self.size)
        if length:
            self.rounding = torch.finfo(torch.float32).eps * squares.amax(-1, keepdim=True).sqrt()

        self.baselines = []
        if length:
            codes = [(x / s).to(q.dtype)[None] for x, s in ((k, cache.key_scale), (v, cache.value_scale))]
            options = {"scale": scale * cache.key_scale} | ({} if mask.all() else {"key_lengths": length})
            results = torch_results(q[None], *codes, None, mask[None, None], options)
            self.baselines = [(out[0].double() * cache.value_scale).to(q.dtype) for (out,) in results]
        self.arithmetic = arithmetic(length)

    def used_by_out(self, actual):
        rounding = self.size * (self.rounding + self.arithmetic)
        return budget_used(actual, self.baselines, self.out, self.size, rounding)

    def used_by_lse(self, actual):
        """Of an absolute error: a score's rounding, and that of the sum, of exp2 and of the result."""
        actual = actual[..., None]
        if (actual[self.empty] != -torch.inf).any():
            return math.inf
        rounding = self.rounding + torch.finfo(torch.float32).eps * (2 + self.lse.abs())
        actual, baseline, truth, rounding = (
            x.masked_fill(self.empty, 0) for x in (actual, self.lse_baseline, self.lse, rounding)
        )
        return budget_used(actual, baseline, truth, (~self.empty).double(), rounding)


def used(attention, q, cache, **options):
    """The larger share of the budget: of the output's or of the lse's."""
    return max(Budget(q, cache, **options).used(attention))


# Shapes.


@each_format("fp16", "fp8", "nvfp4")
@pytest.mark.parametrize("new", [1, 3])
def test_any_lengths_in_one_batch(new, format, dtype, kernel, device):
    """None, one, one short of a page and of a block, a page, one past it; with new = 3 also fewer keys than tokens."""
    cache = new_cache(device, format, [0, 1, 15, 16, 17, 63, 64, 65, 0, 130, 2], head_dim=kernel.head_dim)
    assert used(kernel.attention, queries(cache, dtype, new=new), cache) <= 1


@each_format("nvfp4")
@pytest.mark.parametrize("page_size", [64, 128, 256])
def test_any_page_size(page_size, format, dtype, kernel, device):
    lengths = [page_size - 1, page_size + 1] if page_size > 64 else [page_size - 1, 0, page_size, page_size + 1, 1]
    cache = new_cache(device, format, lengths, head_dim=kernel.head_dim, page_size=page_size)
    assert used(kernel.attention, queries(cache, dtype, new=2), cache) <= 1


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
    assert used(PORTABLE.attention, queries(cache, FP16), cache) <= 1


@GPU
@each_format()
@pytest.mark.parametrize("head_dim", range(16, 257, 16))
def test_every_head_dim(head_dim, format, dtype, device):
    cache = new_cache(device, format, [70, 3, 1000], head_dim=head_dim, kv_heads=2)
    assert used(decode_attention, queries(cache, dtype, new=2), cache) <= 1


@each_format("nvfp4")
@pytest.mark.parametrize(
    "group, new", [(1, 1), (3, 2), (4, 5), (8, 1), (16, 1), (20, 1), pytest.param(20, 7, marks=GPU)]
)
def test_queries_that_share_keys(group, new, format, dtype, kernel, device):
    """Half a tile of them, a whole one, several, the last of which is not full.  A sequence shorter than ``new``."""
    cache = new_cache(device, format, [2, 66], kv_heads=2, head_dim=kernel.head_dim)
    assert used(kernel.attention, queries(cache, dtype, group=group, new=new), cache) <= 1


@pytest.mark.parametrize("new", [0, 1, 3])
@pytest.mark.parametrize("pages", [0, 4])
def test_no_key_at_all(pages, new, kernel, device):
    """Also of a cache that has no page yet."""
    sizes = {"kv_heads": 1, "head_dim": kernel.head_dim, "pages": pages}
    cache = KVCache(torch.full((2, 3), -1), format="fp8", device=device, **sizes)
    fill_with_nan(cache, 0x7F)
    q = queries(cache, FP16, new=new)
    out, lse = kernel.attention(q, cache, return_lse=True)
    assert out.equal(torch.zeros_like(q)) and lse.equal(torch.full(q.shape[:-1], -torch.inf, device=device))


def test_no_sequence_at_all(kernel, device):
    table, sizes = torch.zeros(0, 0, dtype=torch.int32), {"kv_heads": 2, "head_dim": kernel.head_dim}
    cache = KVCache(table, format="fp16", device=device, **sizes)
    q = queries(cache, FP16)
    out, lse = kernel.attention(q, cache, return_lse=True)
    assert out.shape == q.shape == (0, 4, 1, kernel.head_dim) and lse.shape == (0, 4, 1)
    assert kernel.attention(q, cache).shape == q.shape


@settings(deadline=None, derandomize=True, max_examples=4, phases=[Phase.generate])  # to shrink takes minutes
@given(st.data())
def test_any_shape_whatever(data):
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    size = partial(st.integers, 1)
    lengths = data.draw(st.lists(st.integers(0, 99), min_size=1, max_size=4))
    page_size = data.draw(st.sampled_from([16, 32]))
    sizes = {"kv_heads": data.draw(size(2)), "head_dim": 16 * data.draw(size(3)), "page_size": page_size}
    cache = new_cache(device, data.draw(st.sampled_from(["fp16", "fp8", "nvfp4"])), lengths, **sizes)
    q = queries(cache, FP16, group=data.draw(size(9)), new=data.draw(size(4)))
    assert used(decode_attention, q, cache) <= 1


# Numbers.


@each_format("fp8")
@pytest.mark.parametrize("scale", [-1.5, 0, 1e-46, 1e-3, 2])
def test_any_scale(scale, format, dtype, kernel, device):
    """FP32 cannot tell 1e-46 from 0: all keys count the same."""
    cache = new_cache(device, format, [40, 65, 1], head_dim=kernel.head_dim)
    q = queries(cache, dtype, new=2)
    assert used(kernel.attention, q, cache, scale=scale) <= 1
    if abs(scale) < 1e-45:
        assert kernel.attention(q, cache, scale=scale).equal(kernel.attention(0 * q, cache))


@pytest.mark.parametrize("format", ["fp8", pytest.param("nvfp4", marks=GPU)])
@pytest.mark.parametrize("scales", [(1.0, 1.0), (100.0, 1e-3), (2.0**-20, 1000.0)])
def test_any_tensor_scale(scales, format, kernel, device):
    key_scale, value_scale = scales
    rows = [(key_scale * k, value_scale * v) for k, v in (torch.randn(2, 1, n, kernel.head_dim) for n in (70, 3))]
    rows = [(k.to(device), v.to(device)) for k, v in rows]
    options = {"key_scale": key_scale, "value_scale": value_scale, "rows": rows}
    cache = new_cache(device, format, [70, 3], head_dim=kernel.head_dim, **options)
    assert used(kernel.attention, queries(cache, FP16, size=1 / max(1, key_scale)), cache) <= 1
    if key_scale < 1:  # scores that matter
        assert used(kernel.attention, queries(cache, FP16), cache, scale=0.1 / key_scale) <= 1


SIZES = [(FP16, 1e-4), (FP16, 1e4)] + [pytest.param(BF16, size, marks=GPU) for size in (1e-30, 1e5, 1e30)]


@pytest.mark.parametrize("format", ["fp8", "nvfp4"])
@pytest.mark.parametrize("dtype, size", SIZES, ids=["1e-4", "1e4", "1e-30", "1e5", "1e30"])
def test_queries_of_any_size(dtype, size, format, kernel, device):
    """FP16 subnormals, and BF16 that FP16 does not hold, beside a row of ordinary numbers and one of zeros."""
    cache = new_cache(device, format, [40, 66], head_dim=kernel.head_dim)
    q = queries(cache, torch.float32, group=4, new=2, size=0.2)
    q[:, 0] *= size
    q[:, 1] = 0
    assert used(kernel.attention, q.to(dtype), cache, scale=1 / size) <= 1
    if size > 1:  # one key takes it all
        q = q[:, :1, -1:].to(dtype)
        out, v = kernel.attention(q, cache, scale=1.0), [cache.gather(i)[1][0] for i in range(2)]
        best = [(cache.gather(i)[0][0].double() @ q[i, 0, 0].double()).argmax() for i in range(2)]
        expected = torch.stack([rows[key] for rows, key in zip(v, best, strict=True)])
        torch.testing.assert_close(out[:, 0, 0].float(), expected, rtol=torch.finfo(dtype).eps, atol=0)


NOT_FINITE = [("fp16", FP16, torch.nan), ("fp16", FP16, torch.inf), ("fp8", FP16, torch.nan)]
NOT_FINITE += [pytest.param("bf16", BF16, number, marks=GPU) for number in (torch.nan, torch.inf)]


@pytest.mark.parametrize("format, dtype, number", NOT_FINITE)
@pytest.mark.parametrize("place", [5, 69], ids=["an old key", "the newest key"])
@pytest.mark.parametrize("which", [0, 1], ids=["key", "value"])
def test_what_is_not_finite_goes_where_it_should(which, place, format, dtype, number, kernel, device):
    """To the rows to which the FP64 reference takes it, and to no other head or sequence."""
    rows = [torch.randn(2, 2, n, kernel.head_dim, device=device) / 4 for n in (40, 70)]
    cache = new_cache(device, format, [40, 70], kv_heads=2, head_dim=kernel.head_dim, rows=rows)
    q = queries(cache, dtype, group=1, new=2)
    before = kernel.attention(q, cache)
    rows[1][which, 0, place, 3] = number
    write(cache, 1, *rows[1])
    out, expected = kernel.attention(q, cache), torch.stack([x.out for x in Budget(q, cache).expected])
    assert out.isnan().equal(expected.isnan()) and out.isinf().equal(expected.isinf())
    assert not out[1, 0].equal(before[1, 0])
    assert out[0].equal(before[0]) and out[1, 1].equal(before[1, 1])


def test_a_query_that_is_not_finite_spoils_its_own_row_alone(kernel, device):
    cache = new_cache(device, "fp8", [40, 70], head_dim=kernel.head_dim)
    q = queries(cache, FP16, group=3, new=2)
    expected = kernel.attention(q, cache)
    q[1, 0, 0, 3], q[0, 2, 1, 4] = torch.nan, torch.inf
    out = kernel.attention(q, cache)
    spoiled = torch.zeros(2, 3, 2, dtype=torch.bool, device=device)
    spoiled[1, 0, 0] = spoiled[0, 2, 1] = True
    assert out[spoiled].isnan().all() and out[~spoiled].equal(expected[~spoiled])


@each_format("fp16", "fp8", "nvfp4")
def test_what_is_not_used_does_not_matter(format, dtype, kernel, device):
    """Not a bit of it: rows past the length, pages of nobody."""
    cache = new_cache(device, format, [17, 70], kv_heads=2, head_dim=kernel.head_dim)
    q = queries(cache, dtype, group=1, new=2)
    unused = torch.ones(cache.pages, cache.page_size, dtype=torch.bool)
    for pages, length in zip(cache.host_pages, cache.host_lengths, strict=True):
        for position in range(length):
            unused[pages[position // cache.page_size], position % cache.page_size] = False
    results = []
    for byte in (0x00, 0x7F, 0xFF):
        fill_with_nan(cache, byte, unused.to(device))
        with prefilled_with_nan():
            results.append(kernel.attention(q, cache, return_lse=True))
    for out, lse in results:
        assert out.equal(results[0][0]) and lse.equal(results[0][1])


def test_strides_of_queries_change_nothing(kernel, device):
    cache = new_cache(device, "fp16", [40, 3], head_dim=kernel.head_dim)
    q = queries(cache, FP16, group=3, new=2)
    strided = q.permute(3, 2, 1, 0).contiguous().permute(3, 2, 1, 0)
    assert kernel.attention(strided, cache).equal(kernel.attention(q, cache))


# How the work is shared out.


@each_format("nvfp4")
@pytest.mark.parametrize("programs", [1, 2, 5, 17, 100])
def test_any_number_of_programs(programs, format, dtype, kernel, monkeypatch, device):
    """One that has it all; parts of a sequence in several, the end of one and the begin of another in one; none."""
    monkeypatch.setattr(kernel.programs, lambda *_: programs)
    cache = new_cache(device, format, [300, 0, 1, 190, 130], head_dim=kernel.head_dim)
    q = queries(cache, dtype, new=3)
    assert used(kernel.attention, q, cache) <= 1


def test_many_sequences(kernel, monkeypatch, device):
    """So many that the merge reads fewer parts at a time."""
    monkeypatch.setattr(kernel.programs, lambda *_: 7)
    cache = new_cache(device, "fp16", [64, 320] + 126 * [0], head_dim=kernel.head_dim)
    assert used(kernel.attention, queries(cache, FP16, group=1), cache) <= 1


def test_one_tile_of_queries_is_split_and_its_neighbour_is_not(kernel, monkeypatch, device):
    monkeypatch.setattr(kernel.programs, lambda *_: 2)
    cache = new_cache(device, "fp16", [64, 192], head_dim=kernel.head_dim)
    assert used(kernel.attention, queries(cache, FP16, group=20), cache) <= 1


@pytest.mark.parametrize("length", [4096, pytest.param(60000, marks=GPU)])
def test_one_program_sums_up_many_keys(length, kernel, monkeypatch, device):
    """In FP32: an accumulator that is rounded to 16 bits after each block is off by too much."""
    monkeypatch.setattr(kernel.programs, lambda *_: 1)
    cache = new_cache(device, "fp16", [length], head_dim=kernel.head_dim, page_size=256)
    assert used(kernel.attention, queries(cache, FP16), cache) <= 1


def test_parts_of_rows_that_see_nothing(kernel, monkeypatch, device):
    """More queries than keys, and the keys split: what is merged is nothing, twice."""
    monkeypatch.setattr(kernel.programs, lambda *_: 10)
    cache = new_cache(device, "fp16", [66], head_dim=kernel.head_dim)
    assert used(kernel.attention, queries(cache, FP16, group=1, new=70), cache) <= 1


def test_many_parts_of_one_sequence(kernel, monkeypatch, device):
    """More than the merge reads at a time."""
    monkeypatch.setattr(kernel.programs, lambda *_: 40)
    cache = new_cache(device, "fp16", [40 * 64 - 3], head_dim=kernel.head_dim, page_size=256)
    assert used(kernel.attention, queries(cache, FP16, group=3, new=2), cache) <= 1


@each_format("fp8")
def test_the_same_again_bit_for_bit(format, dtype, kernel, device):
    cache = new_cache(device, format, [130, 7], head_dim=kernel.head_dim)
    q = queries(cache, dtype)
    first, second = (kernel.attention(q, cache, return_lse=True) for _ in range(2))
    assert first[0].equal(second[0]) and first[1].equal(second[1])
    assert kernel.attention(q, cache).equal(first[0])


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
    for group, new in cases:
        budget = Budget(queries(cache, dtype, group=group, new=new), cache)
        assert max(budget.used(PORTABLE.attention)) <= 1
        assert max(budget.used(HOPPER.attention)) <= 1


@GPU
@pytest.mark.parametrize("format, head_dim", [("bf16", 64), ("fp16", 128), ("fp8", 256), ("nvfp4", 128)])
def test_a_hopper_gpu_takes_its_own_kernel(format, head_dim, monkeypatch, device):
    """Only there, only for these head dimensions, and not if told otherwise."""
    if torch.cuda.get_device_capability() != (9, 0):
        pytest.skip("needs a Hopper GPU")
    from kernels import decode_hopper

    taken = []
    right = decode_hopper.decode_parts
    monkeypatch.setattr(decode_hopper, "decode_parts", lambda *x: [taken.append(x), right(*x)])
    for size, portable, times in ((head_dim, False, 1), (head_dim, True, 0), (80, False, 0)):
        taken.clear()
        cache = new_cache(device, format, [70], head_dim=size, page_size=64)
        decode_attention(queries(cache, BF16 if format == "bf16" else FP16), cache, portable=portable)
        assert len(taken) == times


@GPU
@each_format()
def test_one_batch_from_1_to_131072_keys(format, dtype, kernel, device):
    lengths = [131072, 1, 0, 4096, 131071, 65, 33333]
    cache = new_cache(device, format, lengths, kv_heads=2, head_dim=kernel.head_dim, page_size=64)
    assert used(kernel.attention, queries(cache, dtype, group=4, new=2), cache) <= 1


@GPU
@each_format()
@pytest.mark.parametrize("sequences, length", [(1, 20000), (37, 700)])
def test_all_of_the_gpu_the_same_again_bit_for_bit(sequences, length, format, dtype, kernel, device):
    """Twenty times: what one program reads before another has written it differs now and then."""
    lengths = [length - i % 5 * 13 for i in range(sequences)]
    cache = new_cache(device, format, lengths, kv_heads=8, head_dim=kernel.head_dim, page_size=64)
    budget = Budget(queries(cache, dtype, group=4), cache)
    assert max(budget.used(kernel.attention)) <= 1
    first = kernel.attention(budget.q, cache, return_lse=True)
    for _ in range(20):
        with prefilled_with_nan():
            again = kernel.attention(budget.q, cache, return_lse=True)
        assert again[0].equal(first[0]) and again[1].equal(first[1])


@GPU
@each_format()
def test_more_sequences_than_programs(format, dtype, kernel, device):
    """So that some are merged and some are not, in one launch; and 150 sequences are no power of two."""
    lengths = [0, 1, 16, 17, 64, 65, 100, 128, 129, 150] * 15
    cache = new_cache(device, format, lengths, kv_heads=3, head_dim=kernel.head_dim)
    assert used(kernel.attention, queries(cache, dtype, group=3, new=2), cache) <= 1


@GPU
@each_format()
def test_a_captured_graph_sees_the_cache_grow(format, dtype, kernel, device):
    """Lengths and page table are read as it is replayed: from no key at all, across pages."""
    table = torch.randperm(36).view(3, 12)
    options = SCALES if format in SCHEMES else {}
    cache = KVCache(table, kv_heads=2, head_dim=kernel.head_dim, page_size=16, format=format, device=device, **options)
    fill_with_nan(cache, 0xFF)
    q = queries(cache, dtype, group=4, new=2)
    kernel.attention(q, cache)  # compiled
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = kernel.attention(q, cache, return_lse=True)

    def replayed(q, cache, **_):
        for x in result:
            x.fill_(torch.nan)
        graph.replay()
        return tuple(x.clone() for x in result)

    for new, sequences in ((0, None), (1, [2]), (2, None), (14, [0, 2]), (47, None), (1, None), (100, [1])):
        k, v = torch.randn(2, 3 if sequences is None else len(sequences), 2, new, kernel.head_dim, device=device)
        cache.append(k, v, sequences)
        q.copy_(queries(cache, dtype, group=4, new=2))
        assert used(replayed, q, cache) <= 1
    assert cache.host_lengths == [64, 150, 65]


@GPU
@each_format()
def test_what_comes_next_waits_also_where_nothing_is_merged(format, dtype, kernel, device):
    """No sequence is longer than a tile: the kernel that merges has nothing to do, and must not end first."""
    lengths = [100 + i % 28 for i in range(64)]
    caches = [new_cache(device, format, lengths, kv_heads=8, head_dim=kernel.head_dim, page_size=128) for _ in "ab"]
    q = [queries(cache, dtype, group=4) for cache in caches]
    expected = [kernel.attention(*x) for x in zip(q, caches, strict=True)]
    copied = [torch.empty_like(x) for x in expected]
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for x, cache, copy in zip(q, caches, copied, strict=True):
            out = kernel.attention(x, cache)
            copy.copy_(out)
            out.fill_(torch.nan)
            del out  # the next one may take its place
    for _ in range(20):
        for copy in copied:
            copy.fill_(torch.nan)
        graph.replay()
        assert all(copy.equal(wanted) for copy, wanted in zip(copied, expected, strict=True))


@GPU
@each_format()
def test_nothing_waits_for_the_gpu(format, dtype, kernel, device):
    cache = new_cache(device, format, [40, 3], head_dim=kernel.head_dim)
    q = queries(cache, dtype)
    expected = kernel.attention(q, cache)  # compiled
    torch.cuda.synchronize()
    torch.cuda.set_sync_debug_mode("error")
    try:
        out = kernel.attention(q, cache)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert out.equal(expected)


@GPU
def test_another_stream(kernel, device):
    cache = new_cache(device, "fp16", [4000, 3], head_dim=kernel.head_dim)
    q = queries(cache, FP16)
    expected = kernel.attention(q, cache)
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        out = kernel.attention(q, cache)
    stream.synchronize()
    assert out.equal(expected)


@GPU
@pytest.mark.parametrize("format", ["fp8", "nvfp4"])
def test_pages_lie_beyond_2_to_the_31_bytes(format, kernel, device):
    head_dim, row = 128, 128 if format == "fp8" else 64
    pages = 2**31 // (8 * 64 * row) + 3
    table = torch.tensor([[0, pages - 1], [pages - 2, pages - 3]])
    cache = KVCache(table, kv_heads=8, head_dim=head_dim, format=format, device=device, **SCALES)
    for sequence, length in enumerate((70, 128)):
        write(cache, sequence, *random_rows(cache, length))
    assert used(kernel.attention, queries(cache, FP16, group=2), cache) <= 1


@GPU
@pytest.mark.parametrize("format", ["fp8", "nvfp4"])
def test_decode_reads_what_append_wrote(format, kernel, device):
    """A prompt, then a token at a time."""
    sizes = {"kv_heads": 2, "head_dim": kernel.head_dim}
    cache = KVCache(torch.randperm(20).view(2, 10), format=format, device=device, **sizes, **SCALES)
    for new in (60, 1, 1, 1, 1, 1, 70):
        cache.append(*torch.randn(2, 2, 2, new, kernel.head_dim, device=device))
        assert used(kernel.attention, queries(cache, BF16, new=min(new, 4)), cache) <= 1


# What the format of a cache does to attention.


def gaussian(k, v):
    return k, v


def outlier_channels(k, v):
    """Three dimensions of the keys and one of the values are 8 times as large."""
    k, v = k.clone(), v.clone()
    k[..., PLACES] *= 8
    v[..., 5] *= 8
    return k, v


def constant_channels(k, v):
    """Three dimensions in which all keys are alike, but for what tells them apart."""
    k = k.clone()
    k[..., PLACES] += 30
    return k, v


def mean_subtracted(k, v):
    k, v = constant_channels(k, v)
    return k - k.mean(-2, keepdim=True), v


PLACES = [3, 17, 40]  # each in a block of its own
# From, to.  E4M3 is off by 2.6 % of Gaussian numbers and NVFP4 by 9.5 %, root mean square: so are the values, and as
# much again comes from the keys, by way of the scores: 3.7 % and 13.4 %.
BOUNDS = {
    ("fp8", gaussian): (0.03, 0.05),
    ("nvfp4", gaussian): (0.11, 0.19),
    ("fp8", outlier_channels): (0.05, 0.16),
    ("nvfp4", outlier_channels): (0.12, 0.33),
    ("fp8", constant_channels): (0.1, 0.2),
    ("nvfp4", constant_channels): (0.4, 0.8),
    ("fp8", mean_subtracted): (0.03, 0.05),
    ("nvfp4", mean_subtracted): (0.11, 0.19),
}


def error_of_format(format, data, device, *, attention=decode_attention, **factors):
    """|error| / |output|, root mean squares of all rows: decode over a cache, beside FP64 over what went into it.

    factors: what its scales are multiplied by once it is filled
    """
    q, k, v = torch.randn(1, 16, 1, 64).half(), *torch.randn(2, 1, 1, 256, 64)
    q, k, v = (x.to(device) for x in (q, *data(k, v)))
    key_scale, value_scale = (quantize(x, SCHEMES[format]).tensor_scale.item() for x in (k, v))
    options = {"key_scale": key_scale, "value_scale": value_scale, "head_dim": 64, "page_size": 64}
    cache = new_cache(device, format, [256], rows=[(k[0], v[0])], **options)
    for name, factor in factors.items():
        setattr(cache, name, factor * getattr(cache, name))
    exact = oracle(q.double(), k.double(), v.double(), enable_gqa=True)
    return ((attention(q, cache).double() - exact).norm() / exact.norm()).item()


@pytest.mark.parametrize("format, data", BOUNDS)
def test_the_error_of_a_format(format, data, kernel, device):
    least, most = BOUNDS[format, data]
    assert least < error_of_format(format, data, device, attention=kernel.attention) < most


@pytest.mark.parametrize("data", [gaussian, outlier_channels, mean_subtracted])
@pytest.mark.parametrize("format", ["fp8", "nvfp4"])
@pytest.mark.parametrize("factor", [0.5, 1.5])
@pytest.mark.parametrize("name", ["key_scale", "value_scale"])
def test_a_wrong_scale_is_out_of_bounds(name, factor, format, data, device):
    assert error_of_format(format, data, device, attention=in_parts, **{name: factor}) > BOUNDS[format, data][1]


@pytest.mark.parametrize("format", ["fp8", "nvfp4"])
def test_keys_without_their_mean_lose_less_and_mean_the_same(format, device):
    q, k, v = torch.randn(1, 4, 1, 64).double(), *torch.randn(2, 1, 4, 256, 64)
    of_both = [oracle(q, *data(k.double(), v.double())) for data in (constant_channels, mean_subtracted)]
    torch.testing.assert_close(*of_both, rtol=0, atol=1e-10)
    with_mean, without = (
        error_of_format(format, data, device, attention=in_parts) for data in (constant_channels, mean_subtracted)
    )
    assert without < with_mean / 2.5


# What is rejected.

CASES = {
    "fp16": ("fp16", FP16, [0, 1, 16, 70, 150], {}),
    "one-hot rows": ("fp16", FP16, [40, 70], {"scale": 10.0}),
    "many keys": ("fp16", FP16, [1000], {}),
    "fp8": ("fp8", FP16, [0, 1, 16, 70, 150], {}),
    "nvfp4": ("nvfp4", FP16, [0, 1, 16, 70, 150], {}),
    "queries beyond FP16": ("fp8", BF16, [70, 2], {"size": 1e6, "scale": 2e-7}),
}


@pytest.fixture(scope="module")
def budgets():
    """The budget of each case."""
    torch.manual_seed(0)
    device, head_dim = ("cuda", HOPPER.head_dim) if torch.cuda.is_available() else ("cpu", 32)
    budgets = {}
    for name, (format, dtype, lengths, options) in CASES.items():
        cache = new_cache(device, format, lengths, kv_heads=2, head_dim=head_dim)
        q = queries(cache, dtype, group=3, new=3, size=options.get("size", 1.0))
        budgets[name] = Budget(q, cache, scale=options.get("scale"))
    return budgets


@pytest.mark.parametrize("name", CASES)
def test_a_right_kernel_is_accepted(name, kernel, budgets):
    assert max(budgets[name].used(in_parts)) <= 1
    if CASES[name][1] == FP16 or torch.cuda.is_available():
        assert max(budgets[name].used(kernel.attention)) <= 1


@pytest.mark.parametrize("mistake", WRONG)
def test_a_wrong_output_is_rejected(mistake, budgets):
    assert any(budget.used(WRONG[mistake])[0] > 1 for budget in budgets.values())


@pytest.mark.parametrize("mistake", WRONG_LSE)
def test_a_wrong_lse_is_rejected(mistake, budgets):
    assert any(budget.used(WRONG_LSE[mistake])[1] > 1 for budget in budgets.values())


# Refused.

CACHE = {"kv_heads": 2, "head_dim": 32, "format": "fp8"}
QUERY = torch.zeros(2, 4, 1, 32, dtype=FP16)


@pytest.mark.parametrize(
    "q, options, error, words",
    [
        ([1.0], {}, TypeError, "query is list, a tensor is wanted"),
        (QUERY[0], {}, ValueError, r"query has 3 dimensions, \[batch, heads, new, head_dim\] is wanted"),
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

    for name in ("decode_parts", "merge", "is_for_hopper", "programs_of"):
        monkeypatch.setattr(decode, name, refuse)


def test_a_query_that_requires_a_gradient_is_taken_where_none_is_recorded(device):
    cache = new_cache(device, "fp8", [3])
    q = queries(cache, FP16)
    with torch.no_grad():
        assert decode_attention(q.clone().requires_grad_(), cache).equal(decode_attention(q, cache))
