"""Compares every number of the chapter's example with the library, and what the sheet says with it."""

import pytest
import torch

from kernels.softmax import OnlineSoftmax, exp_below
from scripts.chapters.online_softmax import worked
from tests.docs.page_text import numbers, table

SCORES = torch.tensor(worked.SCORES, dtype=torch.float64)
VALUES = torch.tensor(worked.VALUES, dtype=torch.float64)
STEPS = (worked.FIRST, worked.SECOND, worked.THIRD)


def test_each_step_agrees_with_the_library():
    state = OnlineSoftmax.empty()
    for count, step in enumerate(STEPS, start=1):
        scores_read = count * worked.BLOCK
        before, state = state, state.update(SCORES[scores_read - worked.BLOCK : scores_read])
        factor = exp_below(before.running_max, state.running_max)
        library = [float(each) for each in (*state, state.lse)]
        assert [step.running_max, step.running_sum, step.lse] == pytest.approx(library, rel=1e-6)
        assert step.factor == pytest.approx(float(factor) if count > 1 else 0.0)
        assert step.output == pytest.approx((SCORES[:scores_read].softmax(-1) @ VALUES[:scores_read]).tolist())


def test_three_blocks_end_where_one_does_unless_we_forget_to_rescale():
    assert worked.THIRD.running_sum == pytest.approx(worked.WHOLE_ROW.running_sum)
    assert worked.THIRD.output == pytest.approx(worked.WHOLE_ROW.output)
    assert worked.NOT_RESCALED.output != pytest.approx(worked.WHOLE_ROW.output, abs=0.1)


@pytest.mark.parametrize("scores", [worked.SCORES, (0, 2, 1, 1, 1, 3)])
def test_without_rescaling_each_block_adds_its_terms_at_the_maximum_so_far(scores):
    total, top = 0.0, float("-inf")
    for score in range(0, len(scores), worked.BLOCK):
        block = torch.tensor(scores[score : score + worked.BLOCK], dtype=torch.float64)
        top = max(top, block.max().item())
        total += (block - top).exp().sum().item()
    assert worked.running_states(worked.block_states(scores), forget=True)[-1].running_sum == pytest.approx(total)


def test_the_sheets_table_has_the_rounded_steps():
    rows = table("chapters/online-softmax/sheet.md", "Accumulator")
    for count, (row, step) in enumerate(zip(rows, STEPS, strict=True)):
        assert numbers(row["Factor"]) == ([round(step.factor, 3)] if count else [])
        assert numbers(row["Max"]) == [step.running_max] and numbers(row["Sum"])[-1] == round(step.running_sum, 3)
        assert numbers(row["Accumulator"]) == [round(part, 2) for part in step.accumulator]
        assert numbers(row["So far"]) == [round(part, 2) for part in step.output]
