"""The key of its worksheet: maximum, sum and blend after each block are those of the library."""

import pytest
import torch

from kernels.softmax import OnlineSoftmax, safe_softmax
from scripts.chapters import worksheets
from tests.chapters.worksheet_numbers import SEEDS, numbers


@pytest.mark.parametrize("seed", SEEDS)
def test_the_key_is_right(seed):
    sheet = worksheets.make("online-softmax", seed)
    given = numbers(sheet.given[0])
    scores = torch.tensor(given[:6], dtype=torch.float64)
    values = torch.tensor(given[6:18], dtype=torch.float64).view(6, 2)
    state = OnlineSoftmax.empty()
    for at, row in zip((0, 2, 4), sheet.rows, strict=True):
        before, state = state, state.update(scores[at : at + 2])
        seen = slice(0, at + 2)
        blend = safe_softmax(scores[seen]) @ values[seen] * state.running_sum
        assert [float(row[1]), float(row[3])] == [
            state.running_max.item(),
            pytest.approx(state.running_sum.item(), abs=6e-4),
        ]
        assert numbers(row[4]) == pytest.approx(blend.tolist(), abs=5e-3)
        if at:
            assert float(row[2]) == pytest.approx((before.running_max - state.running_max).exp().item(), abs=5e-4)
    output, times, wrong, readers = (numbers(answer) for _, answer in sheet.questions)
    assert output == pytest.approx((safe_softmax(scores) @ values).tolist(), abs=5e-3)
    assert times == [10] and values.sum(-1).tolist() == [10] * 6
    so_far = scores.view(3, 2).amax(-1).cummax(0).values  # each block is measured against it, and nothing shrinks
    marks = (scores - so_far.repeat_interleave(2)).exp()
    assert wrong[0] == pytest.approx(marks.sum().item(), abs=5e-4)
    assert wrong[1:] == pytest.approx((marks @ values / marks.sum()).tolist(), abs=5e-3)
    states = [OnlineSoftmax.empty().update(part) for part in (scores[:2], scores[2:], scores)]
    brought = [number.item() for state in states for number in (state.running_max, state.running_sum)]
    assert readers == pytest.approx(brought, abs=5e-4)
