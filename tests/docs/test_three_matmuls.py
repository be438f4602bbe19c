"""Chapter 1 and its sheet: each number worked by hand is computed here, in plain Python, and looked for on the page."""

import ast
import re
from math import exp, sqrt

import pytest

from kernels.bench.cost import gib, mib, qkvo_bytes, square_bytes
from tests.docs.by_hand import (
    AT_THE_BOARD,
    ROOT,
    SHARES,
    SHARES_DIVIDED,
    K,
    Q,
    S,
    V,
    blend,
    dot,
    minutes,
    percent,
    row,
    softmax,
    vector,
    words,
)

CHAPTER = "chapters/three-matmuls.md"
SHEET = "whiteboard/three-matmuls.md"
CARDS = "assets/drawings/cards.svg"

DIVIDED = [[score / sqrt(2) for score in row] for row in S]
OUTPUT = [blend(row, V) for row in SHARES]
OUTPUT_DIVIDED = [blend(row, V) for row in SHARES_DIVIDED]
OUTPUT_AT_THE_BOARD = [blend(row, V) for row in AT_THE_BOARD]
OVER_THE_SUM = [[score / sum(row) for score in row] for row in S]
DOWN = [softmax(column)[0] for column in zip(*S, strict=True)]  # the first row, if softmax ran down the columns
DOWN_PERCENT = [100 * share for share in [*DOWN, sum(DOWN)]]

LONG = [1, 0, 0.5, -0.5]
TASTE = [0.8, 0.2]
RECIPE = [dot(TASTE, label) for label in ([4.5, 0.1], [1.8, 5.0], [0.0, 0.0])]
FIVE, ONE_SET = softmax([4, 3, 2, 1, 0]), softmax([4, 3, 2, 1, 100])
FACTORS = [new / old for new, old in zip(ONE_SET[:4], FIVE[:4], strict=True)]
SQUARE = square_bytes(8192, 2)


def sentence():
    """Of what the word sat takes home from the sentence: cat's share, mat's, on's and the others' together."""
    source = (ROOT / "snippets" / "sentence.py").read_text(encoding="utf-8")
    vectors = {
        node.targets[0].id: ast.literal_eval(node.value)
        for node in ast.parse(source).body
        if isinstance(node, ast.Assign) and node.targets[0].id in ("sentence", "asks", "offers")
    }
    scores = [dot(vectors["asks"]["sat"], vectors["offers"][word]) / sqrt(4) for word in vectors["sentence"]]
    the, cat, sat, on, the_again, mat = softmax(scores)
    return cat, mat, on, the + sat + the_again


CAT, MAT, ON, OTHERS = (f"{100 * share:.0f} %" for share in sentence())


def exponentials(scores):
    return ", ".join(f"{exp(score):.2f}" if score else "1" for score in scores)


def total(scores):
    return f"{sum(map(exp, scores)):.2f}"


def key(number):
    """A row of the key on the sheet."""
    cells = [
        f"row {number + 1}",
        " ".join(map(str, S[number])),
        f"{percent(SHARES[number], between=' ')} ({total(S[number])})",
        f"{percent(SHARES_DIVIDED[number], 1, ' ')} ({total(DIVIDED[number])})",
        percent(AT_THE_BOARD[number], between=" "),
        vector(OUTPUT_AT_THE_BOARD[number]),
        vector(OUTPUT_DIVIDED[number], 0 if number == 1 else 2),
    ]
    return f"| {' | '.join(cells)} |"


