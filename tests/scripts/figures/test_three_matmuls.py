"""The figures of *Attention as three matmuls* draw what was recorded."""

import pytest

from scripts import records
from scripts.figures.three_matmuls import scaling


def test_scaling_draws_both_forms_of_three_quantities_on_logarithmic_axes():
    figure = scaling.figure()
    rows = records.table("scaling", "scaling")
    columns = ["spread_raw", "spread", "largest_raw", "largest", "gradient_raw", "gradient"]
    assert [list(trace.y) for trace in figure.data] == [[row[column] for row in rows] for column in columns]
    assert all(list(trace.x) == [row["d"] for row in rows] for trace in figure.data)
    axes = figure.select_xaxes(), figure.select_yaxes()
    assert {axis.type for each in axes for axis in each} == {"log"}
    assert sorted({trace.name for trace in figure.data if trace.showlegend}) == ["divided by √d", "not divided"]


def test_scaling_measured_what_the_chapter_proves():
    rows = records.table("scaling", "scaling")
    for row in rows:
        assert row["spread_raw"] == pytest.approx(row["d"] ** 0.5, rel=0.02)
        assert row["spread"] == pytest.approx(1, rel=0.02)
    first, *_, last = rows
    assert last["largest_raw"] > 90 > 20 > last["largest"]
    assert last["gradient_raw"] < 1e-20 < last["gradient"]
    assert last["gradient"] > first["gradient"] / 2 / last["d"] ** 0.5  # it falls as the root of d
