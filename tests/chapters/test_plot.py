"""What all figures share: tooltips with a name, ticks, menus that show one choice, rooflines, ladders."""

import plotly.graph_objects as go
import pytest

from kernels.bench.hardware import H100
from scripts.chapters import plot
from tests.chapters.figure_menus import choose, menus, points, visible


def test_a_tooltip_has_the_name_of_its_trace_and_no_second_box():
    style = plot.Style("ours", "accent").scatter("%{name}: %{y:.1f} ms")
    assert style["hovertemplate"] == "ours: %{y:.1f} ms<extra></extra>"


def test_predicted_is_hollow_and_dashed_and_measured_is_filled():
    predicted, measured = (plot.Style("ours", "accent", predicted).scatter("") for predicted in (True, False))
    assert (predicted["line"]["dash"], predicted["marker"]["symbol"]) == ("dash", "circle-open")
    assert (measured["line"]["dash"], measured["marker"]["symbol"]) == ("solid", "circle")
    assert plot.Style("ours", "accent", predicted=True).bars("")["meta"]["hollow"]


@pytest.mark.parametrize(
    "size, text",
    [(1, "1 B"), (1023, "1023 B"), (1024, "1 KiB"), (2**26, "64 MiB"), (2**36, "64 GiB"), (2**52, "4 PiB")],
)
def test_a_size_is_in_its_largest_unit(size, text):
    assert plot.bytes_in_words(size) == text


def test_ticks_stand_where_they_say():
    words = plot.log_axis("words", [1024, 16384])
    assert (words["tickvals"], words["ticktext"]) == ([1024, 16384], ["1,024", "16,384"])
    sizes = plot.log_axis_of_bytes("size", [2**20, 2**35], lambda size: size / 2**20)
    assert (sizes["tickvals"], sizes["ticktext"]) == ([1, 2**15], ["1 MiB", "32 GiB"])


def test_rows_are_chosen_by_their_values():
    rows = [{"form": "a", "n": 1}, {"form": "a", "n": 2}, {"form": "b", "n": 1}]
    assert plot.rows_with(rows, form="a", n=1) == rows[:1] and plot.rows_with(rows) == rows


def test_a_switch_shows_the_traces_of_one_choice_and_always_those_of_none():
    figure = go.Figure([{"name": name} for name in ("first", "second", "level")])
    plot.finish(figure, 300, plot.trace_menu(figure, "Which", ["one", "two"], "two"))
    assert menus(figure) == {"Which": (["one", "two"], "two")}
    assert [trace.name for trace in visible(figure)] == ["second", "level"]
    choose(figure, "Which", "one")
    assert [trace.name for trace in visible(figure)] == ["first", "level"]


def test_a_roof_rises_with_the_bandwidth_and_is_level_from_the_ridge_on():
    style, log = (plot.Style("a kernel", "ink"), "top left"), plot.log_axis("axis", [1])
    choices = {"counted": {"kernel": (8, 4)}, "predicted": {}}
    figure = plot.roofline(choices, {"kernel": style}, log, log, ends=(1, 5000), reached=True)
    for roof, peak, bandwidth in zip(
        figure.data[:2], ("bf16 peak", "bf16 matmul"), ("hbm bandwidth", "hbm copy"), strict=True
    ):
        peak, bandwidth = H100[peak].value, H100[bandwidth].value
        assert points(roof) == pytest.approx({1: bandwidth / 1e12, peak / bandwidth: peak / 1e12, 5000: peak / 1e12})
    assert points(figure.data[-1]) == {8: 4}
    choose(figure, "Bytes", "predicted")
    assert points(figure.data[-1]) == {None: None}


def visible_bars(figure):
    """Name -> (percent of the limit, text, role, hollow), of the bars that are shown."""
    return {
        name: (x, text, trace.meta["role"], trace.meta["hollow"])
        for trace in visible(figure)
        if trace.type == "bar" and trace.text
        for name, x, text in zip(trace.y, trace.x, trace.text, strict=True)
    }


def test_a_ladder_has_the_part_of_the_limit_and_the_time_of_each_rung_and_one_accent():
    limit = plot.Rung("the limit", 0.5, measured=False)
    slow, ours, computed = plot.Rung("slow", 100), plot.Rung("own", 4, limit=3), plot.Rung("bytes", 2, measured=False)
    figure = plot.ladder({"all": [slow, ours, computed, limit], "one": [slow, limit]}, "Rungs", "all", accent="own")
    assert visible_bars(figure) == {
        "slow": (pytest.approx(0.5), "<b>0.5 %</b>  100 ms", "grey", False),
        "own": (75, "<b>75 %</b>  4 ms", "accent", False),
        "bytes": (25, "<b>25 %</b>  2 ms", "soft", True),
    }
    assert [trace.text[0].strip() for trace in visible(figure) if trace.type == "scatter"] == ["the limit, 0.5 ms"]
    choose(figure, "Rungs", "one")
    assert visible_bars(figure).keys() == {"slow"}


@pytest.mark.parametrize("part, text", [(0.128, "13 %"), (0.0028, "0.3 %"), (0.0003, "0.03 %"), (1, "100 %")])
def test_a_part_of_the_limit_has_as_many_digits_as_it_needs(part, text):
    assert plot.percent(part) == text
