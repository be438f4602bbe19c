"""Chapter 12: four words on two boards, a gradient that goes home, and what travels between GPUs."""

from __future__ import annotations

import random
from collections.abc import Sequence
from fractions import Fraction

from kernels.bench.parallel.cost import Part, min_tokens_to_overlap, sent_bytes
from scripts.chapters.worksheets import Blank, Worksheet, bytes_text, list_text, rows_text, with_commas

KEYS = ((1, 0), (0, 1), (1, 1))
TOTALS = (6, 9, 10, 12, 18, 20)  # of the two numbers of each value
BOARDS = (slice(2), slice(2, 4))
SPEEDS, LINKS = (300, 450, 600, 640, 720, 900), (50, 100, 150, 180, 200, 225, 300, 400, 450)  # TFLOP/s, GB/s


def worksheet(rng: random.Random) -> Worksheet | None:
    total = rng.choice(TOTALS)
    queries = [(rng.randint(-1, 2), rng.randint(-1, 2)) for _ in range(4)]
    keys = [(0, 0), *rng.sample(KEYS, 3)]
    values = [(total, 0), (0, total), *rng.choice((((total, 0), (0, total)), ((0, total), (total, 0))))]
    if len(set(queries)) < 4:
        return None
    rows, sums, weighted_count = [], [], 0
    for word, query in enumerate(queries, 1):
        terms = [Fraction(2) ** (query[0] * a + query[1] * b) for a, b in keys]
        parts = [(sum(terms[half]), blend(terms[half], values[half])) for half in BOARDS]
        merged = blend(terms, values)
        if any(10 * number % 1 for each in (*(out for _, out in parts), merged) for number in each):
            return None
        if any(4 * each % 1 for each, _ in parts):
            return None
        weighted_count += parts[0][0] != parts[1][0] and parts[0][1] != parts[1][1]
        part_texts = [text for part, output in parts for text in (f"{float(part):g}", list_text(output))]
        rows.append([f"word {word}", *map(Blank, part_texts), Blank(list_text(merged))])
        sums.append(sum(terms))
    if weighted_count < 3 or len({row[-1] for row in rows}) < 3 or not (gradient := gradient_question(sums)):
        return None
    return Worksheet(
        title="Four words on two boards",
        given=[
            f"The queries are {rows_text(queries)}, the keys {rows_text(keys)}, the values {rows_text(values)}. Board "
            "1 has words 1 and 2, board 2 has words 3 and 4. Nothing is masked; count in powers of 2.",
            "For each word: the sum of the exponentials and the output that the keys of board 1 give, the same of "
            f"board 2, then both merged. Check: each output adds up to {total}.",
        ],
        head=["Query", "Board 1: sum", "Output", "Board 2: sum", "Output", "Merged"],
        rows=rows,
        questions=[gradient, *sent_bytes_question(rng), *overlap_question(rng), *causal_work_questions(rng)],
    )


def blend(terms: Sequence[Fraction], values: Sequence[tuple[int, int]]) -> list[Fraction]:
    return [sum(t * value[i] for t, value in zip(terms, values, strict=True)) / sum(terms) for i in (0, 1)]


def gradient_question(sums: list[Fraction]) -> tuple[str, str] | None:
    """Of value 1, whose exponential is 1 for each query; nothing if a hand that rounds to three digits goes astray."""
    shares = [1 / each for each in sums]
    by_hand = [sum(round(share, 3) for share in shares[half]) for half in BOARDS]
    exact = [round(sum(shares[half]), 3) for half in BOARDS]
    ties = any((2000 * share).denominator == 1 and 2000 * share % 2 for share in shares)
    if ties or by_hand != exact or sum(by_hand) != round(sum(shares), 3):
        return None
    one, other, total = (f"{float(each):.3f}" for each in (*by_hand, sum(by_hand)))
    question = (
        "Backward, [1, 0] comes from above for every word. To three digits behind the point, what is the first number "
        "of the gradient of value 1: from words 1 and 2, from words 3 and 4, and together?"
    )
    return question, f"{one} + {other} = {total}"


def sent_bytes_question(rng: random.Random) -> list[tuple[str, str]]:
    gpus, heads, d, tokens = (2**power for power in (rng.randint(2, 4), rng.randint(4, 6), 7, rng.randint(11, 14)))
    part = Part(tokens, heads, heads, d)
    ring, all_to_all = (sent_bytes(scheme, gpus, part) for scheme in ("ring", "all_to_all"))
    question = (
        f"{gpus} GPUs, {with_commas(tokens)} tokens each, {heads} heads of {d}, 16 bits. How large are K and V of a "
        "GPU's tokens? How much does it send in a ring, and how much in an all-to-all?"
    )
    return [(question, f"{bytes_text(part.kv_bytes)}; {bytes_text(int(ring))}; {bytes_text(int(all_to_all))}")]


def overlap_question(rng: random.Random) -> list[tuple[str, str]]:
    speed, link = rng.choice([(a, b) for a in SPEEDS for b in LINKS if 1000 * a % b == 0])
    full, causal = (
        min_tokens_to_overlap(Part(1, 1, 1, 128), speed * 1e12, link * 1e9, causal=each) for each in (False, True)
    )
    question = (
        f"A kernel computes at {speed} TFLOP/s, a link brings {link} GB/s. From how many tokens a GPU on does fetching "
        "a part take no longer than computing with it? And if the text is causal?"
    )
    return [(question, f"{with_commas(round(full))}; {with_commas(round(causal))}")]


def causal_work_questions(rng: random.Random) -> list[tuple[str, str]]:
    gpus = rng.choice((4, 5, 8, 10))
    gpu = rng.randint(1, gpus)
    chunks = f"{gpu} and {2 * gpus + 1 - gpu}"
    last = Fraction(2 * gpus - 1, 2)
    return [
        (
            f"A causal text in {gpus} long stretches, one a GPU. Count in squares of a stretch by a stretch: how much "
            "work has the last GPU, what is a fair share, and how many times as long as it should does it take?",
            f"{float(last):g}; {gpus / 2:g}; {float(2 * last / gpus):.4g}",
        ),
        (
            f"The same text in {2 * gpus} chunks, mirrored. Counted from 1, which chunks does GPU {gpu} get?",
            chunks,
        ),
    ]
