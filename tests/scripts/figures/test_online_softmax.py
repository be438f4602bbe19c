"""The figures of *Online softmax* draw where each type ends, and the factors."""

from math import exp, isclose

import pytest

from scripts import records
from scripts.figures.online_softmax import ladder_before_flash, overflow, rescale_factor
from scripts.figures.plot import chip, where
from tests.scripts.figures.controls import choose, visible


@pytest.mark.parametrize("keys", [1, 64, 8192])
def test_the_bars_end_where_each_type_does(keys):
    figure = overflow.figure()
    gone = {row["type"]: row["gone"] for row in records.table("overflow", "where")}
    choose(figure, "Keys that share the score", f"{keys:,}")
    bars, _, labels, *arrowheads = figure.data
    edge, beyond = overflow.EDGE, []
    rows = zip(bars.y, bars.base, bars.x, bars.text, labels.text, strict=True)
    for kind, start, length, hover, text in rows:
        (row,) = where(records.table("overflow", "sums"), type=kind, keys=keys)
        assert hover == f"from {gone[kind]:.1f} to {row['highest']:.2f}" and text == f" {row['highest']:.1f}"
        assert start == max(gone[kind], -edge) and isclose(start + length, min(row["highest"], edge))
        assert (gone[kind] < -edge) == (row["highest"] > edge)
        beyond += [kind] if row["highest"] > edge else []
    for head, sign in zip(arrowheads, (-1, 1), strict=True):  # where a bar is cut
        assert list(head.y) == beyond == ["FP64"] and edge < sign * head.x[0] < figure.layout.xaxis.range[1]


def test_random_dot_products_reach_three_spreads_to_either_side():
    _, dots, *_ = overflow.figure().data
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


@pytest.mark.parametrize("head_dim", [64, 128, 256])
def test_the_ladder_has_the_times_of_the_record_the_bytes_of_three_kernels_and_the_limit(head_dim):
    figure = ladder_before_flash.figure()
    choose(figure, "Head dimension d", str(head_dim))
    measured, reckoned = visible(figure)
    rows = where(records.table("prefill_speed", f"forward_{head_dim}"), n=512, causal=False)
    times = {row["form"]: row["median"] for row in rows}
    names = {
        "one key": "one_key_attention",
        "key blocks": "key_blocks_attention",
        "three kernels": "three_kernel_attention",
    }
    names["three lines"] = "attention"
    assert dict(zip(measured.y, measured.x, strict=True)) == {name: times[form] for name, form in names.items()}
    squares, row_of_words = 32 * 2048 // head_dim * 512**2 * 4, 16384 * 2048 * 2  # bytes of all squares; of Q, say
    bandwidth = chip("prefill_speed")["hbm bandwidth"].value
    bytes_alone, limit = reckoned.x
    assert bytes_alone == pytest.approx(1e3 * (5 * squares + 4 * row_of_words) / bandwidth)
    by_arithmetic = 4 * 16384 * 512 * 2048 / chip("prefill_speed")["bf16 peak"].value
    assert limit == pytest.approx(1e3 * max(4 * row_of_words / bandwidth, by_arithmetic))
    assert 4 * limit < bytes_alone < times["three_kernel_attention"] < times["key_blocks_attention"] / 10
    assert measured.text[0] == f"{times['one_key_attention']:.3g} ms, {100 * limit / times['one_key_attention']:.3g} %"
