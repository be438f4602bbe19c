"""The key of its worksheet: programs and shares are those of PyTorch and of the library, and nothing is the board's."""

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
    (ask, row), (given, found), (_, padded), added, memory, threads, at_once = sheet.questions
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
    check_memory(*memory)
    check_threads(*threads)
    sums, passes = (int(number) for number in numbers(at_once[0]))
    assert numbers(at_once[1]) == [max(sums, passes), sums, passes, sums / 2, max(sums / 2, passes)]
    assert sums > passes > sums / 2, "the passes decide once the sums take half as long"


def check_memory(ask, answer):
    texts, heads, words, head_dim, size, speed, kernel = numbers(ask)
    q, k = (torch.empty(int(texts), int(heads), int(words), int(head_dim)).half() for _ in "qk")
    count, loaded = q[..., 0].numel() * k.shape[-2], 2 * k[0, 0, 0].nbytes
    found = count * loaded / 1e9
    assert k.element_size() == size
    exactly = [texts, heads, words, words, count / 1e6, 2, head_dim, 2, loaded, found, found, speed]
    assert numbers(answer) == pytest.approx([*exactly, round(found / speed, 1), kernel])
    assert kernel > 5 * found / speed, "it isn't memory"


def check_threads(ask, answer):
    """Folding to halves, one by one."""

    def folds(count):
        return 0 if count == 1 else 1 + folds(count // 2)

    warps, lanes = map(int, numbers(ask)[:2])
    assert warps != worked.WARPS and lanes == worked.LANES
    assert numbers(answer) == [warps, lanes, warps * lanes, folds(lanes), warps, folds(warps), 2]


def check_sum(text, scores):
    """1 + 0.368 = 1.368: the exponentials of these scores, to a third digit."""
    *terms, total = numbers(text)
    exactly = (scores - scores.max()).exp()
    assert terms == pytest.approx(exactly.tolist(), abs=5e-4)
    assert total == pytest.approx(sum(terms), abs=1e-9) and len(terms) == len(scores)
