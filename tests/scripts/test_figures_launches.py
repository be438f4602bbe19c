"""The bars of counts, times and timelines are those of the record: only a GPU launches anything."""

import pytest

from scripts import records
from scripts.figures.many_heads import launch_counts, launch_timeline, launch_times


def test_the_bars_are_the_counts():
    rows = records.table("kernel_launches", "by_kind")
    figure = launch_counts.figure()
    for form, name in launch_counts.FORMS.items():
        drawn = {bar.name: bar.x[bar.y.index(name)] for bar in figure.data}
        wanted = {row["kind"]: row["launches"] for row in rows if row["form"] == form}
        assert sum(drawn.values()) == wanted.pop("all")
        assert {kind: count for kind, count in drawn.items() if count} == wanted


def test_the_bars_are_the_times():
    names = {name: form for form, name in launch_times.FORMS.items()}
    ways = {name: way for way, (name, *_) in launch_times.WAYS.items()}
    drawn = [
        (ways[bar.name], names[y], x) for bar in launch_times.figure().data for x, y in zip(bar.x, bar.y, strict=True)
    ]
    rows = records.table("kernel_launches", "times")
    assert sorted(drawn) == sorted((way, row["form"], row[way]) for row in rows for way in launch_times.WAYS)


def test_every_event_is_a_bar_from_its_start_for_its_duration():
    try:
        rows = records.table("launch_timeline", "events")
    except records.Missing as missing:
        pytest.skip(str(missing))
    figure = launch_timeline.figure()
    panels = {"y": "loop", "y2": "at_once"}
    sides = {lane: side for side, (lane, *_) in launch_timeline.LANES.items()}
    (menu,) = figure.layout.updatemenus
    for button in menu.buttons:
        visible, axes = button.args[0]["visible"], button.args[1]
        n = 2048 if "long" in button.label else 128
        drawn = [
            (panels[bar.yaxis], sides[lane], start, duration)
            for bar, shown in zip(figure.data, visible, strict=True)
            if shown
            for lane, start, duration in zip(bar.y, bar.base, bar.x, strict=True)
        ]
        wanted = [(row["form"], row["side"], row["start"], row["duration"]) for row in rows if row["n"] == n]
        assert sorted(drawn) == sorted(wanted)
        ends = [start + duration for form, _, start, duration in wanted if form == "at_once" or "whole" in button.label]
        assert max(ends) < axes["xaxis.range"][1] == axes["xaxis2.range"][1]
    first = menu.buttons[0]
    assert [bar.visible for bar in figure.data] == first.args[0]["visible"]
    assert list(figure.layout.xaxis.range) == first.args[1]["xaxis.range"] == list(figure.layout.xaxis2.range)