TYPED = {
    CHAPTER: [
        # the cards
        f"{CAT} of what cat hands over, {MAT} of mat's, {ON} of on's, and {OTHERS} of the other three together",
        # the dot product
        f"They add up to {dot(LONG, [0.5, 0, 1, 0]):.2f}",
        f"Flip every sign of k: \N{MINUS SIGN}{-dot(LONG, [-0.5, 0, -1, 0]):.2f}",
        f"Take k = (0, 1, 0, 0): {dot(LONG, [0, 1, 0, 0]):.2f}",
        # scores
        *[f"{vector(Q[0])} · {vector(key)} = {dot(Q[0], key)}" for key in K],
        f"The first row of scores is {vector(S[0])}",
        f"The second query, {vector(Q[1])}, gives {vector(S[1])}",
        f"The third, {vector(Q[2])}, gives {vector(S[2])}",
        f"(2, 0, 1, 1). *Cat* offers a thing, (2, 0, 0, 0). Their score is {dot([2, 0, 1, 1], [2, 0, 0, 0])}",
        f"3 words make {3 * 3} scores, 10 make {10 * 10}, 1000 make a million",
        # shares, not divided
        f"e, 1, e is {exponentials(S[0])}, together {total(S[0])}. The shares are {percent(SHARES[0])}",
        f"[1, 1, 2]: {exponentials(S[1])}, together {total(S[1])}, so {percent(SHARES[1])}",
        f"The third row is the first in another order: {percent(SHARES[2])}",
        "hold {:.0f} %, {:.0f} % and {:.0f} %: {:.0f} % of its attention".format(*DOWN_PERCENT),
        f"and the second word {100 * sum(softmax(column)[1] for column in zip(*S, strict=True)):.0f} %",
        f"(a) {percent(OVER_THE_SUM[1])}",
        f"(b) {percent(SHARES[1])}",
        f"(c) {percent(softmax([1, 1, 1]))}",
        f"are {exp(1):.2f}, {exp(1):.2f} and {exp(2):.2f} of {total(S[1])}",
        # sharpness, the recipe, a score of 100
        f"A score of 10 against a score of 5 is $e^5$, about {exp(10 - 5):.0f} to 1",
        f"You want a taste: {100 * TASTE[0]:.0f} % spicy, {100 * TASTE[1]:.0f} % smoky",
        "The scores are {:.2f}, {:.2f} and {:.0f}".format(*RECIPE),
        f"the recipe {percent(softmax(RECIPE))}",
        f"one common factor, about {FACTORS[0] * 1e42:.0f}·10⁻⁴²",
        f"the largest of them is left with {ONE_SET[0] * 1e42:.0f}·10⁻⁴²",
        # the division
        f"At $d = 64$ scores {sqrt(64):.0f} apart are nothing special, and softmax shares them $e^8$ to 1",
        f"about {exp(sqrt(64)):.0f} to 1. Divided by $\\sqrt{{64}} = {sqrt(64):.0f}$",
        f"they are 1 apart: {exp(1):.1f} to 1",
        f"√2 = {sqrt(2):.2f} first",
        f"The first row becomes [1/√2, 0, 1/√2], which is [{DIVIDED[0][0]:.2f}, 0, {DIVIDED[0][2]:.2f}]",
        f"its exponentials are {exponentials(DIVIDED[0])}, together {total(DIVIDED[0])}",
        f"its shares {percent(SHARES_DIVIDED[0], 1)}",
        f"The second row becomes {vector(DIVIDED[1], 2)}, its exponentials {exponentials(DIVIDED[1])}",
        f"together {total(DIVIDED[1])}, and its shares {percent(SHARES_DIVIDED[1], 1)} (99.9 by rounding)",
        f"the code prints {100 * SHARES_DIVIDED[0][0]:.1f} where the pie said {100 * SHARES[0][0]:.0f}",
        f"comes out close to {percent(OVER_THE_SUM[1])}, as if one had divided the scores by their sum",
        f"Do that to the first row and it gives {percent(OVER_THE_SUM[0])}",
        "Then write {:.0f}, {:.0f}, {:.0f} % beside the first pie".format(*(100 * share for share in AT_THE_BOARD[0])),
        # the output
        f"rounded to {percent(AT_THE_BOARD[0])}",
        f"0.4 · {vector(V[0])} + 0.2 · {vector(V[1])} + 0.4 · {vector(V[2])}",
        f"= [4 + 0 + 2, 0 + 2 + 2] = {vector(OUTPUT_AT_THE_BOARD[0])}",
        f"{percent(AT_THE_BOARD[1])}, gives [2.5 + 2.5, 2.5 + 2.5] = {vector(OUTPUT_AT_THE_BOARD[1])}",
        f"The third, {percent(AT_THE_BOARD[2])}, gives {vector(OUTPUT_AT_THE_BOARD[2])}",
        f"Unrounded, the first row is {vector(OUTPUT_DIVIDED[0], 2)}",
        f"without the division it would be {vector(OUTPUT[0], 2)}",
        f"three words by hand to {', '.join(map(vector, OUTPUT_AT_THE_BOARD))}",
        # megabytes
        f"8192² = {8192**2:,} cells and takes {SQUARE:,} bytes",
        f"2²⁰ = {2**20:,} bytes",
        f"take {mib(qkvo_bytes(8192, 128, 2)):.0f} MiB together: a sixteenth of the {mib(SQUARE):.0f}",
        f"131,072 words would need {gib(square_bytes(131_072, 2)):.0f} GiB, of {2**30 // 2**20} MiB each",
    ],
    SHEET: [
        f"(.5, 0, 1, 0) = {dot(LONG, [0.5, 0, 1, 0]):.2f}",
        *map(key, range(3)),
        *(
            text.format(*(100 * share for share in AT_THE_BOARD[0]))
            for text in (
                "beside the pie: {:.0f}, {:.0f}, {:.0f} %",
                "our row comes to {:.0f}, {:.0f}, {:.0f} %",
                "V beside {:.0f}, {:.0f}, {:.0f} %",
            )
        ),
        f"3 words, {3 * 3} scores; 10 words, {10 * 10}; 1000 words, a million",
        f"e, 1, e over {total(S[0])}",
        f"10 against 5 is {exp(10 - 5):.0f} to 1",
        f"Q = {', '.join(map(vector, Q))} · K = {', '.join(map(vector, K))} · V = {', '.join(map(vector, V))}",
        f"Undivided, row 1 ends at {vector(OUTPUT[0], 2)}",
        f"e = {exp(1):.2f}, e² = {exp(2):.2f}",
        f"$e^{{1/\\sqrt 2}}$ = {exp(1 / sqrt(2)):.2f}, $e^{{\\sqrt 2}}$ = {exp(sqrt(2)):.2f}",
        f"0.4 · {vector(V[0])} + 0.2 · {vector(V[1])} + 0.4 · {vector(V[2])} = {vector(OUTPUT_AT_THE_BOARD[0])}",
        "row 1 becomes {:.0f}, {:.0f}, {:.0f} %, only {:.0f} %".format(*DOWN_PERCENT),
        f"over their sum ({', '.join(f'{100 * share:.0f}' for share in OVER_THE_SUM[1])})",
        f"row 1 would be {', '.join(f'{100 * share:.0f}' for share in OVER_THE_SUM[0])}",
        f"At 8192 words, in FP16, this is {mib(SQUARE):.0f} MiB",
    ],
}


