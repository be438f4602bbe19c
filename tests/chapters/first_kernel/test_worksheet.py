"""The key of its worksheet: programs and shares are those of PyTorch and of the library, and nothing is the board's."""

import math
import re

import pytest
import torch

from kernels.reference import attention
from kernels.softmax import safe_softmax
from scripts.chapters import worksheets
from scripts.chapters.first_kernel import worked
from tests.chapters.worksheet_numbers import SEEDS, numbers, pairs


@pytest.mark.parametrize("seed", SEEDS)
def test_the_key_is_right(seed):
    sheet = worksheets.make("first-kernel", seed)
    texts, heads, words = (int(number) for number in numbers(sheet.given[0])[:3])
    programs = torch.arange(texts * heads * words).view(texts, heads, words)
    for row in sheet.rows:
        program, word, head, text = map(int, row)
        assert programs[text, head, word] == program
    assert len({row[3] for row in sheet.rows}) == len(sheet.rows)  # one of each text
    (ask, row), (given, found), (_, padded), added, busy, chosen = sheet.questions
    terms, _, shares = found.partition("; ")
    query, keys = ask.split("keys")
    q, k, v = (torch.tensor(pairs(text), dtype=torch.float64) for text in (query, keys, given))
    scores = (q @ k.T)[0]
    assert row == f"[{', '.join(f'{score:g}' for score in scores.tolist())}, -∞]"
    assert sorted(numbers(shares)[:3]) not in [sorted(worked.program_row(query).shares[:3]) for query in worked.QUERIES]
    assert numbers(shares)[:4] == [*(100 * safe_softmax(scores)).round().tolist(), 0]
    output = attention(q, k, v, scale=1.0)[0].tolist()
    assert numbers(shares)[4:] == [round(number, 1) for number in output]
    by_hand = [
        sum(share * each[i] / 100 for share, each in zip(numbers(shares)[:3], v.tolist(), strict=True)) for i in (0, 1)
    ]
    assert numbers(shares)[4:] == [round(number, 1) for number in by_hand]
    check_sum(terms, scores)
    check_sum(padded.partition(";")[0], torch.cat([scores, scores.new_zeros(1)]))
    assert numbers(padded)[-1] == numbers(padded)[3] > 0  # the part of the place that's empty
    length, block = (int(number) for number in numbers(added[0]))
    blocks = torch.arange(length).split(block)
    assert length != worked.LENGTH and numbers(added[1]) == [len(blocks), len(blocks[-1]), block - len(blocks[-1])]
    warps, number_of_key, places, *_ = (int(number) for number in numbers(busy[0]))
    assert number_of_key == warps * worked.LANES
    assert warps > 2 or " 1 shuffle + " in busy[1]
    parts = [math.log2(worked.LANES), 2, math.log2(warps), 2]
    each = 2 * sum(parts) + 2
    share = [places // number_of_key, sum(parts)]
    assert numbers(busy[1]) == [*parts, sum(parts), *share, 2, sum(parts), 2, each, warps, each, warps * each]
    check_alu(chosen[1], warps, places, door=warps * each)


def check_alu(answer, warps, places, door):
    """Its clocks are those of its instructions at two a clock, and the unit with more clocks is named."""
    passes, loops = 2 * 3 * len(range(0, places, worked.LANES)) / 2, warps * worked.LOOP_INSTRUCTIONS / 2
    alu, longer = passes + loops, 2 * passes + loops
    counted = [2, places, 3, 32, 2, passes, warps, 10, 2, loops, passes, loops, alu, max(alu, door), longer]
    assert numbers(answer) == counted
    named = ["the ALU" if clocks > door else "the door" for clocks in (alu, longer)]
    assert re.findall("so (the [A-Za-z]+)", answer) == named
    assert max(alu, door) > 1.05 * min(alu, door)  # far enough apart to decide


def check_sum(text, scores):
    """1 + 0.368 = 1.368: the exponentials of these scores, to a third digit."""
    *terms, total = numbers(text)
    exactly = (scores - scores.max()).exp()
    assert terms == pytest.approx(exactly.tolist(), abs=5e-4)
    assert total == pytest.approx(sum(terms), abs=1e-9) and len(terms) == len(scores)


def test_four_warps_count_as_at_the_board():
    assert [math.log2(worked.LANES), 2, math.log2(worked.WARPS), 2] == [*worked.SUM_STEPS]
