"""The figures of *Decode and the KV cache* draw the recorded times and the sizes that follow from one token's bytes."""

from itertools import product

import pytest

from kernels.bench.hardware import H100, H200
from scripts import records
from scripts.figures import plot
from scripts.figures.decode import cache_size, decode_ladder, decode_time
from scripts.figures.plot import where
from tests.scripts.figures.controls import choose, controls, points, visible


def test_a_cache_has_the_bytes_of_its_tokens_in_all_layers_and_is_read_at_the_makers_bandwidth():
    figure = cache_size.figure()
    token = {row["format"]: row["token"] for row in records.table("kv_cache_size", "formats")}
    for label, heads in cache_size.HEADS.items():
        choose(figure, "Heads of keys and values", label)
        for line, format in zip(figure.data, ("bf16", "fp8", "nvfp4"), strict=False):
            sizes = {n: token[format] * n * heads / 8 * 32 for n in line.x}
            assert points(line) == pytest.approx({n: size / 2**30 for n, size in sizes.items()})
            seconds = [size / H100["hbm bandwidth"].value for size in sizes.values()]
            assert list(line.customdata) == pytest.approx([1e3 * each for each in seconds])
    assert set(figure.data[-1].y) == {H100["hbm"].value / 2**30}


def test_a_point_is_a_row_at_the_bytes_that_it_read():
    figure = decode_time.figure()
    rows = records.table("decode_speed", "decode")
    settings, _ = controls(figure)["Setting"]
    *one_each, every = settings
    shown = 0
    for setting, look in product(one_each, decode_time.FORMS.items()):
        choose(figure, "Setting", setting)
        form, trace = look[0], next(trace for trace in figure.data if trace.name == look[1].name)
        own = [row for row in where(rows, form=form) if setting == decode_time.setting(row)]
        assert points(trace) == {row["read"] * row["median"]: row["median"] for row in own}
        assert all(
            x < figure.layout.xaxis.range[1] and y < figure.layout.yaxis.range[1] for x, y in points(trace).items()
        )
        shown += len(own)
    choose(figure, "Setting", every)
    assert shown == len(rows) == sum(len(trace.x) for trace in figure.data if trace.mode == "markers+text")


def test_the_bandwidth_is_that_of_the_gpu_of_the_record():
    assert records.read("decode_speed").provenance["gpu"] == "NVIDIA H200"
    assert plot.chip("decode_speed") is H200


def test_the_lines_are_the_bandwidths():
    maker, reached = decode_time.figure().data[:2]
    (row,) = records.table("decode_speed", "sum")
    assert maker.x[1] / maker.y[1] == pytest.approx(H200["hbm bandwidth"].value / 1e12)
    assert reached.x[1] / reached.y[1] == pytest.approx(row["read"])


@pytest.mark.parametrize(
    "batch, heads, n", [(16, "32/8", 8192), (1, "32/8", 131072), (64, "64/8", 4096), (16, "32/32", 8192)]
)
def test_each_rung_of_the_ladder_has_the_limit_of_its_own_bytes(batch, heads, n):
    figure = decode_ladder.figure()
    rows = where(records.table("decode_speed", "decode"), batch=batch, heads=heads, n=n)
    choose(figure, "Setting", decode_time.setting(rows[0]))
    measured, reckoned = visible(figure)
    assert (
        list(figure.layout.yaxis.categoryarray)
        == [*measured.y, *reckoned.y]
        == [*decode_ladder.RUNGS, "the limit, NVFP4"]
    )
    bits = {"bf16": 16, "fp8": 8, "nvfp4": 4.5}
    values = 2 * batch * int(heads.partition("/")[2]) * n * 128
    limits = {cache: 1e3 * values * each / 8 / H200["hbm bandwidth"].value for cache, each in bits.items()}
    for (form, cache), time, part in zip(decode_ladder.RUNGS.values(), measured.x, measured.customdata, strict=True):
        (row,) = where(rows, form=form, cache=cache)
        assert time == row["median"]
        assert float(part.split()[0]) == pytest.approx(100 * limits[cache] / time, rel=0.01)
    assert list(reckoned.x) == pytest.approx([limits["nvfp4"]], rel=1e-3) and list(reckoned.customdata) == ["100 %"]
    low, high = (10**end for end in figure.layout.xaxis.range)
    assert all(low < time < high for time in [*measured.x, *reckoned.x])


def test_the_text_of_the_ladder_is_true():
    """In the first setting: slowest on top; cuDNN nearest to its limit, Hopper further the fewer its bytes."""
    measured, reckoned = visible(decode_ladder.figure())
    times = [*measured.x, *reckoned.x]
    assert times == sorted(times, reverse=True)
    part = dict(zip(measured.y, (float(each.split()[0]) for each in measured.customdata), strict=True))
    assert part["cuDNN, BF16"] == max(part.values()) > 80 and part["portable, NVFP4"] < 20
    assert part["Hopper, BF16"] > part["Hopper, FP8"] > part["Hopper, NVFP4"]
