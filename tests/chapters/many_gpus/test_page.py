"""Chapter 12: the four words of the two boards, by the library, and the drawn orders."""

import re
from math import log, log2

import pytest
import torch

from kernels.flash.partial import merge
from kernels.parallel.local import attend
from kernels.parallel.order import chunks_of
from kernels.reference import attention
from tests.docs.page_text import DOCS

QUERIES, KEYS = [[1, -1], [1, 0], [1, 2], [1, 1]], [[0, 0], [1, 0], [1, 1], [0, 1]]
VALUES = [[9, 0], [0, 9], [9, 0], [0, 9]]
WORDS = [torch.tensor(x, dtype=torch.float64)[None, None] for x in (QUERIES, KEYS, VALUES)]
SCALE = log(2)


def outputs_of_gpus():
    q, k, v = WORDS
    return [attend(q, k[:, :, half], v[:, :, half], is_causal=False, scale=SCALE) for half in (slice(2), slice(2, 4))]


def test_every_word_finds_3_and_6_on_board_1_and_6_and_3_on_board_2():
    for (out, lse), expected, sums in zip(
        outputs_of_gpus(), ([3, 6], [6, 3]), ([3, 3, 3, 3], [1.5, 3, 12, 6]), strict=True
    ):
        assert out[0, 0].tolist() == [pytest.approx(expected)] * 4
        assert [round(2 ** (each / SCALE), 9) for each in lse[0, 0].tolist()] == sums


def test_merged_they_are_attention_over_all_keys():
    (a, b), whole = outputs_of_gpus(), attention(*WORDS, scale=SCALE)
    merged, lse = merge(*a, *b)
    assert merged[0, 0].tolist() == [pytest.approx(each) for each in whole[0, 0].tolist()]
    assert (lse[0, 0] / SCALE).tolist() == pytest.approx([log2(x) for x in (4.5, 6, 15, 9)])


def test_the_gradient_of_value_1_goes_home():
    values = WORDS[2].clone().requires_grad_()
    attention(WORDS[0], WORDS[1], values, scale=SCALE)[..., 0].sum().backward()
    assert values.grad[0, 0, 0, 0].item() == pytest.approx(1 / 4.5 + 1 / 6 + 1 / 15 + 1 / 9)


def test_the_drawn_rows_are_those_of_the_order():
    drawing = (DOCS / "assets" / "drawings" / "many-gpus-zigzag.svg").read_text(encoding="utf-8")
    drawn = [int(name) for name in re.findall(r'text-anchor="end" font-size="12">(\d)<', drawing)]
    for order, rows in (("contiguous", drawn[:8]), ("zigzag", drawn[8:])):
        owner = {chunk: rank + 1 for rank in range(4) for chunk in chunks_of(rank, 4, order)}
        assert rows == [owner[row * len(owner) // 8] for row in range(8)]
