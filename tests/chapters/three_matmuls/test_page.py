"""Chapter 1's drawings have the numbers that its words and its snippet give, and its remark on the mean is true."""

import ast
import re
from math import exp, sqrt

import pytest

from scripts.records import ROOT
from tests.docs.pages import DRAWINGS, drawn
from tests.docs.tables import numbers, table
from tests.docs.three_words import AT_THE_BOARD, K, Q, S, V, blend, dot


def test_the_drawn_spreadsheet():
    table = drawn(DRAWINGS / "spreadsheet.svg").split("row: who asks")[1]
    numbers = [int(number) for number in re.findall(r"(?<![₁₂₃\w])\d(?!\w)", table)]
    assert numbers == [*K[0], *K[1], *K[2], *(n for q, row in zip(Q, S, strict=True) for n in (*q, *row))]


def test_the_drawn_cards_show_the_shares_of_the_snippet():
    (source,) = (ROOT / "snippets").rglob("sentence.py")
    named = {
        node.targets[0].id: ast.literal_eval(node.value)
        for node in ast.parse(source.read_text(encoding="utf-8")).body
        if isinstance(node, ast.Assign) and node.targets[0].id in ("sentence", "asks", "offers")
    }
    powers = [exp(dot(named["asks"]["sat"], named["offers"][word]) / 2) for word in named["sentence"]]  # √4 = 2
    the, cat, sat, on, the_again, mat = (100 * power / sum(powers) for power in powers)
    shares = [f"{share:.0f}" for share in (cat, on, mat, the + sat + the_again)]
    assert sorted(re.findall(r"(\d+) %", drawn(DRAWINGS / "cards.svg"))[-4:]) == sorted(shares)


def test_the_mean_of_the_gradients_would_hide_that_most_vanish():
    torch = pytest.importorskip("torch")
    query, key = torch.randn(2, 64, 64)  # d = 64
    products = (query @ key.T).requires_grad_()
    (gradient,) = torch.autograd.grad(products.softmax(-1), products, torch.randn_like(products))
    size = gradient.abs()
    assert size.median() < 1e-6 < 1e-3 < size.mean()
    by_row = size.sum(-1).sort(descending=True).values
    assert by_row[:16].sum() > 0.6 * by_row.sum()  # a few rows


def test_each_column_of_the_sheet_holds_what_its_head_says():
    def rounded(vectors, digits=0):
        return [[round(number, digits) for number in vector] for vector in vectors]

    def softened(divisor):
        """Of each row, its shares in per cent, and the sum of its exponentials behind them."""
        powers = [[exp(score / divisor) for score in row] for row in S]
        return [[100 * power / sum(row) for power in row] for row in powers], [[sum(row)] for row in powers]

    (shares, sums), (undivided, undivided_sums) = softened(sqrt(2)), softened(1)
    wanted = {
        "q · k": S,
        "Divided by √2 = 1.41 (sum)": [a + b for a, b in zip(rounded(shares, 1), rounded(sums, 2), strict=True)],
        "At the board": [[100 * share for share in row] for row in AT_THE_BOARD],
        "Output": [blend(row, V) for row in AT_THE_BOARD],
        "Exactly": rounded([blend([share / 100 for share in row], V) for row in shares], 2),
        "Not divided (sum)": [a + b for a, b in zip(rounded(undivided), rounded(undivided_sums, 2), strict=True)],
    }
    rows = table("chapters/three-matmuls/sheet.md", "q · k")
    assert {head: [numbers(row[head]) for row in rows] for head in rows[0] if head != "Row"} == wanted
