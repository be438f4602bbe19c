"""The key of its worksheet: places in memory, shares and bytes are those of PyTorch and of the library."""

import re

import pytest
import torch

from kernels.bench.cost import requested_bytes
from kernels.reference import attention
from kernels.softmax import safe_softmax
from scripts.chapters import worksheets
from tests.chapters.worksheet_numbers import SEEDS, numbers, pairs


@pytest.mark.parametrize("seed", SEEDS)
def test_the_key_is_right(seed):
    sheet = worksheets.make("first-kernel", seed)
    texts, heads, words = (int(number) for number in numbers(sheet.given[0])[:3])
    programs = torch.arange(texts * heads * words).view(texts, heads, words)
    for row in sheet.rows:
        program, word, head, text = map(int, row)
        assert programs[text, head, word] == program
    (ask, row), (given, shares), (_, padded), added, warp, (asked, bytes_), growth, busy, errors = sheet.questions
    query, keys = ask.split("keys")
    q, k, v = (torch.tensor(pairs(text), dtype=torch.float64) for text in (query, keys, given))
    scores = (q @ k.T)[0]
    assert row == f"[{', '.join(f'{score:g}' for score in scores.tolist())}, -∞]"
    assert numbers(shares)[:4] == [*(100 * safe_softmax(scores)).round().tolist(), 0]
    output = attention(q, k, v, scale=1.0)[0].tolist()
    assert numbers(shares)[4:] == [round(number, 1) for number in output]
    by_hand = [
        sum(share * each[i] / 100 for share, each in zip(numbers(shares), v.tolist(), strict=False)) for i in (0, 1)
    ]
    assert numbers(shares)[4:] == [round(number, 1) for number in by_hand]
    wrong = (100 * safe_softmax(torch.cat([scores, scores.new_zeros(1)]))).round().tolist()
    assert numbers(padded) == [*wrong, wrong[-1]] and wrong[-1] > 0
    length, block = (int(number) for number in numbers(added[0]))
    blocks = torch.arange(length).split(block)
    assert numbers(added[1]) == [len(blocks), len(blocks[-1]), block - len(blocks[-1])]
    stride = int(re.search(r"(\d+) apart", warp[0])[1])
    touched = len({4 * stride * lane // 32 for lane in range(32)})
    assert numbers(warp[1]) == [touched, 1, 32 * touched / 128]
    n, d = (int(number) for number in numbers(asked)[:2])
    both, megabytes = numbers(bytes_)[4], numbers(bytes_)[-1]
    assert both == 2 * torch.empty(n, d, dtype=torch.float16, device="meta").nbytes
    assert megabytes == round((requested_bytes(n, d, 2, block_q=1) - both) / 1e6, 1)
    times = int(numbers(growth[0])[0])
    here, there = (torch.empty(words, words, device="meta") for words in (n, times * n))
    scores, places = there.numel() / here.numel(), there.numel() * len(there) / (here.numel() * len(here))
    assert numbers(growth[1]) == [scores, places, times]
    warps, each = numbers(busy[0])
    assert numbers(busy[1]) == [warps, each, warps * each, warps * each * 1e6 / 2e9 * 1e3]
    heads, honest, ours, factor = numbers(errors[0])
    assert numbers(errors[1]) == [round(factor * honest, 4), round(ours / (factor * honest)), heads - 1]
    assert ours / (factor * honest) == pytest.approx(round(ours / (factor * honest)))
