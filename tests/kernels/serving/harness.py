"""What the tests of decode share: caches full of NaN but for what was written, queries, and the error budget."""

import math
from functools import partial
from typing import NamedTuple

import pytest
import torch

from kernels.formats.block import FP8, NVFP4, quantize
from kernels.serving.cache import KVCache
from kernels.serving.decode import decode_attention
from tests.kernels.error_budget import arithmetic, budget_used, torch_results
from tests.kernels.prefilled import prefilled_with_nan

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


def all_formats(interpreted=()):
    """All formats on a GPU.  Without one the slow interpreter, which knows no BF16, runs those named here."""
    formats = [pytest.param(*x, id=name, marks=() if name in interpreted else GPU) for name, x in FORMATS.items()]
    return pytest.mark.parametrize("format, dtype", formats)


class Decoder(NamedTuple):
    attention: object
    head_dim: int
    patch_target: str  # of the function that says how many programs to launch; tests patch it


PORTABLE = Decoder(partial(decode_attention, portable=True), 16, "kernels.serving.decode.program_count")
HOPPER = Decoder(decode_attention, 128, "kernels.serving.decode.hopper_program_count")


# Caches.


def new_cache(device, format, lengths, *, kv_heads=1, head_dim=16, page_size=16, rows=None, **options):
    """Sequences of these lengths, of random rows or the given ones, in a random order of pages.

    Everything else, unused rows of a page and pages of nobody, is NaN: codes 0x7F and 0xFF, or whatever a bit gives.
    """
    page_counts = [-(-length // page_size) for length in lengths]
    pages = torch.randperm(sum(page_counts) + 2).tolist()
    table = torch.full((len(lengths), max(page_counts, default=0) + 1), -1)
    for row, count in zip(table, page_counts, strict=True):
        row[:count] = torch.tensor([pages.pop() for _ in range(count)])
    options = (SCALES if format in SCHEMES else {}) | options
    sizes = {"kv_heads": kv_heads, "head_dim": head_dim, "page_size": page_size, "pages": sum(page_counts) + 2}
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


def queries(cache, dtype, *, group=2, new_tokens=1, size=1.0):
    """Heads that make flat and sharp rows."""
    heads = cache.kv_heads * group
    q = torch.randn(cache.batch, heads, new_tokens, cache.head_dim, device=cache.device)
    return (size * q * torch.linspace(0.3, 3, heads, device=cache.device)[:, None, None]).to(dtype)


# The budget.


class Budget:
    """What decode may be off by, for all rows that share a head of keys, by its output and by its lse.

    The truth is FP64 over what ``KVCache.gather`` gives.  The baseline is SDPA in the type of the queries, over the
    codes, which 16 bits hold exactly; for lse it is FP32.
    """

    def __init__(self, q, cache, *, scale=None):
        self.q, self.cache, self.options = q, cache, {"scale": scale}
        scale = q.shape[-1] ** -0.5 if scale is None else scale
        self.expected = [Expected(q[i], cache, i, scale) for i in range(cache.batch)]

    def fractions_used(self, attention):
        """What fraction of it a decode kernel uses, by its output and by its lse: at most 1 passes."""
        with prefilled_with_nan():
            out, lse = attention(self.q, self.cache, return_lse=True, **self.options)
        q = self.q
        assert (out.shape, out.dtype, out.device) == (q.shape, q.dtype, q.device)
        assert (lse.shape, lse.dtype, lse.device) == (q.shape[:-1], torch.float32, q.device)
        rows = zip(self.expected, out, lse, strict=True)
        fractions = [(expected.out_budget_used(out), expected.lse_budget_used(lse)) for expected, out, lse in rows]
        return tuple(map(max, zip((0.0, 0.0), *fractions, strict=True)))


class Expected:
    """Output and lse of one sequence in FP64, and what ``budget_used`` measures errors by."""

    def __init__(self, q, cache, sequence, scale):
        (heads, new_tokens, head_dim), group = q.shape, q.shape[0] // cache.kv_heads
        k, v = (x.double() for x in cache.gather(sequence))
        length = k.shape[1]
        token = torch.arange(new_tokens, device=q.device)[:, None]
        # Bottom-right: [new_tokens, length].
        mask = torch.arange(length, device=q.device) <= length - new_tokens + token

        def product(left, right):
            """Rows of queries of all heads that share a key head, by columns of that head: [heads, new_tokens, ...]."""
            left = left.reshape(cache.kv_heads, group * new_tokens, left.shape[-1])
            return (left @ right).unflatten(1, (group, new_tokens)).flatten(0, 1)

        scores = (product(q.double(), k.mT) * scale).masked_fill(~mask, -torch.inf)
        shares = scores.softmax(-1).masked_fill(~mask, 0)
        self.out = product(shares, v)
        self.size = (product(shares.square(), v.square()) + self.out.square()).amax(-1, keepdim=True).sqrt()
        self.empty = ~mask.any(-1, keepdim=True).expand(heads, new_tokens, 1)
        self.lse = scores.logsumexp(-1, keepdim=True)
        fp32_scores = (product(q.float(), k.float().mT) * scale).masked_fill(~mask, -torch.inf)
        self.lse_baseline = fp32_scores.logsumexp(-1, keepdim=True)

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

    def out_budget_used(self, actual):
        rounding = self.size * (self.rounding + self.arithmetic)
        return budget_used(actual, self.baselines, self.out, self.size, rounding)

    def lse_budget_used(self, actual):
        """Of an absolute error: a score's rounding, and that of the sum, of exp2 and of the result."""
        actual = actual[..., None]
        if (actual[self.empty] != -torch.inf).any():
            return math.inf
        rounding = self.rounding + torch.finfo(torch.float32).eps * (2 + self.lse.abs())
        actual, baseline, truth, rounding = (
            x.masked_fill(self.empty, 0) for x in (actual, self.lse_baseline, self.lse, rounding)
        )
        return budget_used(actual, baseline, truth, (~self.empty).double(), rounding)


def decode_budget_used(attention, q, cache, **options):
    """What fraction of the budget is used, by the output or by the lse."""
    return max(Budget(q, cache, **options).fractions_used(attention))
