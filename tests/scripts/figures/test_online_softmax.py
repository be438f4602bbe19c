"""The figures of *Online softmax* draw where each type ends, and the factors."""

from math import exp, isclose

import pytest

from scripts import records
from scripts.figures.online_softmax import overflow, rescale_factor
from scripts.figures.plot import where
from tests.scripts.figures.controls import choose


@pytest.mark.parametrize("keys", [1, 64, 8192])
def test_the_bars_end_where_each_type_does(keys):
    figure = overflow.figure()
    gone = {row["type"]: row["gone"] for row in records.table("overflow", "where")}
    choose(figure, "Keys that share the score", f"{keys:,}")
    bars, _, labels = figure.data
    for kind, start, length, text in zip(bars.y, bars.base, bars.x, labels.text, strict=True):
        (row,) = where(records.table("overflow", "sums"), type=kind, keys=keys)
        assert start == gone[kind] and isclose(start + length, row["highest"]) and text == f" {row['highest']:.1f}"


def test_random_dot_products_reach_three_spreads_to_either_side():
    _, dots, _ = overflow.figure().data
    (row,) = where(records.table("scaling", "scaling"), d=64)
    assert list(dots.base) == [-3 * row["spread_raw"], -3 * row["spread"]]
    assert [start + length for start, length in zip(dots.base, dots.x, strict=True)] == [-start for start in dots.base]


def test_the_recorded_sums_are_those_of_the_definition():
    seen = []
    for block in records.table("online_softmax", "arrivals"):
        seen += [block[f"s{place}"] for place in range(8)]
        assert block["sum"] == pytest.approx(sum(exp(score - max(seen)) for score in seen), rel=1e-5)


def test_the_factors_of_three_orders():
    rows = records.table("softmax_order", "factors")[1:]
    for trace in rescale_factor.figure().data:
        assert list(trace.y) == [row[trace.name] for row in rows]
    assert all(row["falling"] == 1 and row["rising"] < 1 for row in rows)
    assert sum(row["random"] == 1 for row in rows) > 24