@pytest.mark.parametrize("page, text", [(page, text) for page, texts in TYPED.items() for text in texts])
def test_a_number_worked_by_hand_is_right(page, text):
    assert text in words(page)


def test_the_minutes_of_the_sheet_add_up():
    total = sum(minutes(SHEET))
    assert f"{total} minutes" in words(SHEET)
    assert f"| {total} |" in words("whiteboard/index.md")


def test_what_is_said_of_the_small_example():
    for exact, rounded in zip(SHARES_DIVIDED, AT_THE_BOARD, strict=True):
        assert max(abs(share - even) for share, even in zip(exact, rounded, strict=True)) < 0.005
    assert all(sum(row) == 10 for row in V) and all(abs(sum(row) - 10) < 1e-9 for row in OUTPUT_DIVIDED)
    over_the_others = [row[i] - max(row[:i] + row[i + 1 :]) for i, row in enumerate(S)]
    assert over_the_others == [0, -1, 0]  # the diagonal ties, loses, ties
    assert max(FACTORS) / min(FACTORS) < 1 + 1e-9  # one common factor
    assert ONE_SET[0] < 2**-25  # FP16 stores it as zero
    assert 16 * qkvo_bytes(8192, 128, 2) == SQUARE  # a sixteenth
    assert exp(89) > (2 - 2**-23) * 2.0**127  # too large for FP32


def test_what_is_said_of_the_first_run():
    ours, three_lines = (row("flash_first", "errors", form=form) for form in ("flash_attention", "attention"))
    assert ours["largest"] < three_lines["largest"] and ours["mean"] < three_lines["mean"]


def test_the_mean_of_the_gradients_would_hide_that_most_vanish():
    torch = pytest.importorskip("torch")
    query, key = torch.randn(2, 64, 64)  # d = 64
    products = (query @ key.T).requires_grad_()
    (gradient,) = torch.autograd.grad(products.softmax(-1), products, torch.randn_like(products))
    size = gradient.abs()
    assert size.median() < 1e-6 < 1e-3 < size.mean()
    by_row = size.sum(-1).sort(descending=True).values
    assert by_row[:16].sum() > 0.6 * by_row.sum()  # a few rows


def test_the_drawn_spreadsheet():
    numbers = re.findall(r"(?<![₁₂₃\w])\d(?!\w)", words("assets/drawings/spreadsheet.svg").split("row: who asks")[1])
    keys_then_rows = [*K[0], *K[1], *K[2]] + [n for q, row in zip(Q, S, strict=True) for n in (*q, *row)]
    assert [int(number) for number in numbers] == keys_then_rows


def test_the_drawn_cards_show_the_shares_of_the_sentence():
    assert f"{CAT} about cat, {MAT} about mat, {ON} about on, {OTHERS} the others" in words(CARDS)
