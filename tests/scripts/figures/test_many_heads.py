"""The bars of counts, times and timelines are those of the record: only a GPU launches anything."""

import pytest

from scripts import records
from scripts.figures.many_heads import forms_and_limit, launch_counts, launch_timeline, launch_times
from scripts.figures.plot import where
from tests.scripts.figures.controls import choose, visible


def test_the_bars_are_the_counts():
    figure = launch_counts.figure()
    for form, name in launch_counts.FORMS.items():
        drawn = {bar.name: bar.x[bar.y.index(name)] for bar in figure.data}
        rows = where(records.table("kernel_launches", "by_kind"), form=form)
        wanted = {row["kind"]: row["launches"] for row in rows}
        assert sum(drawn.values()) == wanted.pop("all")
        assert {kind: count for kind, count in drawn.items() if count} == wanted


def test_the_bars_are_the_times():
    names = {name: form for form, name in launch_times.FORMS.items()}
    ways = {look.name: way for way, (look, _) in launch_times.WAYS.items()}
    drawn = [
        (ways[bar.name], names[y], x) for bar in launch_times.figure().data for x, y in zip(bar.x, bar.y, strict=True)
    ]
    rows = records.table("kernel_launches", "times")
    assert sorted(drawn) == sorted((way, row["form"], row[way]) for row in rows for way in launch_times.WAYS)


@pytest.mark.parametrize(
    "label, n, forms",
    [
        ("short input, first part", 128, ["at_once"]),
        ("short input, whole call", 128, ["at_once", "loop"]),
        ("long input, whole call", 2048, ["at_once", "loop"]),
    ],
)
def test_every_event_is_a_bar_from_its_start_for_its_duration(label, n, forms):
    figure = launch_timeline.figure()
    choose(figure, "Show", label)
    panels = {"y": "loop", "y2": "at_once"}
    sides = {lane: side for side, (lane, *_) in launch_timeline.LANES.items()}
    drawn = [
        (panels[bar.yaxis], sides[lane], start, duration)
        for bar in visible(figure)
        for lane, start, duration in zip(bar.y, bar.base, bar.x, strict=True)
    ]
    rows = where(records.table("launch_timeline", "events"), n=n)
    assert sorted(drawn) == sorted((row["form"], row["side"], row["start"], row["duration"]) for row in rows)
    end = max(row["start"] + row["duration"] for row in rows if row["form"] in forms)
    assert end < figure.layout.xaxis.range[1] < 1.05 * end and figure.layout.xaxis2.range == figure.layout.xaxis.range


@pytest.mark.parametrize(
    "label, batch, n, least",
    [
        # both inputs by hand: 128 words are held back by their bytes, 8 · 2048 by their arithmetic
        ("batch 1, 128 tokens", 1, 128, 1e3 * (2 * 128 * 512 * 2 + 4 * 512 * 512 * 2) / 3.35e12),
        ("batch 8, 2048 tokens", 8, 2048, 1e3 * 8 * (4 * 2 * 2048 * 512 * 512 + 2 * 2 * 2048 * 2048 * 512) / 989.4e12),
    ],
)
def test_the_rungs_are_the_times_beside_the_limit(label, batch, n, least):
    figure = forms_and_limit.figure()
    choose(figure, "Input", label)
    measured, reckoned = visible(figure)
    rows = {row["form"]: row for row in where(records.table("kernel_launches", "times"), batch=batch, n=n)}
    times = [rows[form][column] for column in ("wall", "replayed") for form in ("loop", "at_once")]
    assert list(measured.x) == times
    assert reckoned.x[0] == pytest.approx(least, rel=1e-3)
    shares = [float(text.split()[2]) for text in measured.text]
    assert shares == pytest.approx([100 * least / time for time in times], rel=0.01)
