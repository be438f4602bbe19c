"""The three theories of chapter 5: their predictions follow from hand counts, and a measurement strikes out what misses."""

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
PREDICTED = [round(BEFORE * work[i] / work[0]) for i in (1, 2) for work in (ALU, (1, 1, 1), LSU)]


def stage(pieces, step: int, size: str = "wide"):
    still = BeautifulSoup(pieces.draw_state("theories", {"step": str(step)}), "html.parser")
    return still.select_one(f"svg.{size}")


@pytest.mark.parametrize("size", ["narrow", "wide", "printed"])
def test_predictions_and_measurements_are_those_of_hand_counts_and_records(pieces, size):
    drawing = stage(pieces, 2, size)
    words = " ".join(each.text for each in drawing.select("text"))
    assert [int(n) for n in re.findall(r"(\d+) if", words)] == PREDICTED
    assert [int(n) for n in re.findall(r"(\d+) measured", words)] == [CHEAPER, MORE]
    track, bar = (float(drawing.select_one(f"rect.{look}")["width"]) for look in ("track", "violet"))
    assert bar / track == pytest.approx(CHEAPER / 140, abs=0.001)


@pytest.mark.parametrize(("step", "out"), [(0, []), (1, ["ALU"] * 2), (2, ["ALU", "wait"] * 2)])
def test_a_theory_that_misses_is_struck_out_in_both_changes(pieces, step, out):
    drawing = stage(pieces, step)
    assert [re.search("ALU|wait|LSU", each.text)[0] for each in drawing.select("text.struck")] == out
    assert len(drawing.select("rect.violet")) == step
