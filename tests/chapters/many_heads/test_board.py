"""Sheet 2: the board says what the library computes: the views of a word, both heads, the mask, the cells."""

import pytest
import torch

from kernels.multihead import LoopedMultiHeadAttention, MultiHeadAttention
from scripts.chapters.many_heads import board as drawn

BOARD = drawn.board()
X = torch.tensor(drawn.WORDS).double()


@pytest.fixture(scope="module")
def forms():
    """Both forms with the board's matrices, no bias and an output projection that changes nothing."""
    with torch.no_grad():
        loop = LoopedMultiHeadAttention(4, 2).double()
        for parameter in loop.parameters():
            parameter.zero_()
        loop.output.weight.copy_(torch.eye(4))
        asks, offers, hands_over = drawn.ASKS, drawn.OFFERS, drawn.HANDS_OVER
        for one, rows in zip(loop.heads, [(asks, offers, hands_over), (offers, asks, hands_over)], strict=True):
            for name, weight in zip(("query", "key", "value"), rows, strict=True):
                getattr(one, name).weight.copy_(torch.tensor(weight))
        yield loop, MultiHeadAttention.from_loop(loop)


def pairs(step: int) -> list[list[float]]:
    """The pairs that are written, in their order."""
    found = [text.strip("[]").split(", ") for text in BOARD.read(step) if text.startswith("[")]
    return [[float(number) for number in each] for each in found if len(each) == 2]


def test_a_word_s_query_key_and_value_are_those_of_the_library(forms):
    head = forms[0].heads[0]
    for i, views in enumerate(zip(head.query(X), head.key(X), head.value(X), strict=True)):
        assert pairs(1)[3 + 3 * i : 6 + 3 * i] == [each.tolist() for each in views]


def test_both_heads_come_out_as_the_library_has_them(forms):
    first, second = pairs(3)[:3], pairs(3)[3:]
    for form in forms:
        exact = form(X[None])[0]
        at_the_board = torch.tensor([a + b for a, b in zip(first, second, strict=True)]).double()
        torch.testing.assert_close(exact, at_the_board, atol=0.05, rtol=0)


def test_each_head_s_dot_products_and_shares_are_the_library_s(forms):
    written = BOARD.read(3)
    for at, head in zip((written.index("head 1"), written.index("head 2")), forms[0].heads, strict=True):
        grid = head.query(X) @ head.key(X).T
        assert written[at + 1 : at + 10] == [f"{each:g}" for each in grid.flatten().tolist()]
    shares = (100 * (grid / 2**0.5).softmax(-1)).round().int().tolist()
    assert [text for text in written if text.startswith("from")] == [
        f"from  {'  '.join(map(str, row))} %" for row in shares
    ]


def test_the_causal_rows_are_the_library_s_first_head(forms):
    for form in forms:
        exact = form(X[None], is_causal=True)[0, :, :2]
        torch.testing.assert_close(exact, torch.tensor(pairs(4)[3:]).double(), atol=0.05, rtol=0)


def test_the_queries_of_both_heads_are_one_multiplication(forms):
    queries = forms[1].query(X).flatten().tolist()
    assert BOARD.read(5)[BOARD.read(5).index("=") + 1 :][: len(queries)] == [f"{each:g}" for each in queries]
    weight = forms[1].query.weight.T.flatten().tolist()
    assert BOARD.read(5)[BOARD.read(5).index("·") + 1 :][: len(weight)] == [f"{each:g}" for each in weight]


def test_word_1_lies_in_the_cells_whose_steps_are_written():
    blends = torch.arange(12).view(1, 2, 3, 2)
    mine = blends.transpose(1, 2).reshape(3, 4)[0]
    said = "\n".join(BOARD.read(6))
    assert f"steps {', '.join(map(str, mine.diff().tolist()))}:" in said
    assert f"view: {', '.join(map(str, blends.view(3, 4)[0].tolist()))}." in said
    with pytest.raises(RuntimeError):
        blends.transpose(1, 2).view(3, 4)


def test_the_board_counts_the_launches():
    heads = drawn.HEADS
    said = "\n".join(BOARD.read(7))
    assert f"= {3 * heads + 3 * heads}" in said and f"7h + 2 = {3 * heads + 4 * heads + 2}" in said
    assert f"3 + 1 + 1 + 1 = {3 + 3}" in said and "9" in BOARD.read(7)
