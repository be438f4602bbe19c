"""Chapter 5: who a program is, its row of scores with and without a mistake, what it asks for, and a unit's clocks."""

from __future__ import annotations

import math
import random

from kernels.bench.cost import mb, qkvo_bytes, requested_bytes
from scripts.chapters.rounded_shares import blend, percent
from scripts.chapters.worksheets import Blank, Worksheet, rows_of

ROWS = ((1, 0), (0, 1), (1, 1))
VALUES = ((10, 0), (0, 10), (5, 5))
POWERS = (1, 0.368, 0.135)  # e to the power of 0, -1 and -2
LANES, SECTOR, NUMBER = 32, 32, 4  # of a warp; bytes of a sector and of a number in FP32


def worksheet(draw: random.Random) -> Worksheet | None:
    row = softmax(draw)
    if not row:
        return None
    texts = draw.randint(2, 4)
    heads, words = draw.sample(range(2, 7), 2)
    programs = sorted(draw.sample(range(words, texts * heads * words), 2))
    return Worksheet(
        title="A first kernel: one program and its row",
        given=[
            f"{texts} texts, {heads} heads each, {words} words, and one program for each query. All count from 0, the "
            "programs through the words of a head, then the heads of a text, then the texts. Who are these programs?",
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
        questions=[*row, *vectors(draw), *sectors(draw), *asked_for(draw), *longer(draw), *clocks(draw), *budget(draw)],
    )


def softmax(draw: random.Random) -> list[tuple[str, str]]:
    """A row of three scores in four places, its output, and what 0 in the empty place does; nothing if it's uneven."""
    query = draw.choice(((1, 0), (0, 1), (1, 1), (2, 1), (1, 2)))
    keys, values = ([draw.choice(rows) for _ in range(3)] for rows in (ROWS, VALUES))
    scores = [query[0] * a + query[1] * b for a, b in keys]
    below = [max(scores) - score for score in [*scores, 0]]  # the last place is the empty one
    if max(below) > 2 or len(set(scores)) < 2 or len(set(keys)) < 2 or len(set(values)) < 2:
        return []
    terms, exactly = [POWERS[each] for each in below], [math.exp(-each) for each in below]
    shares, padded = percent(terms[:3]), percent(terms)
    if shares != percent(exactly[:3]) or padded != percent(exactly) or {sum(shares), sum(padded)} != {100}:
        return []
    ways = (shares, *([100 * each / sum(row) for each in row] for row in (terms[:3], exactly[:3])))
    found = {tuple(round(number, 1) for number in blend(way, values)) for way in ways}
    if len(found) > 1:  # with rounded shares and with exact ones a hand should come to the same
        return []
    output = ", ".join(f"{number:g}" for number in found.pop())
    return [
        (
            f"A program has the query [{query[0]}, {query[1]}], three keys, {rows_of(keys)}, and a row of 4 places; "
            "it doesn't divide by √d. What's in its row after the last key?",
            f"[{', '.join(map(str, scores))}, -∞]",
        ),
        (
            f"Given e^{{-1}} = {POWERS[1]} and e^{{-2}} = {POWERS[2]}, and the values {rows_of(values)}, what are the "
            "four shares, in whole per cent, and what is the output, to one decimal?",
            f"{' '.join(map(str, [*shares, 0]))} %, [{output}]",
        ),
        (
            "A colleague puts 0 into the empty place. What are the four shares now, and which part goes to a word that "
            "doesn't exist?",
            f"{' '.join(map(str, padded))} %; {padded[-1]} %",
        ),
    ]


def vectors(draw: random.Random) -> list[tuple[str, str]]:
    block = draw.choice((128, 256, 512, 1024))
    count = 100 * draw.randint(2 * block // 100 + 1, 5 * block // 100)
    programs = -(-count // block)
    real = count - (programs - 1) * block
    ask = (
        f"You add two vectors of {count} numbers, with a row of {block} a program. How many programs is that? In the "
        "last one, how many places of the mask are True, how many False?"
    )
    return [(ask, f"{programs} programs; {real} True, {block - real} False")]


def sectors(draw: random.Random) -> list[tuple[str, str]]:
    stride = draw.choice((2, 3, 4, 5, 6, 8, 16))
    travel = min(LANES * NUMBER * stride // SECTOR, LANES)
    ask = (
        f"32 threads of a warp load an FP32 number each, {stride} apart, the first at the beginning of a sector of 32 "
        "bytes. How many sectors travel, and which part of their bytes is wanted?"
    )
    return [(ask, f"{travel} sectors, 1/{travel * SECTOR // (LANES * NUMBER)}")]


def asked_for(draw: random.Random) -> list[tuple[str, str]]:
    n, d = draw.choice(((256, 64), (256, 128), (512, 64), (512, 128), (1024, 64)))
    both = qkvo_bytes(n, d, 2) // 2
    return [
        (
            f"One head of {n} words, d = {d}, two bytes a number. How many bytes have K and V together, and how many "
            "MB of them do all its programs ask for?",
            f"2 · {n} · {d} · 2 = {both} bytes; {n} times that, {mb(requested_bytes(n, d, 2, 1) - both):.1f} MB",
        ),
    ]


def longer(draw: random.Random) -> list[tuple[str, str]]:
    times = draw.choice((2, 3, 4, 5))
    ask = (
        f"A text gets {times} times as long. How many times as many scores does a head have, and how many times as "
        "many places does it go over to put them away? Why more?"
    )
    return [(ask, f"{times**2} times; {times**3} times, since each score's row is {times} times as long, too")]


def budget(draw: random.Random) -> list[tuple[str, str]]:
    honest, over, heads = draw.choice((2, 4, 6, 8)), draw.choice((2, 3, 5, 10)), draw.choice((16, 32, 64))
    allowed = 3 * honest // 2
    ask = (
        f"In one of {heads} heads PyTorch's largest error is 0.000{honest}, and ours is {allowed * over / 10_000:.4f}. "
        "The budget is 1.5 times PyTorch's. How many times do we use it? Why can the mean error still look fine?"
    )
    used = f"{allowed / 10_000:.4f}; {over} times, so it's rejected; {heads - 1} good heads hide one bad one in a mean"
    return [(ask, used)]


def clocks(draw: random.Random) -> list[tuple[str, str]]:
    warps, each = draw.choice((2, 4, 8)), draw.choice((10, 15, 20, 30))
    ask = (
        f"In each of {warps} warps, a meeting has {each} instructions for a unit that starts one a clock. How many "
        "clocks is that? How many ms are a million meetings, at two million clocks a ms?"
    )
    return [(ask, f"{warps} · {each} = {warps * each} clocks; {warps * each // 2} ms")]
