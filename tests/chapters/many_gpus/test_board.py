"""Sheet 12: the board says what the library computes: the four words, the bytes, the ridge, the shares, a gradient."""

from math import log

import pytest
import torch

from kernels.bench.parallel.cost import hidden_from, longest_over_mean, pairs_of, sent_bytes
from kernels.flash.partial import merge
from kernels.parallel.local import attend
from kernels.parallel.order import chunks_of
from kernels.reference import attention
from scripts.chapters.many_gpus import board as drawn

Q, K, V = (torch.tensor(x, dtype=torch.float64)[None, None] for x in (drawn.QUERIES, drawn.KEYS, drawn.VALUES))
SCALE = log(2)  # powers of 2
BOARD = drawn.board()
PART_BYTES = "8192 tokens · 16 heads · 128 · K, V · 2 bytes"
PARTS = [attend(Q, K[:, :, own], V[:, :, own], is_causal=False, scale=SCALE) for own in (slice(2), slice(2, 4))]


def pair(numbers) -> str:
    return "[" + ", ".join(f"{number:.6g}" for number in numbers.tolist()) + "]"


def said(step: int) -> str:
    return "\n".join(BOARD.read(step))


def sums() -> list[list[float]]:
    """The sums of each board, from its lse."""
    return [[round(2 ** (each / SCALE), 9) for each in lse[0, 0].tolist()] for _, lse in PARTS]


def test_word_1_is_what_each_board_finds_and_their_merge():
    for (out, _), total in zip(PARTS, sums(), strict=True):
        assert f"= {total[0]:g}" in said(2) and f"→ {pair(out[0, 0, 0])}" in said(2)
    assert f"= {pair(merge(*PARTS[0], *PARTS[1])[0][0, 0, 0])}" in said(2)


@pytest.mark.parametrize("step", [3, 9])
def test_each_line_of_the_table_is_the_library_s(step):
    alone = attention(Q, K, V, scale=SCALE)[0, 0]
    start = BOARD.read(step).index("1" if step == 9 else "1.  [1, -1]")
    table = [text for text in BOARD.read(step)[start:] if text != "✓"]
    for word in range(4):
        one, other = (each[word] for each in sums())
        a, b = (drawn.Fraction(each / (one + other)).limit_denominator(100) for each in (one, other))
        name = str(word + 1) if step == 9 else f"{word + 1}.  {pair(Q[0, 0, word])}"
        expected = [name, f"{one:g}", f"{other:g}", f"{a} and {b}", pair(alone[word])]
        assert table[5 * word : 5 * word + 5] == expected


def test_the_text_is_too_large_for_one_gpu():
    keys = 2 * 32 * 8 * 128 * 2  # K and V, layers, heads of keys, numbers, bytes
    assert f"{2**20 * keys // 2**30} GiB" in said(1) and f"{keys // 1024} KiB" in said(1)
    seconds = 32 * 32 * 4 * 2**40 * 128 / 2 / 640e12
    assert f"= {seconds:.0f} s of attention = {seconds / 60:.1f} minutes" in said(1)


def test_the_bytes_and_the_ridge_are_the_library_s():
    assert f"{PART_BYTES} = {2 * 8192 * 16 * 128 * 2 / 1e6:.1f} MB a part" in " ".join(BOARD.read(4))
    for scheme in ("ring", "all_gather", "all_to_all"):
        assert f"{sent_bytes(scheme, 8, drawn.PART) / 1e6:.0f} MB" in BOARD.read(4)
    full, causal = (hidden_from(drawn.PART, 640e12, 360e9, causal=causal) for causal in (False, True))
    assert f"= {full:.0f}, causal {causal:.0f}" in said(5)
    far, both = (hidden_from(drawn.PART, 640e12, 50e9, causal=causal) for causal in (False, True))
    assert f"{far:,.0f}, causal {both:,.0f}" in said(5)


def test_the_chunks_that_are_folded_together_are_those_of_the_order():
    written = BOARD.read(6)
    for rank in range(drawn.GPUS):
        chunks = [str(chunk + 1) for chunk in chunks_of(rank, drawn.GPUS, "zigzag")]
        at = written.index(f"GPU {rank + 1}: 2")
        assert written[at - 2 : at] == chunks
    work = [pairs_of(rank, 4, 2**20, True, "contiguous") / 2**40 for rank in range(4)]
    assert {f"{each:.1f}" for each in work} <= set(written)
    assert f"last ÷ first = {work[-1] / work[0]:.0f}" in written
    assert f"last ÷ fair = {longest_over_mean(4, 2**20, 'contiguous'):.2f}" in written


def test_the_gradient_of_value_1_goes_home():
    values = V.clone().requires_grad_()
    attention(Q, K, values, scale=SCALE)[..., 0].sum().backward()
    assert f"= {values.grad[0, 0, 0, 0].item():.3f}" in said(7)
    totals = [sum(each) for each in zip(*sums(), strict=True)]
    assert f"sums of the rows: {',  '.join(f'{total:g}' for total in totals)}" in said(7)
