"""The figures of chapter 8 draw what the records and kernels.bench.cost say."""

import pytest

from kernels.bench.cost import attention_flops, requested_bytes
from kernels.bench.hardware import H200
from scripts import records
from scripts.figures.flash_attention import ladder_memory, ladder_speed, roofline_rungs, tile_bytes, whole_ladder
from scripts.figures.plot import chip, where
from tests.scripts.figures.controls import choose, points, visible


def test_bytes_asked_for_and_counted():
    asked, _, least, ours, counted = tile_bytes.figure().data
    assert list(asked.y) == [requested_bytes(8192, 128, 2, block) / 1e6 for block in tile_bytes.BLOCKS]
    (row,) = where(records.table("hbm_traffic", "whole"), form="flash_attention")
    assert (ours.y[0], counted.y[0]) == (row["requested"], row["flushed"]) and ours.x[0] == counted.x[0] == 64
    assert counted.y[0] < least.y[0] < ours.y[0]


@pytest.mark.parametrize("head_dim", ladder_speed.HEAD_DIMS)
@pytest.mark.parametrize("label, direction, causal", [(label, *which) for label, which in ladder_speed.PASSES.items()])
def test_the_ladder_shows_every_row_of_the_record(head_dim, label, direction, causal):
    figure = ladder_speed.figure()
    choose(figure, "Pass", label)
    choose(figure, "Head dimension d", str(head_dim))
    lines = {trace.name: points(trace) for trace in visible(figure) if trace.mode != "text"}
    drawn = sorted((name, n, y) for name, line in lines.items() for n, y in line.items() if y is not None)
    rows = where(records.table("prefill_speed", f"{direction}_{head_dim}"), causal=causal)
    assert drawn == sorted((ladder_speed.FORMS[row["form"]].name, row["n"], row["speed"]) for row in rows)


@pytest.mark.parametrize("label, name", ladder_memory.PASSES.items())
def test_the_ladder_of_memory_has_a_line_for_every_form_and_says_who_ran_out(label, name):
    figure = ladder_memory.figure()
    rows = records.table("prefill_memory", name)
    for n in {row["n"] for row in rows}:
        choose(figure, "What is measured", f"{label}, N = {n:,}")
        failed = set(figure.data[-1].y)
        peaks = {form: peak for trace in figure.data[:-1] for form, peak in zip(trace.y, trace.x, strict=True)}
        now = {ladder_memory.FORMS[row["form"]]: row for row in where(rows, n=n)}
        assert failed == {form for form, row in now.items() if row["out_of_memory"]}
        assert peaks == {form: row["peak"] for form, row in now.items() if not row["out_of_memory"]}
        lines = list(figure.layout.yaxis.categoryarray)
        assert set(now) <= set(lines) and len(lines) == len(set(lines))  # nobody hides behind another


@pytest.mark.parametrize("n", [512, 1024, 2048, 4096, 8192, 16384])
def test_the_whole_ladder_has_every_rung_of_the_run_and_what_part_of_the_limit_it_reaches(n):
    figure = whole_ladder.figure()
    choose(figure, "Words N", str(n))
    measured, reckoned = visible(figure)
    rows = where(records.table("prefill_speed", "forward_128"), causal=False, n=n)
    assert min(rows, key=lambda row: row["median"])["form"] == "sdpa_cudnn"
    times = {whole_ladder.FORMS[row["form"]]: row["median"] for row in rows if row["form"] in whole_ladder.FORMS}
    assert dict(zip(measured.y, measured.x, strict=True)) == times
    assert records.read("prefill_speed").provenance["gpu"] == "NVIDIA H200"
    arithmetic = 1e3 * attention_flops(n, 128, 16, 16384 // n) / H200["bf16 peak"].value
    least = 1e3 * 4 * 16384 * 16 * 128 * 2 / H200["hbm bandwidth"].value
    (limit,) = reckoned.x
    assert limit == pytest.approx(max(arithmetic, least)) and arithmetic > least
    said = dict(zip(measured.y, measured.text, strict=True))
    assert said == {name: f"{time:.3g} ms, {100 * limit / time:.3g} %" for name, time in times.items()}
    if n == 512:
        assert set(times) == set(whole_ladder.FORMS.values())
        assert sorted(times, key=times.get, reverse=True) == list(figure.layout.yaxis.categoryarray)[:-1]


def test_the_roofline_places_each_rung_by_its_flops_and_bytes():
    counted, predicted = roofline_rungs.counted(), roofline_rungs.predicted()
    (whole,) = where(records.table("hbm_traffic", "whole"), form="flash_attention")
    assert counted["flash_attention"][0] == pytest.approx(attention_flops(8192, 128) / 1e6 / whole["flushed"])
    assert set(counted) < set(predicted) == set(roofline_rungs.FORMS)
    assert predicted["flash_attention"][0] == 8192 / 2  # N/2, as chapter 4 has it
    for form in ("attention", "three_kernel_attention"):  # as predicted for one head, whose square has the same share
        kernels = where(records.table("hbm_traffic", "predicted"), form=form)
        moved = 1e6 * sum(row["read"] + row["written"] for row in kernels)
        assert predicted[form][0] == pytest.approx(attention_flops(8192, 128) / moved)
    assert max(predicted, key=lambda form: predicted[form][1]) == "sdpa_cudnn"
    figure = roofline_rungs.figure()
    assert chip("hbm_traffic") is chip("prefill_speed") is H200
    (maker,) = (trace for trace in figure.data if trace.mode == "lines")
    assert (max(maker.y), maker.x[1]) == pytest.approx((989, 989 / 4.8))
    for label, wanted in [("one head, bytes counted", counted), ("many heads, bytes predicted", predicted)]:
        choose(figure, "Bytes", label)
        drawn = {trace.name: (trace.x[0], trace.y[0]) for trace in figure.data if trace.mode == "markers+text"}
        for form, (look, _) in roofline_rungs.FORMS.items():
            assert drawn[look.name] == wanted.get(form, (None, None))
