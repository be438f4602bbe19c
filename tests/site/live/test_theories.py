"""A pair's bar in chapter 5: each unit's part of it to scale, and three theories that measurements strike out."""

import re

import pytest
from bs4 import BeautifulSoup

from scripts import records
from scripts.chapters import plot
from scripts.chapters.first_kernel import worked

BEFORE, CHEAPER = (
    round(row["all"]) for row in plot.rows_with(records.table("cheaper_passes", "clocks"), n=512, warps=4)
)
(MORE,) = (round(row["all"]) for row in records.table("more_loads", "clocks") if row["more"] == 1)
ALU = worked.alu_clocks(4), worked.cheaper_alu_clocks(4), worked.cheaper_alu_clocks(4) + 2 * 4
LSU = worked.LSU_CLOCKS, worked.LSU_CLOCKS, worked.LSU_CLOCKS + 2 * worked.WARPS
(L2,) = plot.rows_with(records.table("l2_speed", "sizes"), size=16)
(BUSY,) = plot.rows_with(records.table("what_limits", "busy"), n=512, warps=4, head_dim=128, heads=16)
FP32 = round(BUSY["fma"] / 100 * BEFORE)  # with all that it scales and adds up
MEMORY = worked.PAIR_BYTES / round(worked.bytes_in_a_clock(1e12 * L2["speed"]))
PREDICTED = [  # by step
    (BEFORE, *(max(BEFORE * ALU[i] / ALU[0], LSU[i]) for i in (1, 2))),
    (BEFORE, BEFORE, BEFORE),
    tuple(BEFORE + work - LSU[0] for work in LSU),
]
MOST = 137  # clocks of the picture


def stage(pieces, name: str, step: int, size: str = "wide"):
    return BeautifulSoup(pieces.draw_state(name, {"step": str(step)}), "html.parser").select_one(f"svg.{size}")


def clocks_drawn(drawing, look: str) -> list[float]:
    """Where each bar of that look ends; what is hollow has a line around it, half of it outside."""
    clock = float(drawing["viewbox"].split()[2]) / MOST
    line = 1 if look == "hollow" else 0
    return [(float(bar["x"]) + float(bar["width"]) + line) / clock for bar in drawing.select(f"rect.{look}")]


@pytest.mark.parametrize("size", ["narrow", "wide", "printed"])
def test_each_unit_fills_what_a_hand_counts_and_the_bar_is_what_was_measured(pieces, size):
    units = [MEMORY, FP32, worked.LSU_CLOCKS, worked.alu_clocks(4)]
    for step in (0, 1, 2):
        drawing, there = stage(pieces, "one_pair", step, size), 4 if size == "printed" else 2 + step
        assert clocks_drawn(drawing, "violet") == pytest.approx([BEFORE], abs=0.01)
        assert clocks_drawn(drawing, "hollow") == pytest.approx(units[:there], abs=0.01)
        words = " ".join(each.text for each in drawing.select("text.halo"))
        rest = [BEFORE - worked.LSU_CLOCKS] if there == 4 else []
        said = [int(n) for n in re.findall(r"\b\d+", words.replace("multiplying 2", ""))]
        assert said == [*units[:there], BEFORE, *rest]
        hatched = [float(x) for x in re.findall(r"[ML]([\d.]+) ", drawing.select_one("path.paper.thin")["d"])]
        clock = float(drawing.select_one("rect.violet")["width"]) / BEFORE
        assert (min(hatched) / clock, max(hatched) / clock) == pytest.approx((max(units[:there]), BEFORE), abs=0.01)
    load, total, one_pass = worked.WARPS, worked.WARPS * sum(worked.SUM_STEPS), worked.alu_clocks(0) / 2
    parts = [float(re.match(r"M(\S+)", each["d"])[1]) for each in drawing.select("path.paper:not(.thin)")]
    starts = [worked.FP32_CLOCKS, load, load + total, 2 * load + total, one_pass, 2 * one_pass]
    assert [part / clock for part in parts] == pytest.approx(starts, abs=0.01)


@pytest.mark.parametrize("step", [0, 1, 2])
def test_a_change_moves_its_unit_and_predictions_follow_from_hand_counts(pieces, step):
    drawing, time = stage(pieces, "theories", step), (BEFORE, CHEAPER, MORE)[step]
    assert clocks_drawn(drawing, "violet") == pytest.approx([time], abs=0.01)
    assert clocks_drawn(drawing, "hollow")[2:] == pytest.approx([LSU[step], ALU[step]], abs=0.01)
    clock = float(drawing.select_one("rect.violet")["width"]) / time
    ticks = [each for each in drawing.select("path") if re.fullmatch(r"M\S+ \S+v25", each["d"])]
    expected = [clocks[max(step, 1)] for clocks in PREDICTED]
    assert [float(each["d"][1:].split()[0]) / clock for each in ticks] == pytest.approx(expected, abs=0.01)
    assert [int(each.text) for each in drawing.select("text.end.label")] == [round(clocks) for clocks in expected]


@pytest.mark.parametrize(("step", "out"), [(0, []), (1, ["ALU"]), (2, ["ALU", "wait"])])
def test_a_theory_that_misses_is_struck_out(pieces, step, out):
    struck = stage(pieces, "theories", step).select("text.struck:not(.end)")
    assert [re.search("ALU|wait|LSU", each.text)[0] for each in struck] == out
