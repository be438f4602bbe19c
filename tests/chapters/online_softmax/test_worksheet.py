"""The key of its worksheet: maximum, sum and blend after each block are those of the library."""

import re

import pytest
import torch

from kernels.softmax import OnlineSoftmax, exp_below, safe_softmax
from scripts.chapters import worksheets
from tests.chapters.worksheet_numbers import SEEDS, numbers


@pytest.mark.parametrize("seed", SEEDS)
def test_the_key_agrees_with_the_library(seed):
    sheet = worksheets.make("online-softmax", seed)
    printed_numbers = numbers(sheet.given[0])
    scores = torch.tensor(printed_numbers[:6], dtype=torch.float64)
    values = torch.tensor(printed_numbers[6:18], dtype=torch.float64).view(6, 2)
    state, block_sums = OnlineSoftmax.empty(), []
    for start, row in zip((0, 2, 4), sheet.rows, strict=True):
        old_state, state = state, state.update(scores[start : start + 2])
        seen = slice(0, start + 2)
        blend = safe_softmax(scores[seen]) @ values[seen] * state.running_sum
        block_sum = exp_below(scores[start : start + 2], state.running_max).sum().item()
        block_sums.append(numbers(row[3])[-1])
        assert float(row[1]) == state.running_max.item()
        assert block_sums[-1] == pytest.approx(block_sum, abs=6e-4)
        assert numbers(row[4])[-1] == pytest.approx(state.running_sum.item(), abs=6e-4)
        assert numbers(row[5])[-2:] == pytest.approx(blend.tolist(), abs=5e-3)
        for column in (row[3], row[4], row[5]):
            assert_adds_up(column)
        if start:
            assert float(row[2]) == pytest.approx((old_state.running_max - state.running_max).exp().item(), abs=5e-4)
    output, times, not_rescaled = (numbers(answer) for _, answer in sheet.questions[:3])
    assert output[-2:] == pytest.approx((safe_softmax(scores) @ values).tolist(), abs=5e-3)
    assert times == [10] and values.sum(-1).tolist() == [10] * 6
    running_maxima = scores.view(3, 2).amax(-1).cummax(0).values  # without the rescaling
    exponentials = (scores - running_maxima.repeat_interleave(2)).exp()
    assert not_rescaled[:3] == block_sums and not_rescaled[3] == pytest.approx(exponentials.sum().item(), abs=5e-4)
    assert not_rescaled[-2:] == pytest.approx((exponentials @ values / exponentials.sum()).tolist(), abs=5e-3)
    states = [OnlineSoftmax.empty().update(part) for part in (scores[:2], scores[2:], scores)]
    expected = [number.item() for state in states for number in (state.running_max, state.running_sum)]
    printed = re.findall(r"\((\d), ([\d.]+)\)", sheet.questions[3][1])
    assert [float(number) for state in printed for number in state] == pytest.approx(expected, abs=5e-4)
    for working in re.findall(r"with ([^;]+)", sheet.questions[3][1]):
        assert_adds_up(working)


def assert_adds_up(working: str) -> None:
    """0.503 + 1.368 = 1.871, in exactly these digits, and so for vectors."""
    parts, _, total = working.rpartition(" = ")
    terms = [numbers(part) for part in parts.split(" + ")] if parts else [numbers(total)]
    assert [f"{sum(column):.3f}" for column in zip(*terms, strict=True)] == [
        f"{number:.3f}" for number in numbers(total)
    ]
