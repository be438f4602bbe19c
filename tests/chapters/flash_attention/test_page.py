"""Chapter 8: the two tables of the sheet have what the three words give, forward and backward, and that of PyTorch's
backends has what the record says."""

from itertools import chain
from math import log2

import pytest

from scripts import records
from tests.docs.pages import DOCS
from tests.docs.tables import numbers, table
from tests.docs.three_words import AT_THE_BOARD, K, Q, S, V, blend, dot

SHEET = "chapters/flash-attention/sheet.md"
CHAPTER = "chapters/flash-attention/index.md"
CASES = {  # a row of the chapter's table -> the cases of the record that it stands for
    "plain, causal, or a single query": ("plain", "causal", "1 query"),
    "grouped heads": ("4 heads of K and V",),
    "a mask of your own, or causal with fewer queries than keys": ("a mask", "512 queries, causal"),
    "a mask together with \N{WHITE SQUARE}": ("a mask, and is_causal",),
    "FP32, or heads above 256": ("FP32", "d = 512"),
}
BACKENDS = {
    "flash": "sdpa_flash",
    "cuDNN": "sdpa_cudnn",
    "memory-efficient": "sdpa_efficient",
    "math": "sdpa_math",
}
DOUT = [[1, 0], [0, 1], [1, 1]]


def streamed(scores, blocks=((0, 2), (2, 3))):
    """(maximum, sum, blend) after each block of keys, with powers of 2."""
    states, maximum, total, mixed = [], None, 0, [0, 0]
    for first, stop in blocks:
        new = max(scores[first:stop]) if maximum is None else max(maximum, *scores[first:stop])
        rescale = 0 if maximum is None else 2 ** (maximum - new)
        weights = [2 ** (score - new) for score in scores[first:stop]]
        mixed = [rescale * old + more for old, more in zip(mixed, blend(weights, V[first:stop]), strict=True)]
        maximum, total = new, rescale * total + sum(weights)
        states.append((maximum, total, mixed))
    return states


STATES = [streamed(scores) for scores in S]
OUTPUT = [[x / total for x in mixed] for *_, (_, total, mixed) in STATES]
DP = [[dot(dout, v) for v in V] for dout in DOUT]
DELTA = [dot(dout, out) for dout, out in zip(DOUT, OUTPUT, strict=True)]
ABOVE = [[dp - delta for dp in row] for row, delta in zip(DP, DELTA, strict=True)]
DS = [[p * x for p, x in zip(*rows, strict=True)] for rows in zip(AT_THE_BOARD, ABOVE, strict=True)]
BACKWARD = {
    "dP": DP,
    "D": [[delta] for delta in DELTA],
    "dP \N{MINUS SIGN} D": ABOVE,
    "dS": DS,
    "dS K": [blend(row, K) for row in DS],
    "dSᵀ Q": [blend(column, Q) for column in zip(*DS, strict=True)],
    "dV": [blend(shares, DOUT) for shares in zip(*AT_THE_BOARD, strict=True)],
}


def test_streamed_tiles_give_the_output_of_the_rounded_shares():
    for states, shares, output in zip(STATES, AT_THE_BOARD, OUTPUT, strict=True):
        assert output == pytest.approx(blend(shares, V))
        assert all(sum(mixed) == pytest.approx(10 * total) for _, total, mixed in states)
    assert all(sum(row) == pytest.approx(0) for row in DS)


@pytest.mark.parametrize("query", range(3))
def test_the_forward_table(query):
    row = table(SHEET, "Dots")[query]
    first, last = ([maximum, total, *mixed] for maximum, total, mixed in STATES[query])
    assert numbers(row["Dots"]) == S[query]
    assert numbers(row["After keys 1, 2: max, sum, blend"]) == first and numbers(row["After key 3"]) == last
    assert numbers(row["Output"]) == OUTPUT[query]
    assert numbers(row["lse"]) == [round(last[0] + log2(last[1]), 2)]


@pytest.mark.parametrize("query", range(3))
@pytest.mark.parametrize("column", BACKWARD)
def test_the_backward_table(query, column):
    assert numbers(table(SHEET, "dP")[query][column]) == pytest.approx(BACKWARD[column][query])


def test_the_shares_on_the_sheet_are_the_boards():
    (line,) = [line for line in (DOCS / SHEET).read_text().splitlines() if "P by rows" in line]
    shares = line.partition("P by rows")[2].partition(". dP")[0]
    assert numbers(shares) == list(chain.from_iterable(AT_THE_BOARD))


def test_the_table_of_backends_has_every_case_of_the_record():
    found = {row["Case"]: row for row in table(CHAPTER, "PyTorch took")}
    recorded = {row["case"]: row for row in records.table("sdpa_backends", "chosen")}
    assert set(found) == set(CASES) and sorted(chain.from_iterable(CASES.values())) == sorted(recorded)
    for said, cases in CASES.items():
        for case in cases:
            able = {name: "no" if recorded[case][column] is None else "yes" for name, column in BACKENDS.items()}
            assert {name: found[said][name] for name in BACKENDS} == able, case
            assert BACKENDS[found[said]["PyTorch took"]] == recorded[case]["chosen"]
