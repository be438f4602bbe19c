"""The figures of chapter 8 draw what the records and kernels.cost say."""

import pytest

from kernels.bench.cost import attention_flops, requested_bytes
from scripts import records
from scripts.figures.flash_attention import ladder_memory, ladder_speed, roofline_rungs, tile_bytes, tile_order


def choose(figure, choice):
    """Apply a button or a step, as Plotly's restyle does: a list gives one value to each trace that is named."""
    changes, traces = choice["args"]
    for attribute, values in changes.items():
        for index, trace in enumerate(traces):
            figure.data[trace][attribute] = values[index]


@pytest.mark.parametrize("pass_", range(4))
def test_tiles_are_visited_once_and_causal_ones_up_to_the_diagonal(pass_):
    owns, causal = list(tile_order.PASSES.values())[pass_]
    at = tile_order.visits(owns, causal)
    blocks = tile_order.BLOCKS
    assert len(at) == (blocks * (blocks + 1) // 2 if causal else blocks**2)
    assert all(j <= i for i, j in at) or not causal
    for block in range(blocks):  # each program visits one tile a step, without a pause
        mine = sorted(when for (i, j), when in at.items() if (i if owns == "queries" else j) == block)
        assert mine == list(range(1, len(mine) + 1))


def test_a_step_shows_what_was_visited_and_a_menu_which_pass():
    figure = tile_order.figure()
    (menu,), (slider,) = figure.layout.updatemenus, figure.layout.sliders
    for index, button in enumerate(menu.buttons):
        choose(figure, button)
        assert [trace.visible for trace in figure.data].index(True) == index
    for step in slider.steps:
        choose(figure, step)
        for trace, which in zip(figure.data, tile_order.PASSES.values(), strict=True):
            for (i, j), when in tile_order.visits(*which).items():
                assert (trace.text[i][j] != "") == (when <= int(step.label))
                assert trace.z[i][j] is not None


def test_bytes_asked_for_and_counted():
    figure = tile_bytes.figure()
    asked, _, least, ours, counted = figure.data
    assert list(asked.y) == [requested_bytes(8192, 128, 2, block) / 1e6 for block in tile_bytes.BLOCKS]
    (row,) = (row for row in records.table("hbm_traffic", "whole") if row["form"] == "flash_attention")
    assert (ours.y[0], counted.y[0]) == (row["requested"], row["flushed"]) and ours.x[0] == counted.x[0] == 64
    assert counted.y[0] < least.y[0] < ours.y[0]


def test_the_ladder_shows_every_row_of_the_record():
    figure = ladder_speed.figure()
    passes, dims = figure.layout.updatemenus
    shown = 0
    for label, (direction, causal) in ladder_speed.PASSES.items():
        choose(figure, next(button for button in passes.buttons if button.label == label))
        for button in dims.buttons:
            choose(figure, button)
            lines = {trace.name: trace for trace in figure.data if trace.visible}
            for row in records.table("prefill_speed", f"{direction}_{button.label}"):
                if row["causal"] == causal:
                    line = lines[ladder_speed.FORMS[row["form"]][0]]
                    assert line.y[line.x.index(row["n"])] == row["speed"]
                    shown += 1
    titles = [f"{direction}_{d}" for direction in ("forward", "backward") for d in ladder_speed.HEAD_DIMS]
    assert shown == sum(len(records.table("prefill_speed", title)) for title in titles)


def test_the_ladder_of_memory_shows_every_row_and_where_it_ran_out():
    figure = ladder_memory.figure()
    for passes, button in zip(ladder_memory.PASSES, figure.layout.updatemenus[0].buttons, strict=True):
        choose(figure, button)
        lines = {trace.name: dict(zip(trace.x, trace.y, strict=True)) for trace in figure.data}
        for row in records.table("prefill_memory", passes):
            if row["out_of_memory"]:
                assert row["n"] in lines["out of memory"]
            else:
                assert lines[ladder_memory.FORMS[row["form"]][0]][row["n"]] == row["peak"]


def test_the_roofline_places_each_rung_by_its_flops_and_bytes():
    counted, predicted = roofline_rungs.counted(), roofline_rungs.predicted()
    (whole,) = (row for row in records.table("hbm_traffic", "whole") if row["form"] == "flash_attention")
    assert counted["flash_attention"][0] == pytest.approx(attention_flops(8192, 128) / 1e6 / whole["flushed"])
    assert set(counted) < set(predicted) == set(roofline_rungs.FORMS)
    assert predicted["flash_attention"][0] == 8192 / 2  # N/2, as chapter 4 has it
    assert max(predicted, key=lambda form: predicted[form][1]) == "sdpa_cudnn"
    figure = roofline_rungs.figure()
    for points, button in zip((counted, predicted), figure.layout.updatemenus[0].buttons, strict=True):
        choose(figure, button)
        drawn = {trace.name: (trace.x[0], trace.y[0]) for trace in figure.data if trace.mode == "markers+text"}
        for form, (name, *_) in roofline_rungs.FORMS.items():
            assert drawn[name] == points.get(form, (None, None))
