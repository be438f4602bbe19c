"""Chapter 1's drawings have the numbers that its words and its snippet give, and its remark on the mean is true."""

import ast
import re
from math import exp

from scripts.records import ROOT
from tests.chapters.three_words import K, Q, S, dot
from tests.docs.page_text import drawing_text


def test_the_drawn_spreadsheet():
    table = drawing_text("three-matmuls-spreadsheet").split("row: who asks")[1]
    numbers = [int(number) for number in re.findall(r"(?<![₁₂₃\w])\d(?!\w)", table)]
    assert numbers == [*K[0], *K[1], *K[2], *(n for q, row in zip(Q, S, strict=True) for n in (*q, *row))]


def test_the_drawn_cards_show_the_shares_of_the_snippet():
    (source,) = (ROOT / "snippets").rglob("sentence.py")
    variables = {
        node.targets[0].id: ast.literal_eval(node.value)
        for node in ast.parse(source.read_text(encoding="utf-8")).body
        if isinstance(node, ast.Assign) and node.targets[0].id in ("sentence", "asks", "offers")
    }
    powers = [
        exp(dot(variables["asks"]["sat"], variables["offers"][word]) / 2) for word in variables["sentence"]
    ]  # √4 = 2
    the, cat, sat, on, the_again, mat = (100 * power / sum(powers) for power in powers)
    shares = [f"{share:.0f}" for share in (cat, on, mat, the + sat + the_again)]
    assert sorted(re.findall(r"(\d+) %", drawing_text("three-matmuls-cards"))[-4:]) == sorted(shares)
