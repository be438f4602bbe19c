"""Sheet 6: steps and places by the kernel's block of keys, a tile of three keys, and what the kernel makes of it."""

from __future__ import annotations

from collections.abc import Iterator
from math import sqrt

import torch

from kernels.bench.cost import mib
from kernels.bench.hardware import H100
from kernels.first.key_blocks import BLOCK_K, key_blocks_attention
from kernels.softmax import safe_softmax
from scripts.chapters.blocks_of_keys.worked import KEYS, QUERY, STRIP_KEYS, STRIP_QUERIES, VALUES, N
from scripts.chapters.demo import DEVICE, percents, table, vector_text
from scripts.chapters.three_matmuls.worked import number_text

SNIPPET = "key_blocks"
BOARD_BLOCK = 2  # keys of a block at the board


def lines() -> Iterator[str]:
    steps = N // BLOCK_K
    yield f"Trays of {BLOCK_K} keys: {N} steps become {steps}, and {steps} · {N} = {steps * N} places."
    yield ""
    counts = [[keys, N // keys, f"{N // keys * N:,}" if keys == 1 else N // keys * N] for keys in (1, BLOCK_K)]
    yield from table(["keys a step", "steps", "places"], *counts)
    yield ""
    query, keys, values = (torch.tensor(rows, dtype=torch.float64, device=DEVICE) for rows in (QUERY, KEYS, VALUES))
    scores = keys @ query / sqrt(len(query))
    rounded_weights = safe_softmax(scores).round(decimals=1)  # as at the board
    rows = []
    for begin in range(0, len(KEYS), BOARD_BLOCK):
        end = begin + BOARD_BLOCK
        block, padding = slice(begin, end), end - len(KEYS)  # padding: how many places have no key
        products = " ".join([*map(vector_text, keys[block] * query), *["-"] * padding])
        masked = torch.nn.functional.pad(scores[block], (0, max(padding, 0)), value=-torch.inf)
        shares = torch.nn.functional.pad(rounded_weights[block], (0, max(padding, 0)))
        cells = [products, scores_text(keys[block] @ query), scores_text(masked), percents(shares)]
        rows.append([begin // BOARD_BLOCK + 1, *cells, vector_text(rounded_weights[block] @ values[block])])
    yield from table(["block", "products", "sums", "÷ √2", "shares", "blend"], *rows)
    q, k, v = (x.float().view(1, 1, -1, x.shape[-1]) for x in (query, keys, values))
    output = key_blocks_attention(q, k, v)[0, 0, 0]
    yield f"the kernel, to whole numbers: {vector_text(output.round())}"
    with_zero = torch.cat([scores, scores.new_zeros(1)])
    total, percent = with_zero.exp().sum(), 100 * safe_softmax(with_zero)[-1]
    yield f"with 0 for -∞: the exponentials add up to {total:.2f}, {percent:.0f} % to nobody"
    strip_bytes, register_bytes = STRIP_QUERIES * STRIP_KEYS * 4, H100["registers per SM"].value
    rows = register_bytes // (STRIP_KEYS * 4)
    yield f"the strip: {mib(strip_bytes):.0f} MiB; registers {register_bytes / 2**10:.0f} KiB, {rows:.0f} rows"


def scores_text(numbers: torch.Tensor) -> str:
    return " ".join(number_text(value) if value > -torch.inf else "-∞" for value in numbers.tolist())
