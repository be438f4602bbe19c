"""What figures share does what it says: tooltips with a name, ticks, one choice shown at a time, roofs."""

import math

import plotly.graph_objects as go
import pytest

from kernels.bench.hardware import H100
from scripts.figures import plot
from tests.scripts.figures.controls import choose, controls, points, visible


def test_a_tooltip_has_the_name_of_its_trace_and_no_second_box():
    look = plot.Look("ours", "accent", "dot", "circle").scatter("%{name}: %{y:.1f} ms")
    assert look["hovertemplate"] == "ours: %{y:.1f} ms<extra></extra>"
    assert look["meta"] == {"role": "accent"} and look["line"] == {"dash": "dot"}


@pytest.mark.parametrize(
    "size, text",
    [(1, "1 B"), (1023, "1023 B"), (1024, "1 KiB"), (2**26, "64 MiB"), (2**36, "64 GiB"), (2**52, "4 PiB")],
)
def test_a_size_is_in_its_largest_unit(size, text):
    assert plot.binary(size) == text


def test_ticks_stand_where_they_say():
    words = plot.log_words("words", 2**16)
    assert dict(zip(words["ticktext"], words["tickvals"], strict=True)) == {
        "1024": 1024,
        "4096": 4096,
        "16 Ki": 16 * 1024,
        "64 Ki": 64 * 1024,
    }
    sizes = plot.log_sizes("size", [2**20, 2**35], lambda size: size / 2**20)
    assert (sizes["tickvals"], sizes["ticktext"]) == ([1, 2**15], ["1 MiB", "32 GiB"])


def test_rows_are_chosen_by_their_values():
    rows = [{"form": "a", "n": 1}, {"form": "a", "n": 2}, {"form": "b", "n": 1}]
    assert plot.where(rows, form="a", n=1) == rows[:1] and plot.where(rows) == rows


def test_a_switch_shows_the_traces_of_one_choice_and_always_those_of_none():
    figure = go.Figure([{"name": name} for name in ("first", "second", "level")])
    plot.page(figure, plot.Frame(), plot.switch(figure, "Which", ["one", "two"], "two"))
    assert controls(figure) == {"Which": (["one", "two"], "two")}
    assert [trace.name for trace in visible(figure)] == ["second", "level"]
    choose(figure, "Which", "one")
    assert [trace.name for trace in visible(figure)] == ["first", "level"]


def test_a_roof_rises_with_the_bandwidth_and_is_level_from_the_ridge_on():
    look = plot.Look("a kernel", "query"), "top left"
    choices = {"counted": {"kernel": (8, 4)}, "predicted": {}}
    log = plot.log("axis", [1])
    figure = plot.roofline(choices, {"kernel": look}, plot.Look("reached", "key"), log, log, ends=(1, 5000))
    for roof, peak, bandwidth in zip(
        figure.data, ("bf16 peak", "bf16 matmul"), ("hbm bandwidth", "hbm copy"), strict=False
    ):
        peak, bandwidth = H100[peak].value, H100[bandwidth].value
        assert points(roof) == pytest.approx({1: bandwidth / 1e12, peak / bandwidth: peak / 1e12, 5000: peak / 1e12})
    assert points(figure.data[-1]) == {8: 4}
    choose(figure, "Bytes", "predicted")
    assert points(figure.data[-1]) == {None: None}


def test_names_that_end_together_stand_a_line_apart_beside_their_curves_and_in_their_order():
    curves = [([1, 2], [1, 10]), ([1, 2], [1, 10.5]), ([1, 2], [None, None]), ([1, 2], [500, None]), ([1, 2], [1, 900])]
    places = plot.beside(curves, decades=3, height=300)
    assert places["x"] == [[2], [2], [None], [1], [2]]
    pixels = [y and 100 * math.log10(y) for (y,) in places["y"]]
    assert pixels[1] - pixels[0] == pytest.approx(plot.LINE) and pixels[2] is None
    assert (pixels[0] + pixels[1]) / 2 == pytest.approx(50 * math.log10(105))
    assert places["y"][3] == [pytest.approx(500)] and places["y"][4] == [pytest.approx(900)]


def test_the_text_of_a_rung_stands_inside_the_frame():
    rungs = [plot.Rung("slow", 300), plot.Rung("middle", 3), plot.Rung("the limit", 0.02, measured=False)]
    measured, limit = plot.ladder({"all": rungs}, "Rungs", "all", plot.log("ms", [1], range=[-2, 2.7])).data
    assert measured.textposition == ("top left", "top center") and limit.textposition == ("top right",)
