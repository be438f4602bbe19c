"""The figures of *64x traffic*, bytes, times, roofline and floors, draw the records; their alternatives are true."""

import pytest

from kernels.bench.cost import attention_flops
from scripts import records
from scripts.figures.plot import chip, where
from scripts.figures.traffic import bytes_by_kernel, eager_roofline, ladder_of_bytes, memory_floor, time_by_kernel
from tests.scripts.figures.controls import choose, visible

N, D = 8192, 128
MATMUL = attention_flops(N, D) / 2


def counted(form, caches):
    return where(records.table("hbm_traffic", "counted"), form=form, caches=caches)


@pytest.mark.parametrize("form, label", bytes_by_kernel.FORMS.items())
def test_bytes_are_those_of_the_record_for_both_forms(form, label):
    figure = bytes_by_kernel.figure()
    choose(figure, "Form", label)
    predicted = where(records.table("hbm_traffic", "predicted"), form=form)
    bars = [predicted, counted(form, "flushed"), counted(form, "kept")]
    wanted = [[row[moved] for row in rows] for moved in ("read", "written") for rows in bars]
    assert [list(trace.y) for trace in figure.data] == wanted
    assert all(list(trace.x) == [row["step"] for row in predicted] for trace in figure.data)


def test_what_falls_short_when_caches_are_kept_is_made_up_for_as_the_text_alternative_says():
    predicted = where(records.table("hbm_traffic", "predicted"), form="attention")
    missing = {
        caches: [
            want["written"] - row["written"] for want, row in zip(predicted, counted("attention", caches), strict=True)
        ]
        for caches in ("flushed", "kept")
    }
    assert min(missing["flushed"][:3]) > 15 and missing["kept"][0] > 15 and max(missing["kept"][1:]) < 0
    assert abs(sum(missing["kept"])) < 5


def test_times_are_those_of_the_record_and_the_text_alternative_is_true():
    taken, copied, computed = (list(trace.y) for trace in time_by_kernel.figure().data)
    rows = counted("attention", "flushed")
    assert taken == [1e3 * row["time"] for row in rows]
    qk, scale, softmax, pv = range(4)
    assert max(taken[qk], taken[pv]) < taken[scale]
    assert all(taken[i] > copied[i] > max(taken[i] / 2, computed[i]) for i in (qk, pv))
    assert 1.05 < taken[scale] / copied[scale] < 1.15 and taken[softmax] / copied[softmax] > 2.7
    speed = {what: constant.value for what, constant in chip("hbm_traffic").items()}
    moved = [row["read"] + row["written"] for row in rows]
    assert copied == pytest.approx([1e12 * megabytes / speed["hbm copy"] for megabytes in moved])
    assert computed[qk] == computed[pv] == pytest.approx(1e6 * MATMUL / speed["bf16 matmul"])
    assert computed[scale] == computed[softmax] == 0 and max(taken) == taken[softmax]


def test_the_roofline_has_its_points_where_the_record_says_and_the_text_alternative_is_true():
    figure = eager_roofline.figure()
    points = {trace.name: trace for trace in figure.data if trace.mode == "markers+text"}
    rows = dict(zip(points, counted("attention", "flushed"), strict=False))
    for name, flops in {"QKᵀ": MATMUL, "scale": N * N, "softmax": 5 * N * N, "PV": MATMUL}.items():
        moved = 1e6 * (rows[name]["read"] + rows[name]["written"])
        wanted = flops / moved, flops / rows[name]["time"] / 1e9
        assert (points[name].x[0], points[name].y[0]) == pytest.approx(wanted)
    maker, own = (trace for trace in figure.data if trace.mode == "lines")
    speed = {what: constant.value for what, constant in chip("hbm_traffic").items()}
    for roof, peak, bandwidth in [(maker, "bf16 peak", "hbm bandwidth"), (own, "bf16 matmul", "hbm copy")]:
        assert (roof.x[1], max(roof.y)) == pytest.approx((speed[peak] / speed[bandwidth], speed[peak] / 1e12))
    assert all(point.x[0] < maker.x[1] for point in points.values())
    under = {name: point.y[0] / (point.x[0] * speed["hbm bandwidth"] / 1e12) for name, point in points.items()}
    assert under["softmax"] < under["QKᵀ"] / 2 and min(under["scale"], under["PV"]) > 3 / 4
    choose(figure, "Bytes", "predicted")
    assert points["QKᵀ"].x[0] == pytest.approx(D / (1 + 2 * D / N))


def test_the_floors_and_the_time_are_in_the_order_that_is_told():
    measured, memory, arithmetic = (list(trace.y) for trace in memory_floor.figure().data)
    assert all(below < floor < time for below, floor, time in zip(arithmetic, memory, measured, strict=True))
    above = [time / floor for time, floor in zip(measured, memory, strict=True)]
    assert above[0] < 1.25 and above[:-1] == sorted(above[:-1]) and above[-1] < above[-2] / 1.25
    assert all(3 < floor / below < 8 for below, floor in zip(arithmetic, memory, strict=True))


@pytest.mark.parametrize("n", [512, 1024, 2048, 4096, 8192, 16384])
def test_the_ladder_ends_at_the_limit_and_its_rungs_are_the_records_and_the_bytes_over_the_bandwidth(n):
    figure = ladder_of_bytes.figure()
    choose(figure, "Words N", str(n))
    measured, reckoned = visible(figure)
    (row,) = where(records.table("prefill_speed", "forward_128"), form="attention", causal=False, n=n)
    words, heads, bandwidth = 16384, 16, chip("prefill_speed")["hbm bandwidth"].value
    square, small = 1e3 * words * n * heads * 2 / bandwidth, 1e3 * 4 * words * D * heads * 2 / bandwidth
    limit = max(small, 1e3 * 4 * words * n * D * heads / chip("prefill_speed")["bf16 peak"].value)
    assert list(measured.x) == [row["median"]]
    assert list(reckoned.x) == pytest.approx([6 * square + small, 4 * square + small, limit])
    rungs = dict(zip([*measured.y, *reckoned.y], [*measured.text, *reckoned.text], strict=True))
    assert (
        list(rungs)
        == ["three lines", "six trips", "four trips", "the limit"]
        == list(figure.layout.yaxis.categoryarray)
    )
    assert rungs["three lines"] == f"{row['median']:.3g} ms, {100 * limit / row['median']:.3g} %"
    assert rungs["the limit"].endswith("100 %") and all(time > 2 * limit for time in reckoned.x[:-1])
