"""The key of its worksheet: views, shares and outputs are those of the module with these weights."""

import re

import pytest
import torch

from kernels.multihead import LoopedMultiHeadAttention, MultiHeadAttention
from scripts.chapters import worksheets
from tests.chapters.worksheet_numbers import SEEDS, blend_by_hand, given_rows, numbers, pairs


@pytest.mark.parametrize("seed", SEEDS)
def test_the_key_agrees_with_the_library(seed):
    sheet = worksheets.make("many-heads", seed)
    x = given_rows(sheet)
    places = [int(place) - 1 for place in re.findall(r"the (\d)\w\w", sheet.given[0])[:4]]
    asks, offers = torch.eye(4)[places[:2]], torch.eye(4)[places[2:]]
    hands_over = torch.tensor([[0.0, 0, 0, 5], [5, 5, 5, -5]])
    loop = LoopedMultiHeadAttention(4, 2).double()
    with torch.no_grad():
        for parameter in loop.parameters():
            parameter.zero_()
        loop.output.weight.copy_(torch.eye(4))
        for head, rows in zip(loop.heads, [(asks, offers, hands_over), (offers, asks, hands_over)], strict=True):
            for name, weight in zip(("query", "key", "value"), rows, strict=True):
                getattr(head, name).weight.copy_(weight)
        at_once = MultiHeadAttention.from_loop(loop)
        head, second = loop.heads
        views = torch.stack([head.query(x), head.key(x), head.value(x)], 1)
        dots, outputs = second.query(x) @ second.key(x).T, at_once(x[None])[0, :, 2:]
        causal, queries = at_once(x[None], is_causal=True)[0, 1, 2:], at_once.query(x)
    for row, view, dot, output in zip(sheet.rows, views, dots, outputs, strict=True):
        assert [pairs(cell)[0] for cell in row[1:4]] == view.tolist() and numbers(row[4]) == dot.tolist()
        assert numbers(row[5]) == pytest.approx((100 * (dot / 2**0.5).softmax(-1)).tolist(), abs=0.6)
        assert numbers(row[6]) == pytest.approx(output.tolist(), abs=0.06) and sum(numbers(row[6])) == 10
        assert numbers(row[6]) == pytest.approx(blend_by_hand(row[5], [row[3] for row in sheet.rows]))
    (_, hidden), (which_query, side_by_side), (layout, cells), _ = sheet.questions
    assert numbers(hidden) == pytest.approx(causal.tolist(), abs=0.06)
    assert numbers(side_by_side) == queries[int(numbers(which_query)[-1]) - 1].tolist()
    words, word = int(numbers(layout)[0]), int(numbers(layout)[-1])
    offsets = torch.arange(2 * words * 2).view(2, words, 2).transpose(0, 1).reshape(words, 4)[word - 1]
    assert numbers(cells) == [*offsets.tolist(), *offsets.diff().tolist()]
