"""Chapter 1's drawings have the numbers that its words and its snippet give, and its remark on the mean is true."""

import ast
import re
from math import exp

import pytest

from scripts.records import ROOT
from tests.docs.pages import DRAWINGS, drawn
from tests.docs.three_words import K, Q, S, dot


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
