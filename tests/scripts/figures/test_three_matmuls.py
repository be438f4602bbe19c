"""The figures of *Attention as three matmuls* draw what was recorded."""

import pytest

from scripts import records
from scripts.figures.plot import chip, where
from scripts.figures.three_matmuls import first_rung, scaling
from tests.scripts.figures.controls import choose, visible


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


@pytest.mark.parametrize("n", [512, 1024, 2048, 4096, 8192, 16384])
def test_the_ladder_has_the_times_of_the_record_and_the_limit_by_arithmetic_or_by_bytes(n):
    figure = first_rung.figure()
    choose(figure, "Words N", str(n))
    measured, reckoned = visible(figure)
    (limit,) = reckoned.x
    rows = where(records.table("prefill_speed", "forward_128"), n=n, causal=False)
    times = {row["form"]: row["median"] for row in rows}
    fused = min(times[name] for name in ("sdpa_flash", "sdpa_cudnn", "sdpa_efficient"))  # math is not fused
    assert dict(zip(measured.y, measured.x, strict=True)) == {
        "three lines": times["attention"],
        "PyTorch, fused": fused,
    }
    words, d, heads = 16384, 128, 16
    by_arithmetic = 4 * words * n * d * heads / chip("prefill_speed")["bf16 peak"].value
    by_bytes = 4 * words * d * heads * 2 / chip("prefill_speed")["hbm bandwidth"].value
    assert limit == pytest.approx(1e3 * max(by_arithmetic, by_bytes))
    assert limit < fused < 2 * limit < 7 * limit < times["attention"]  # as the alternative tells
    assert measured.text[0] == f"{times['attention']:.3g} ms, {100 * limit / times['attention']:.3g} %"
