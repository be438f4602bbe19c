"""Chapter 5: who a program is, its row with and without a mistake, a mask, and the clocks of two units."""

from __future__ import annotations

import math
import random

from scripts.chapters.first_kernel import worked
from scripts.chapters.first_kernel.worked import LANES, LENGTH, QUERIES, SUM_STEPS, program_row
from scripts.chapters.rounded_shares import percent, weighted_sum
from scripts.chapters.worksheets import Blank, Worksheet, rows_text

ROWS = ((1, 0), (0, 1), (1, 1))
VALUES = ((10, 0), (0, 10), (5, 5))
POWERS = (1, 0.368, 0.135, 0.05)  # e to the power of 0, -1, -2 and -3
ON_THE_BOARD = [sorted(program_row(query).shares[:3]) for query in QUERIES]


def worksheet(rng: random.Random) -> Worksheet | None:
    row = softmax(rng)
    if not row:
        return None
    texts = rng.randint(2, 4)
    heads, words = rng.sample(range(2, 7), 2)
    first, last = sorted(rng.sample(range(texts), 2))  # of different texts
    programs = [heads * words * first + rng.randrange(words, heads * words), heads * words * last]
    programs[1] += rng.randrange(heads * words)
    return Worksheet(
        title="A first kernel: one program and its row",
        given=[
            f"{texts} texts, {heads} heads each, {words} words, and one program for each query. All count from 0, the "
            "programs through the words of a head, then the heads of a text, then the texts. Who are these programs? "
            "Fill in the table. Divide by the words: what's left over is the word. Divide the result by the heads: "
            "what's left over is the head, and the result is the text.",
        ],
        head=["Program", "Word", "Head", "Text"],
        rows=[
            [
                str(number),
                Blank(str(number % words)),
                Blank(str(number // words % heads)),
                Blank(str(number // words // heads)),
            ]
            for number in programs
        ],
        questions=[*row, *vectors(rng), *clocks(rng)],
    )


def softmax(rng: random.Random) -> list[tuple[str, str]]:
    """A row of three scores in four places, its output, and what 0 in the empty place does; nothing if it's uneven."""
    query = rng.choice(((2, 1), (1, 2), (2, 0)))
    keys, values = ([rng.choice(rows) for _ in range(3)] for rows in (ROWS, VALUES))
    scores = [query[0] * a + query[1] * b for a, b in keys]
    below = [max(scores) - score for score in [*scores, 0]]  # the last place is the empty one
    if max(below) > 3 or len(set(keys)) < 2 or len(set(values)) < 2:
        return []
    terms, exactly = [POWERS[each] for each in below], [math.exp(-each) for each in below]
    shares = percent(terms[:3])
    if shares != percent(exactly[:3]) or sum(shares) != 100:
        return []
    halves = [10 * number % 1 for number in weighted_sum(shares, values)]  # 7.05 could become 7.0 or 7.1
    if sorted(shares) in ON_THE_BOARD or any(abs(half - 0.5) < 1e-6 for half in halves):
        return []
    ways = (shares, *([100 * each / sum(row) for each in row] for row in (terms[:3], exactly[:3])))
    found = {tuple(round(number, 1) for number in weighted_sum(way, values)) for way in ways}
    if len(found) > 1:  # with rounded shares and with exact ones a hand should come to the same
        return []
    output = ", ".join(f"{number:g}" for number in found.pop())
    return [
        (
            f"A program has the query [{query[0]}, {query[1]}], three keys, {rows_text(keys)}, and a row of 4 places; "
            "it doesn't divide by √d. What's in its row after the last key?",
            f"[{', '.join(map(str, scores))}, -∞]",
        ),
        (
            f"e^{{-1}} = {POWERS[1]}, e^{{-2}} = {POWERS[2]}, e^{{-3}} = {POWERS[3]:.3f}. With the values "
            f"{rows_text(values)}, what are the four shares, in whole per cent, and what is the output, to one "
            "decimal?",
            f"{sum_text(terms[:3])}; {' '.join(map(str, [*shares, 0]))} %; [{output}]",
        ),
        (
            "A colleague puts 0 into the empty place. What's the sum of the exponentials now? Do the real words' "
            "shares grow or shrink, and why?",
            f"{sum_text(terms)}; they shrink, since {POWERS[below[-1]]:.3f} of it is for a word that doesn't exist",
        ),
    ]


def sum_text(terms: list[float]) -> str:
    """1 + 0.368 + 0.135 = 1.503."""
    return f"{' + '.join('1' if term == 1 else f'{term:.3f}' for term in terms)} = {sum(terms):.3f}"


def vectors(rng: random.Random) -> list[tuple[str, str]]:
    block = rng.choice((128, 256, 512, 1024))
    count = 100 * rng.randint(2 * block // 100 + 1, 5 * block // 100)
    programs = -(-count // block)
    if count == LENGTH:  # that's on the board
        return vectors(rng)
    real = count - (programs - 1) * block
    ask = (
        f"You add two vectors of {count} numbers, with a row of {block} a program. How many programs is that? In the "
        "last one, how many places of the mask are True, how many False?"
    )
    return [(ask, f"{programs} programs; {real} True, {block - real} False")]


def clocks(rng: random.Random) -> list[tuple[str, str]]:
    """With other than the board's four warps; each doubling of the warps is one more shuffle."""
    shuffles, own = rng.choice(((1, 2), (1, 4), (1, 8), (3, 2), (3, 4), (3, 8), (4, 2), (4, 4)))
    warps, threads, parts = 2**shuffles, 2**shuffles * LANES, (SUM_STEPS[0], SUM_STEPS[1], shuffles, SUM_STEPS[3])
    each = 2 * sum(parts) + 2
    ask = (
        f"A program has {warps} warps. A key has {threads} numbers, and the row of scores {own * threads} places. How "
        "many tickets (instructions for the load-store unit) does a warp need for each of a pair's two sums, and "
        "how many for the pair, with its two loads? How many clocks until all warps are through the door?"
    )
    ask_alu = (
        "The ALU goes over this row twice, with three instructions a place, and each instruction does 32 places. "
        f"Each warp has {worked.LOOP_INSTRUCTIONS} more, and the ALU starts two in a clock. How many clocks "
        "is that for the pair? Now predict: of the ALU and the door, which one decides how long a pair takes? And in a "
        "text twice as long?"
    )
    lsu, places = warps * each, own * threads
    alu, passes, twice = (worked.alu_clocks(*of) for of in ((warps, places), (0, places), (warps, 2 * places)))
    decides = ["the ALU" if clocks > lsu else "the door" for clocks in (alu, twice)]
    names = ("shuffles", "to hand over", "shuffle" if shuffles == 1 else "shuffles", "to hand back")
    total = f"{' + '.join(f'{part} {name}' for part, name in zip(parts, names, strict=True))} = {sum(parts)}"
    return [
        (
            ask,
            f"score: {total}; share: each thread first adds its own {own} places, without a ticket, so {sum(parts)} "
            f"again; 2 · {sum(parts)} + 2 loads = {each}; {warps} · {each} = {lsu} clocks",
        ),
        (
            ask_alu,
            f"2 · {places} · 3 / 32 / 2 = {passes:.0f}; {warps} · {worked.LOOP_INSTRUCTIONS} / 2 = "
            f"{alu - passes:.0f}; {passes:.0f} + {alu - passes:.0f} = {alu:.0f} clocks, so {decides[0]}, with "
            f"{max(alu, lsu):.0f}; twice as long, the ALU takes {twice:.0f}, so {decides[1]}",
        ),
    ]
