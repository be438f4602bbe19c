"""Chapter 9: another chip's clocks, a ring, what a plan takes, and which blocks program 0 gets."""

from __future__ import annotations

import random
from fractions import Fraction

from kernels.bench.cost import attention_flops
from kernels.bench.hardware import H100
from scripts.chapters.worksheets import Blank, Worksheet, with_commas

ROWS, THREADS, BLOCK = 64, 128, 128  # queries and threads of a consumer; queries and keys of a block, causal
HEAD_DIMS = (64, 128, 256)
TENSOR_RATES, EXP2_RATES = (1024, 1536, 2048, 3072, 4096, 6144, 8192), (8, 12, 16, 24, 32)  # what an SM does in a clock


def worksheet(rng: random.Random) -> Worksheet | None:
    tensor, exp2, keys = rng.choice(TENSOR_RATES), rng.choice(EXP2_RATES), rng.choice((64, 96, 128, 192, 256))
    scores = ROWS * keys
    if scores % exp2 or any(scores * attention_flops(1, d) % tensor for d in HEAD_DIMS):
        return None
    clocks = [(d, scores * attention_flops(1, d) // tensor, scores // exp2) for d in HEAD_DIMS]
    block_items = block_questions(rng)
    if any(not 1 <= products / powers <= 8 for _, products, powers in clocks) or not block_items:
        return None
    return Worksheet(
        title="Clocks, rings and blocks",
        given=[
            f"On a chip that is no H100 an SM does {tensor} FLOP a clock on its tensor cores, and {exp2} exp2 a clock. "
            f"A consumer's share of a block is {ROWS} queries by {keys} keys, {with_commas(scores)} scores. Each score "
            "takes two products of 2d FLOP, and one exp2.",
            "Count clocks. Consumers wait for nothing but the tensor cores and exp2. To spare is what the products of "
            "the one consumer last beyond the exp2 of the other.",
        ],
        head=[
            "d",
            "Both products",
            "exp2",
            "One consumer alone: tensor cores busy (part of the time)",
            "Two consumers: to spare",
        ],
        rows=[
            [
                str(d),
                Blank(with_commas(products)),
                Blank(with_commas(powers)),
                Blank(f"{Fraction(products, products + powers)} of the time"),
                Blank(with_commas(products - powers)),
            ]
            for d, products, powers in clocks
        ],
        questions=[*ring_questions(rng), *plan_questions(rng), *block_items],
    )


def ring_questions(rng: random.Random) -> list[tuple[str, str]]:
    stages, uses = rng.choice((3, 4)), rng.choice((8, 9, 10))
    places, full = [use % stages for use in range(uses)], [use // stages % 2 for use in range(uses)]
    same_uses = "In the same uses"
    return [
        (f"A ring has {stages} places. For uses 0 to {uses - 1}: in which place is the tile?", numbers_text(places)),
        (f"{same_uses}, which bit does a consumer wait for, at the barrier that says full?", numbers_text(full)),
        (
            f"{same_uses}, which bit does the producer wait for, at the barrier that says empty?",
            numbers_text([1 - bit for bit in full]),
        ),
    ]


def numbers_text(numbers: list[int]) -> str:
    return " ".join(map(str, numbers))


def plan_questions(rng: random.Random) -> list[tuple[str, str]]:
    available_bytes = H100["shared memory per block"].value
    while True:
        d, keys = rng.choice(HEAD_DIMS), rng.choice((64, 128))
        consumers, queries, stages = rng.choice((2, 3)), rng.choice((1, 2)), rng.choice((2, 3, 4))
        tiles = [2 * stages * keys * d * 2, queries * consumers * ROWS * d * 2]
        if available_bytes / 2 < sum(tiles) < 1.5 * available_bytes:
            break
    parts = [ROWS * d // THREADS, ROWS * keys // THREADS, ROWS * keys // THREADS // 2]
    return [
        (
            f"A plan: d = {d}, blocks of {keys} keys, {THREADS} threads and {ROWS} queries a consumer. How many "
            "registers does a thread hold of the accumulator, of the scores (both FP32), and of the exponentials of "
            "the block before (16 bits), and how many of all three?",
            f"{' + '.join(map(str, parts))} = {sum(parts)}",
        ),
        (
            f"The same plan has {stages} stages of K and of V. Each of its {consumers} consumers has {queries} "
            f"{'stage' if queries == 1 else 'stages'} of queries. All are in 16 bits. How many KiB are K and V, how "
            f"many the queries, and do they fit into the {available_bytes // 2**10} KiB that a program may have?",
            f"{tiles[0] // 2**10} + {tiles[1] // 2**10} = {sum(tiles) // 2**10} KiB: "
            f"{'yes' if sum(tiles) <= available_bytes else 'no'}",
        ),
    ]


def block_questions(rng: random.Random) -> list[tuple[str, str]]:
    """Blocks of program 0 in turn and in pairs; empty if another gets more, or if the mean has two decimals."""
    blocks, heads = rng.choice((8, 16)), rng.randint(4, 12)
    sms = blocks + rng.choice((2, 4))
    lengths, half = list(range(blocks, 0, -1)) * heads, blocks // 2
    mean, pairs = Fraction(sum(lengths), sms), -(-heads * half // sms)
    in_turn = [lengths[program::sms] for program in range(sms)]
    if (10 * mean).denominator > 1 or sum(in_turn[0]) < max(map(sum, in_turn)) or not 4 <= len(in_turn[0]) <= 8:
        return []
    if pairs * (blocks + 1) >= sum(in_turn[0]):
        return []
    return [
        (
            f"Causal, {heads} heads of {blocks * BLOCK} words, blocks of {BLOCK} queries and {BLOCK} keys, {sms} SMs. "
            f"In the list of all blocks of queries, head by head, the longest of a head first, program 0 takes blocks "
            f"0, {sms}, {2 * sms} and so on. How many blocks of keys does it go through?",
            f"{' + '.join(map(str, in_turn[0]))} = {sum(in_turn[0])}",
        ),
        ("How many blocks of keys does an SM get on average?", f"{sum(lengths)} ÷ {sms} = {float(mean):g}"),
        (
            f"Now the list is one of pairs, in each the longest that is left of a head with the shortest. Program 0 "
            f"takes pairs 0, {sms}, {2 * sms} and so on. How many blocks of keys does it go through?",
            f"{pairs} · {blocks + 1} = {pairs * (blocks + 1)}",
        ),
    ]
