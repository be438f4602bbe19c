"""The figures of the chapter on blocks of keys draw what was recorded."""

import pytest

from scripts import records
from scripts.figures.blocks_of_keys import ladder_so_far, meeting_cost, steps_and_numbers
from scripts.figures.plot import chip, where
from tests.scripts.figures.controls import choose, points, visible

BOTH = ["one_key_attention", "key_blocks_attention"]


def median(form, head_dim):
    rows = records.table("prefill_speed", f"forward_{head_dim}")
    (row,) = where(rows, form=form, direction="forward", n=512, causal=False, head_dim=head_dim)
    return row["median"]


@pytest.mark.parametrize("head_dim", [64, 128, 256])
def test_the_ladder_shows_the_records_times_and_ends_at_the_limit(head_dim):
    figure = ladder_so_far.figure()
    choose(figure, "Head dimension d", str(head_dim))
    measured, reckoned = visible(figure)
    forms = [*BOTH, "three_kernel_attention", "attention", "sdpa_cudnn"]
    assert list(measured.x) == [median(form, head_dim) for form in forms]
    (limit,) = reckoned.x
    words, width = 16384, 2048
    by_arithmetic = 4 * words * 512 * width / chip("prefill_speed")["bf16 peak"].value
    by_bytes = 4 * words * width * 2 / chip("prefill_speed")["hbm bandwidth"].value
    assert limit == pytest.approx(1e3 * max(by_arithmetic, by_bytes))


def test_the_steps_are_drawn_against_the_scores():
    scores = [2048 // head_dim * 16384 // 512 * 512**2 / 1e6 for head_dim in (256, 128, 64)]
    for trace, form in zip(steps_and_numbers.figure().data, BOTH, strict=True):
        assert list(trace.x) == scores
        assert list(trace.y) == [median(form, head_dim) for head_dim in (256, 128, 64)]


def test_the_cost_of_a_meeting_is_the_records():
    rows = records.table("key_blocks", "times")
    for trace, form in zip(meeting_cost.figure().data, BOTH, strict=True):
        assert points(trace) == {row["n"]: row["one_meeting"] for row in where(rows, form=form)}
