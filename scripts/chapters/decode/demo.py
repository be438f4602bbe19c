"""Sheet 11: four cached tokens read by two programs and merged, a page table, and the cache of a long text."""

from __future__ import annotations

from collections.abc import Iterator
from math import log

import torch

from kernels.bench.hardware import H100
from kernels.flash.partial import merge
from kernels.reference import attention
from kernels.serving.cache import KVCache
from kernels.serving.decode import decode_attention
from kernels.softmax import OnlineSoftmax
from scripts.chapters.decode.worked import (
    HEAD_DIM,
    KEYS,
    KV_HEADS,
    LAYERS,
    LONG_TOKENS,
    PAGE_TABLE,
    PAGE_TOKENS,
    PAGES,
    QUERY,
    TOKENS,
    VALUES,
)
from scripts.chapters.demo import DEVICE, number_text, table, vector_text

SNIPPET = "decode"
SCALE = log(2)  # powers of 2
MIN_HEAD_DIM = 16  # the fewest numbers that a row of the cache has: ours are 2, and the others 0


def lines() -> Iterator[str]:
    query, keys, values = (torch.tensor(rows, dtype=torch.float32) for rows in ([QUERY], KEYS, VALUES))
    parts = [slice(0, 2), slice(2, 4)]
    partials = [attend_part(query, keys[part], values[part]) for part in parts]
    out, _ = merge(*partials[0], *partials[1])
    states = [OnlineSoftmax.empty().update(keys[part] @ query[0] * SCALE) for part in parts]
    merged = states[0].merge(states[1])
    sums = [(state.running_sum * (state.running_max - merged.running_max).exp()).item() for state in states]
    weighted_text = " + ".join(
        f"{round(3 * each / sum(sums))}/3 · {in_fp16(output)}" for each, (output, _) in zip(sums, partials, strict=True)
    )
    yield f"Two programs, one answer: {weighted_text} = {in_fp16(out)}."
    yield ""
    rows = [
        [number, *state_cells(state, keys[part] @ query[0], values[part]), in_fp16(partials[number][0])]
        for number, (state, part) in enumerate(zip(states, parts, strict=True))
    ]
    yield from table(["program", "scores", "max", "sum", "blend", "output"], *rows)
    yield f"at maximum {merged.running_max / SCALE:g}: {' to '.join(map(number_text, sums))}"
    yield f"all four at once, by the kernel: {in_fp16(attend_part(query, keys, values)[0])}"
    yield f"is_causal: {vector_text(attention(query, keys, values, scale=SCALE, is_causal=True)[0])}"
    yield ""
    page, row = page_and_row_of(5)
    yield f"{TOKENS} tokens, table {', '.join(map(str, PAGE_TABLE))}: token 5 in page {page}, row {row}"
    cache = KVCache(torch.arange(1)[None], kv_heads=KV_HEADS, head_dim=HEAD_DIM, format="bf16")
    token = LAYERS * cache.bytes_per_token
    yield f"Llama 3 8B: {token / 2**10:.0f} KiB a token, 8192 tokens {8192 * token / 2**30:.0f} GiB"
    seconds = LONG_TOKENS * token / H100["hbm bandwidth"].value
    yield (
        f"{LONG_TOKENS:,} tokens {LONG_TOKENS * token / 2**30:.0f} GiB = {LONG_TOKENS * token / 1e9:.1f} GB, "
        f"{1e3 * seconds:.2f} ms a step of an H100, at least"
    )


def attend_part(query: torch.Tensor, keys: torch.Tensor, values: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """What the kernel finds in these tokens, from a cache of their own: an output and its lse."""
    q, k, v = (torch.nn.functional.pad(x, (0, MIN_HEAD_DIM - x.shape[-1])) for x in (query, keys, values))
    q, k, v = (x.half()[None, None].to(DEVICE) for x in (q, k, v))
    cache = KVCache(torch.arange(1)[None], kv_heads=1, head_dim=MIN_HEAD_DIM, format="fp16", device=DEVICE)
    cache.append(k, v)
    out, lse = decode_attention(q, cache, scale=SCALE, return_lse=True)
    return out[..., : query.shape[-1]].float().cpu(), lse.cpu()


def in_fp16(output: torch.Tensor) -> str:
    """In FP16 the last digit is not sure."""
    return vector_text(output.flatten(), ".3g")


def state_cells(state: OnlineSoftmax, scores: torch.Tensor, values: torch.Tensor) -> list[str]:
    terms = (scores * SCALE - state.running_max).exp()
    top, total = number_text(state.running_max / SCALE), number_text(state.running_sum)
    return [", ".join(map(number_text, scores)), top, total, vector_text(terms @ values)]


def page_and_row_of(token: int) -> tuple[int, int]:
    """Page and row in which a cache with the board's table puts a token."""
    row_of_pages = torch.tensor([PAGE_TABLE], device=DEVICE)
    cache = KVCache(row_of_pages, kv_heads=1, head_dim=MIN_HEAD_DIM, format="fp16", page_size=PAGE_TOKENS, pages=PAGES)
    marks = torch.arange(TOKENS, device=DEVICE).half()[None, None, :, None].expand(1, 1, -1, MIN_HEAD_DIM)
    cache.append(marks, marks)
    page, _, row, _ = (cache.keys == token).nonzero()[0].tolist()
    return page, row
