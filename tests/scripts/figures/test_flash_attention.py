"""The figures of chapter 8 draw what the records and kernels.bench.cost say."""

import pytest

from kernels.bench.cost import attention_flops, requested_bytes
from scripts import records
from scripts.figures.flash_attention import ladder_memory, ladder_speed, roofline_rungs, tile_bytes
from scripts.figures.plot import where
from tests.scripts.figures.controls import choose, points, visible


def test_bytes_asked_for_and_counted():
    asked, _, least, ours, counted = tile_bytes.figure().data
    assert list(asked.y) == [requested_bytes(8192, 128, 2, block) / 1e6 for block in tile_bytes.BLOCKS]
    (row,) = where(records.table("hbm_traffic", "whole"), form="flash_attention")
    assert (ours.y[0], counted.y[0]) == (row["requested"], row["flushed"]) and ours.x[0] == counted.x[0] == 64
    assert counted.y[0] < least.y[0] < ours.y[0]


@pytest.mark.parametrize("head_dim", ladder_speed.HEAD_DIMS)
@pytest.mark.parametrize("label, direction, causal", [(label, *which) for label, which in ladder_speed.PASSES.items()])
def test_the_ladder_shows_every_row_of_the_record(head_dim, label, direction, causal):
    figure = ladder_speed.figure()
    choose(figure, "Pass", label)
    choose(figure, "Head dimension d", str(head_dim))
    lines = {trace.name: points(trace) for trace in visible(figure) if trace.mode != "text"}
    drawn = sorted((name, n, y) for name, line in lines.items() for n, y in line.items() if y is not None)
    rows = where(records.table("prefill_speed", f"{direction}_{head_dim}"), causal=causal)
    assert drawn == sorted((ladder_speed.FORMS[row["form"]].name, row["n"], row["speed"]) for row in rows)


@pytest.mark.parametrize("label, name", ladder_memory.PASSES.items())
def test_the_ladder_of_memory_shows_every_row_and_where_it_ran_out(label, name):
    figure = ladder_memory.figure()
    choose(figure, "What is measured", label)
    lines = {trace.name: points(trace) for trace in figure.data if trace.mode != "text"}
    for row in records.table("prefill_memory", name):
        if row["out_of_memory"]:
            assert row["n"] in lines["out of memory"]
        else:
            assert lines[ladder_memory.FORMS[row["form"]].name][row["n"]] == row["peak"]


def test_the_roofline_places_each_rung_by_its_flops_and_bytes():
    counted, predicted = roofline_rungs.counted(), roofline_rungs.predicted()
    (whole,) = where(records.table("hbm_traffic", "whole"), form="flash_attention")
    assert counted["flash_attention"][0] == pytest.approx(attention_flops(8192, 128) / 1e6 / whole["flushed"])
    assert set(counted) < set(predicted) == set(roofline_rungs.FORMS)
    assert predicted["flash_attention"][0] == 8192 / 2  # N/2, as chapter 4 has it
    for form in ("attention", "three_kernel_attention"):  # as predicted for one head, whose square has the same share
        kernels = where(records.table("hbm_traffic", "predicted"), form=form)
        moved = 1e6 * sum(row["read"] + row["written"] for row in kernels)
        assert predicted[form][0] == pytest.approx(attention_flops(8192, 128) / moved)
    assert max(predicted, key=lambda form: predicted[form][1]) == "sdpa_cudnn"
    figure = roofline_rungs.figure()
    for label, wanted in [("one head, bytes counted", counted), ("many heads, bytes predicted", predicted)]:
        choose(figure, "Bytes", label)
        drawn = {trace.name: (trace.x[0], trace.y[0]) for trace in figure.data if trace.mode == "markers+text"}
        for form, (look, _) in roofline_rungs.FORMS.items():
            assert drawn[look.name] == wanted.get(form, (None, None))
