"""Chapter 6: a query and three keys, two at a time, and what blocks of keys and of queries save."""

from __future__ import annotations

import math
import random

from kernels.bench.cost import qkvo_bytes, requested_bytes
from kernels.bench.hardware import H100
from scripts.chapters.rounded_shares import POWERS, POWERS_TEXT, output_of_dots, percent
from scripts.chapters.worksheets import Blank, Worksheet, bytes_text, list_text, rows_text, with_commas

ROWS = ((1, 0), (0, 1), (1, 1))
VALUES = ((10, 0), (0, 10), (5, 5))
SCORES = ("0", "0.71", "1.41")  # a dot product ÷ √2


def worksheet(rng: random.Random) -> Worksheet | None:
    query, *keys = (rng.choice(ROWS) for _ in range(4))
    values = [rng.choice(VALUES) for _ in range(3)]
    products = [[a * b for a, b in zip(query, key, strict=True)] for key in keys]
    dots = [sum(product) for product in products]
    output, terms = output_of_dots(dots, values), [POWERS[dot] for dot in dots]
    padding_share = round(100 / (sum(terms) + 1))
    if not output or len(set(dots)) < 2 or len(set(values)) < 2 or len(set(keys)) < 3:
        return None
    if padding_share != round(100 / (sum(math.exp(dot / math.sqrt(2)) for dot in dots) + 1)):
        return None
    shares = percent(terms)
    weighted_values = [[share * each / 100 for each in value] for share, value in zip(shares, values, strict=True)]
    first_output = [sum(column) for column in zip(*weighted_values[:2], strict=True)]
    cells = zip(products, [SCORES[dot] for dot in dots], terms, shares, weighted_values, strict=True)
    return Worksheet(
        title="A tile of two keys at a time",
        given=[
            f"The query is [{query[0]}, {query[1]}]. The keys are {rows_text(keys)}, the values {rows_text(values)}. "
            "They come in blocks of two, so the last row of the second block holds no key.",
            f"To hand: 1/√2 = 0.71, 2/√2 = 1.41, and {POWERS_TEXT}. Shares in whole per cent. Check: "
            "the output adds up to 10.",
        ],
        head=["Row", "Query times key", "Score: summed, ÷ √2", "Exponential", "Share", "Share · value"],
        rows=[
            *(
                [
                    f"block {i // 2 + 1}, key {i + 1}",
                    *map(Blank, (list_text(of), score, f"{e:g}", f"{s} %", list_text(blend))),
                ]
                for i, (of, score, e, s, blend) in enumerate(cells)
            ),
            ["block 2, no key", *map(Blank, ("none", "-∞", "0", "0 %", "[0, 0]"))],
        ],
        questions=[
            (
                "What does each block bring, summed down the columns, and what is the output?",
                f"{list_text(first_output)} + {list_text(weighted_values[2])} = {list_text(output)}",
            ),
            (
                "Somebody leaves 0 in the place of -∞. What do the four exponentials add up to, and what share goes to "
                "the row that holds no key?",
                f"{sum(terms) + 1:.2f}, {padding_share} %",
            ),
            *count_questions(rng),
        ],
    )


def count_questions(rng: random.Random) -> list[tuple[str, str]]:
    n, block = 2 ** rng.randint(8, 12), 2 ** rng.randint(4, 7)
    words, d, queries = 2 ** rng.randint(11, 15), 2 ** rng.randint(6, 8), 2 ** rng.randint(4, 7)
    kv_bytes, registers = qkvo_bytes(words, d, 2) // 2, int(H100["registers per SM"].value)
    bytes_one_query, bytes_many_queries = (requested_bytes(words, d, 2, size) - kv_bytes for size in (1, queries))
    return [
        (
            f"{n} keys, in blocks of {block}: how often does the loop go round, and over how many places does a query "
            "go to put its scores into its row?",
            f"{n // block} times; {n // block} · {n} = {with_commas(n * n // block)}",
        ),
        (
            f"K and V of one head of {with_commas(words)} words, d = {d}, in 16 bits: how large are they? How much of "
            f"them do all programs together ask for, with one query each, and with {queries} queries each?",
            f"{bytes_text(kv_bytes)}; {bytes_text(bytes_one_query)}; {bytes_text(bytes_many_queries)}",
        ),
        (
            f"How large is one query's row of {with_commas(words)} scores in FP32, and how many such rows fit into the "
            f"{bytes_text(registers)} of registers of an SM?",
            f"{bytes_text(4 * words)}; {registers // (4 * words)}",
        ),
    ]
