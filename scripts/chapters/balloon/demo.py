"""Sheet 3: sizes of tensors without memory, what two lengths hold at their peak, and what fits on a card."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from kernels.bench.cost import eager_peak_bytes, fused_peak_bytes, gib, mib, qkvo_bytes
from kernels.reference import attention
from scripts.chapters.balloon.worked import BYTES, CURVE_WORDS, HEAD_DIM, HEADS, SENTENCES, WORDS
from scripts.chapters.demo import table

SNIPPET = "balloon"
CARDS = (8, 16, 24, 80)  # GB
STEP = 1024  # words


def lines() -> Iterator[str]:
    q = torch.empty(SENTENCES, HEADS, WORDS, HEAD_DIM, device="meta")
    tensors = {"Q": q, "square": q @ q.transpose(-2, -1), "output": attention(q, q, q)}
    slices = SENTENCES * HEADS
    one = {name: mib(tensor.nbytes / slices) for name, tensor in tensors.items()}
    yield f"Small, square, small: {' MiB, '.join(f'{size:g}' for size in one.values())} MiB a head."
    yield ""
    sizes = [[name, f"{one[name]:g} MiB", f"{gib(tensor.nbytes):g} GiB"] for name, tensor in tensors.items()]
    yield from table(["", "one head", f"all {slices}"], *sizes)
    yield f"peak of one head: {mib(eager_peak_bytes(WORDS, HEAD_DIM, BYTES)):g} MiB"
    for n in CURVE_WORDS:
        lines_, fused = (mib(count(n, 128, 2)) for count in (eager_peak_bytes, fused_peak_bytes))
        yield f"{n:,} words, d = 128: {lines_:,.0f} MiB; FlashAttention {fused:g} MiB"
    yield ""
    yield from table(["card", "words, one head"], *([f"{card} GB", f"{longest(card):,}"] for card in CARDS))


def longest(card: int) -> int:
    """The words of one head of 128 numbers in BF16 that a card holds: Q, K and V, and the peak of the three lines."""
    n = 0
    while qkvo_bytes(n + STEP, 128, 2) * 3 // 4 + eager_peak_bytes(n + STEP, 128, 2) <= card * 10**9:
        n += STEP
    return n
