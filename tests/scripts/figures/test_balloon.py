# ruff: noqa: RUF001  (multiplication signs, as the figure has them)
"""The figures of *The balloon*, shape and memory, draw what ``kernels.bench.cost`` computes and what was recorded."""

import pytest

from kernels.bench.cost import eager_peak_bytes, fused_peak_bytes, mib
from scripts import records
from scripts.figures import plot
from scripts.figures.balloon import balloon, memory
from tests.scripts.figures.controls import choose, points, visible


def shown(figure):
    """The four labels and, from the top, the four widths that can be seen."""
    (label,) = [t for t in visible(figure) if t.type == "scatter" and t.opacity and not any(t.x)]
    widths = dict.fromkeys(balloon.PLACES, 0)
    for trace in visible(figure):
        if trace.type == "bar":
            for y, x in zip(trace.y, trace.x, strict=True):
                widths[y] += abs(x)
    return list(label.text), [widths[place] for place in balloon.PLACES]


def test_the_balloon_starts_as_the_chapter_has_it():
    labels, widths = shown(balloon.figure())
    assert labels == [
        "Q, K, V, each: 1024 of 4096×64, <b>1 GiB</b>",
        "scores: 1024 of 4096×4096, <b>64 GiB</b>",
        "shares: 1024 of 4096×4096, <b>64 GiB</b>",
        "output: 1024 of 4096×64, <b>1 GiB</b>",
    ]
    assert widths == [1 / 64, 1, 1, 1 / 64]


@pytest.mark.parametrize("n", balloon.WORDS)
@pytest.mark.parametrize("head_dim", balloon.HEAD_DIMS)
def test_a_balloon_is_of_the_size_that_was_chosen(n, head_dim):
    figure = balloon.figure()
    for label, count in balloon.HEADS.items():  # in whatever order the four are chosen
        for kind, element_bytes in balloon.TYPES.items():
            choose(figure, "Words N", f"{n:,}")
            choose(figure, "Heads", label)
            choose(figure, "d", str(head_dim))
            choose(figure, "Type", kind)
            labels, widths = shown(figure)
            times = f"{count} of " if count > 1 else ""
            row, square = (plot.binary(size * element_bytes * count) for size in (n * head_dim, n * n))
            assert labels[0] == f"Q, K, V, each: {times}{n}×{head_dim}, <b>{row}</b>"
            assert labels[1] == f"scores: {times}{n}×{n}, <b>{square}</b>"
            widest = max(n, head_dim)
            assert widths == [head_dim / widest, n / widest, n / widest, head_dim / widest]


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
