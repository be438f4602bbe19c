"""Chapter 5: who a program is, its row, a mask, what memory takes, a sum, and two at once."""

from __future__ import annotations

import math
import random

from scripts.chapters.first_kernel import worked
from scripts.chapters.first_kernel.worked import LENGTH, QUERIES, program_row
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
        questions=[*row, *vectors(rng), pairs(rng), threads(rng), at_once(rng)],
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


def pairs(rng: random.Random) -> tuple[str, str]:
    """How long memory takes, and a kernel that takes much longer."""
    texts, heads, head_dim, words = (rng.choice(all) for all in ((4, 8), (4, 8), (64, 128), (1000, 2000)))
    count, each = texts * heads * words**2, 2 * head_dim * worked.BYTES
    gigabytes, speed = count * each / 1e9, rng.choice((1, 2, 4))  # and terabytes a second
    milliseconds, kernel = gigabytes / speed, math.ceil(rng.randint(6, 9) * gigabytes / speed)
    ask = (
        f"{texts} texts, {heads} heads, {words} words, {head_dim} numbers of 2 bytes in a key or a value. How many "
        f"pairs are there? How many bytes does a pair load, and how many gigabytes do all? At {speed} TB/s, how many "
        f"milliseconds? The kernel takes {kernel} ms. Is it memory?"
    )
    return ask, (
        f"{texts} · {heads} · {words} · {words} = {count / 1e6:g} million; 2 · {head_dim} · 2 = {each} bytes, "
        f"{gigabytes:g} GB; {gigabytes:g} / {speed}, about {milliseconds:.1f} ms of {kernel}, so it isn't"
    )


def threads(rng: random.Random) -> tuple[str, str]:
    """How a program of another size than the board's adds up, and why it waits."""
    warps, lanes = rng.choice((2, 8, 16)), worked.LANES
    count = warps * lanes
    ask = (
        f"A program has {warps} warps of {lanes} threads. How many threads is that? Each holds a number, and all are "
        "to be added up. How many shuffles fold a warp's numbers to one? How many sums go into shared memory, and how "
        "many shuffles fold these? Why does a warp have to wait, and how often?"
    )
    return ask, (
        f"{warps} · {lanes} = {count}; {count.bit_length() - warps.bit_length()}; {warps}; {warps.bit_length() - 1}; "
        "until all sums are in, and until the result is there: 2 times"
    )


def at_once(rng: random.Random) -> tuple[str, str]:
    """Two parts at once: what's seen is the longer, and what it becomes when that one gets shorter."""
    short, long = sorted(rng.sample(range(10, 50, 2), 2))
    if not 1.2 * short < long < 1.9 * short:  # half of the longer is shorter than the other
        return at_once(rng)
    ask = (
        f"A kernel's sums take {long} ms, its passes {short} ms, perfectly at once. How long does the kernel take? "
        f"How long without the passes? Without the sums? And if the sums took half as long?"
    )
    return ask, f"{long} ms; {long} ms; {short} ms; the sums take {long // 2} ms, so {short} ms, and the passes decide"
