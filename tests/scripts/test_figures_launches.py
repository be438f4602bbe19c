"""The figures of launches, drawn from the record: only a GPU launches anything."""

from scripts import records
from scripts.figures import launch_counts, launch_times


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
