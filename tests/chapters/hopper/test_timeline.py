"""The schedule of the Hopper kernel keeps the kernel's order and plans, and no bar of it is cut."""

from itertools import pairwise

import pytest

from scripts.chapters.hopper.figures import hopper_timeline
from tests.chapters.figure_menus import choose, visible


@pytest.mark.parametrize("choice", hopper_timeline.CHOICES, ids=lambda choice: choice.label)
def test_the_schedule_keeps_the_order_of_the_kernel(choice):
    bars, requests = hopper_timeline.schedule(choice)
    ends = {(bar.line, bar.consumer, bar.text): bar.end for bar in bars}
    starts = {(bar.line, bar.consumer, bar.text): bar.start for bar in bars}
    assert len(starts) == len(bars) == choice.consumers * 3 * hopper_timeline.BLOCKS
    for consumer in range(choice.consumers):
        for block in range(hopper_timeline.BLOCKS):
            softmax = (f"consumer {consumer}", consumer, str(block))
            scores, output = (("tensor cores", consumer, f"{name}{block}") for name in "SO")
            assert ends[scores] <= starts[softmax] and ends[softmax] <= starts[output]
            if block:  # the block after in time: its scores come before this one's output
                later = ("tensor cores", consumer, f"S{block - 1}")
                assert ends[softmax] <= starts[later] and ends[later] <= starts[output]
    for unit in ("tensor cores", "consumer"):  # all consumers share the exp2 units
        intervals = sorted((bar.start, bar.end) for bar in bars if bar.line.startswith(unit))
        assert all(end <= start for (_, end), (start, _) in pairwise(intervals)), "two at once"
    for tile, request in requests:  # before it is read, and not before the tile is free
        product = "S" if tile[0] == "K" else "O"
        block = int(tile[1:])
        assert request <= min(starts["tensor cores", c, f"{product}{block}"] for c in range(choice.consumers))
        if (replaced := block + choice.stages) < hopper_timeline.BLOCKS:
            assert request >= max(ends["tensor cores", c, f"{product}{replaced}"] for c in range(choice.consumers))


def test_no_bar_of_the_schedule_is_cut():
    """What is not drawn whole is left out, and dots say that it goes on."""
    figure = hopper_timeline.figure()
    for choice in hopper_timeline.CHOICES:
        choose(figure, "Choose", choice.label)
        bars = [trace for trace in visible(figure) if trace.type == "bar"]
        ends = [start + clocks for trace in bars for start, clocks in zip(trace.base, trace.x, strict=True)]
        assert ends and max(ends) <= hopper_timeline.SHOWN_CLOCKS < figure.layout.xaxis.range[1]
        dots = [
            line
            for trace in visible(figure)
            if trace.text
            for line, text in zip(trace.y, trace.text, strict=True)
            if text == "…"
        ]
        assert hopper_timeline.LINES["tensor cores"] in dots


def test_the_schedule_has_the_kernels_plans():
    hopper = pytest.importorskip("kernels.hopper.plan")
    for choice in hopper_timeline.CHOICES:
        plans = [plan for (head_dim, _), plan in hopper.PLANS.items() if head_dim == choice.head_dim]
        plans = {(plan.block_k, plan.stages, plan.consumers) for plan in plans}
        assert {(*plan[:2], 1) for plan in plans} | plans >= {(choice.block_k, choice.stages, choice.consumers)}
