"""Sheet 12: four words on two boards, a gradient that goes home, and what travels between GPUs."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import log

import torch

from kernels.bench.parallel.cost import decode_bytes, min_tokens_to_overlap, pairs_of, sent_bytes
from kernels.flash.partial import merge
from kernels.parallel.local import attend, gradients
from kernels.reference import attention
from scripts.chapters.demo import table, vector_text
from scripts.chapters.many_gpus.board import (
    FLOP_PER_SECOND,
    HEAD_DIM,
    HEADS,
    KEYS,
    LINK_BANDWIDTH,
    NETWORK_BANDWIDTH,
    PART,
    QUERIES,
    VALUES,
)

SNIPPET = "two_boards"
SCALE = log(2)  # powers of 2
SCHEMES = {"ring": "ring", "all_gather": "all-gather", "all_to_all": "all-to-all"}
WORDS_OF_BOARDS = (slice(0, 2), slice(2, 4))  # the words of each board


def lines() -> Iterator[str]:
    q, k, v = (torch.tensor(rows, dtype=torch.float64)[None, None] for rows in (QUERIES, KEYS, VALUES))
    parts = [attend(q, k[:, :, half], v[:, :, half], is_causal=False, scale=SCALE) for half in WORDS_OF_BOARDS]
    out, lse = merge(*parts[0], *parts[1])
    single = attention(q, k, v, scale=SCALE)
    yield f"Two boards find what one GPU finds: {', '.join(vector_text(row) for row in out[0, 0])}."
    yield ""
    sums = [(2 ** (part / SCALE))[0, 0].tolist() for _, part in parts]
    rows = []
    for word, (one, other) in enumerate(zip(*sums, strict=True)):
        shares = " and ".join(str(Fraction(each / (one + other)).limit_denominator(99)) for each in (one, other))
        rows.append(
            [
                word + 1,
                f"{one:.4g}",
                f"{other:.4g}",
                shares,
                vector_text(out[0, 0, word]),
                vector_text(single[0, 0, word]),
            ]
        )
    yield from table(["word", "sum 1", "sum 2", "shares", "merged", "alone"], *rows)
    for order in ("contiguous", "zigzag"):
        counts = [pairs_of(rank, 2, 2, True, order) for rank in range(2)]
        yield f"causal pairs, {order}: {' and '.join(map(str, counts))}"
    grads = [gradient(q, k, v, out, lse, half) for half in WORDS_OF_BOARDS]
    wrong_grads = [gradient(q, k, v, *parts[0], half) for half in WORDS_OF_BOARDS]
    yield (
        f"value 1's gradient: {grads[0]:.3f} + {grads[1]:.3f} = {sum(grads):.3f}; "
        f"by the lse of a part {sum(wrong_grads):.2f}, wrong"
    )
    yield ", ".join(f"{name} {sent_bytes(scheme, 8, PART) / 1e6:.0f} MB" for scheme, name in SCHEMES.items())
    for name, bandwidth in (("hidden from", LINK_BANDWIDTH), ("over the network from", NETWORK_BANDWIDTH)):
        full, causal = (min_tokens_to_overlap(PART, FLOP_PER_SECOND, bandwidth, causal=each) for each in (False, True))
        form = ",.0f" if bandwidth == NETWORK_BANDWIDTH else ".0f"
        yield f"{name} {full:{form}} tokens a GPU, causal {causal:{form}}"
    yield f"decode: {decode_bytes(HEADS, HEAD_DIM) / 1e3:.1f} kB a layer, however long the text"


def gradient(q, k, v, out, lse, query_words: slice) -> float:
    """What the queries of a board add to the first number of value 1, with this lse."""
    dout = torch.tensor([1.0, 0.0], dtype=q.dtype).expand(1, 1, 2, 2)
    half, rows = WORDS_OF_BOARDS[0], (slice(None), slice(None), query_words)
    found = gradients(
        q[rows], k[:, :, half], v[:, :, half], out[rows], lse[rows], dout, is_causal=False, scale=SCALE
    )  # fmt: skip
    return found[2][0, 0, 0, 0].item()
