"""Chapter 2: what three words ask, offer and hand over, a second head, and what heads cost in launches."""

from __future__ import annotations

import random
from itertools import permutations

from scripts.chapters.rounded_shares import POWERS, POWERS_TEXT, output_of_dots, percent
from scripts.chapters.worksheets import Blank, Worksheet, list_text, rows_text

STARTS = (
    (1, 0, 1),
    (1, 1, 0),
    (0, 1, 1),
)  # of a word, before its fourth number: together 2, so that values add up to 10
INDEX_PAIRS = tuple(permutations(range(3), 2))
NAMES = ("1st", "2nd", "3rd", *(f"{number}th" for number in range(4, 10)))


def worksheet(rng: random.Random) -> Worksheet | None:
    words = [(*rng.choice(STARTS), rng.randrange(3)) for _ in range(3)]
    query_indices, key_indices = rng.sample(INDEX_PAIRS, 2)
    q, k = ([[word[index] for index in indices] for word in words] for indices in (query_indices, key_indices))
    v = [[5 * word[3], 5 * (sum(word[:3]) - word[3])] for word in words]
    dots = [[a * c + b * d for c, d in q] for a, b in k]  # of head 2, for which q and k are exchanged
    if len(set(words)) < 3 or v[0] == v[1] or len(set(map(tuple, k))) < 3 or any(len(set(row)) < 2 for row in dots):
        return None
    outputs, masked_output = [output_of_dots(row, v) for row in dots], output_of_dots(dots[1][:2], v)
    if not all(outputs) or not masked_output or outputs.count(outputs[0]) == 3:
        return None
    shares = [f"{' '.join(map(str, percent([POWERS[dot] for dot in row])))} %" for row in dots]
    return Worksheet(
        title="Two heads for three words",
        given=[
            f"Three words: {rows_text(words)}. Head 1's query takes {indices_text(query_indices)}, its key "
            f"{indices_text(key_indices)}, in this order. Its value is 5 times the 4th; and 5 times the sum of the "
            "first three, less 5 times the 4th.",
            "Head 2 has the same values, but its query takes the numbers that head 1's key takes, and its key those "
            f"of head 1's query. To hand: √2 = 1.41, and {POWERS_TEXT}. Shares in whole per cent. "
            "Check: each output adds up to 10.",
        ],
        head=["Word", "Head 1: q", "Head 1: k", "v of both", "Head 2: q · k", "Shares", "Output"],
        rows=[
            [
                f"word {i + 1}",
                *map(Blank, map(list_text, (q[i], k[i], v[i]))),
                Blank(" ".join(map(str, dots[i]))),
                Blank(shares[i]),
                Blank(list_text(outputs[i])),
            ]
            for i in range(3)
        ],
        questions=[
            ("Head 2 gets a causal mask. What is its output for the 2nd word?", list_text(masked_output)),
            *one_matrix_question(rng, q, k),
            *cells_question(rng),
            *launches_question(rng),
        ],
    )


def indices_text(indices: tuple[int, ...]) -> str:
    """The 3rd and the 2nd number."""
    return f"the {NAMES[indices[0]]} and the {NAMES[indices[1]]} number"


def one_matrix_question(rng: random.Random, q: list, k: list) -> list[tuple[str, str]]:
    word = rng.randrange(3)
    question = (
        "One multiplication gives the queries of both heads, side by side. What does it give for the "
        f"{NAMES[word]} word?"
    )
    return [(question, list_text(q[word] + k[word]))]


def cells_question(rng: random.Random) -> list[tuple[str, str]]:
    """Where the numbers of a word lie, as attention writes them: head by head."""
    words = rng.randint(4, 9)
    word = rng.randint(1, words)
    first = 2 * (word - 1)
    cells = [first, first + 1, first + 2 * words, first + 2 * words + 1]
    question = (
        f"Another text has {words} words. Attention writes 2 numbers a word and head, first those of head 1 "
        "for all words, then those of head 2. In which cells, counted from 0, are the four numbers of the "
        f"{NAMES[word - 1]} word, and how far is it from each to the next?"
    )
    return [(question, f"cells {', '.join(map(str, cells))}; steps of 1, {2 * words - 1}, 1")]


def launches_question(rng: random.Random) -> list[tuple[str, str]]:
    heads = rng.choice((2, 3, 4, 5, 6, 10, 12, 16))
    question = (
        f"How many kernels does the loop launch for {heads} heads, and how many are launched for all heads at once? "
        "There is no mask. Making Q, K and V takes one kernel each; scaling the scores, joining the heads and "
        "projecting the output count, too."
    )
    return [(question, f"7 · {heads} + 2 = {7 * heads + 2}, and 9")]
