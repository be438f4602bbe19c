"""The key of its worksheet: each state, tile by tile, is that of the library, with powers of 2."""

import pytest

from kernels.reference import attention
from scripts.chapters import worksheets
from tests.chapters.worksheet_numbers import LN_2, SEEDS, matrices, numbers


@pytest.mark.parametrize("seed", SEEDS)
def test_the_key_is_right(seed):
    sheet = worksheets.make("flash-attention", seed)
    q, k, v = matrices(sheet)
    whole = attention(q, k, v, scale=LN_2)  # powers of 2
    for row, query, output in zip(sheet.rows, q, whole, strict=True):
        dots = k @ query
        assert numbers(row[1]) == dots.tolist() and numbers(row[4]) == pytest.approx(output.tolist())
        for cell, seen in ((row[2], 2), (row[3], 3)):
            top = dots[:seen].max()
            total = (2 ** (dots[:seen] - top)).sum()
            blend = total * attention(query[None], k[:seen], v[:seen], scale=LN_2)[0]
            assert numbers(cell) == pytest.approx([top.item(), total.item(), *blend.tolist()])
