"""The key of its worksheet: each state, tile by tile, is that of the library, with powers of 2."""

import pytest

from kernels.reference import attention
from scripts.chapters import worksheets
from tests.chapters.worksheet_numbers import LN_2, SEEDS, matrices, numbers


@pytest.mark.parametrize("seed", SEEDS)
def test_the_key_agrees_with_the_library(seed):
    sheet = worksheets.make("flash-attention", seed)
    q, k, v = matrices(sheet)
    outputs = attention(q, k, v, scale=LN_2)  # powers of 2
    for row, query, output in zip(sheet.rows, q, outputs, strict=True):
        dots = k @ query
        assert numbers(row[1]) == dots.tolist() and numbers(row[4]) == pytest.approx(output.tolist())
        for cell, count in ((row[2], 2), (row[3], 3)):
            maximum = dots[:count].max()
            total = (2 ** (dots[:count] - maximum)).sum()
            blend = total * attention(query[None], k[:count], v[:count], scale=LN_2)[0]
            assert numbers(cell) == pytest.approx([maximum.item(), total.item(), *blend.tolist()])
