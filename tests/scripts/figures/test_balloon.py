"""The figure of *The balloon*, memory, draws what ``kernels.bench.cost`` computes and what was recorded."""

from kernels.bench.cost import eager_peak_bytes, fused_peak_bytes, mib
from scripts import records
from scripts.figures.balloon import memory
from tests.scripts.figures.controls import points


def test_memory_draws_the_prediction_the_records_and_the_end():
    rows, tried = records.table("prefill_memory", "forward"), records.table("balloon", "limit")
    unfused, fused, lines, flash, library, failed = memory.figure().data
    for trace, count in [(unfused, eager_peak_bytes), (fused, fused_peak_bytes)]:
        assert list(trace.y) == [mib(count(n, 128, 2)) for n in trace.x]
    fits, fails = max(row["n"] for row in tried if row["peak"]), min(row["n"] for row in tried if not row["peak"])
    for trace, form, column in [
        (lines, "attention", "peak"),
        (flash, "flash_attention", "fused"),
        (library, "sdpa_flash", ""),
    ]:
        measured = {row["n"]: row["peak"] for row in rows if row["form"] == form and row["peak"]}
        measured |= {row["n"]: row[column] for row in tried if column and row["n"] in (fits, fails) and row[column]}
        assert points(trace) == measured and list(trace.x) == sorted(trace.x)
    assert max(lines.x) == fits and list(failed.x) == [fails] and fails in flash.x
