# ruff: noqa: RUF001  (multiplication signs, as the figure has them)
"""The figures of *The balloon*, shape and memory, draw what ``kernels.cost`` computes and what the record holds."""

import pytest

from kernels.bench.cost import eager_peak_bytes, fused_peak_bytes, mib
from scripts import records
from scripts.figures.balloon import balloon, memory


def choose(figure, control, label):
    """As Plotly's restyle does, each value to the trace at its place."""
    choices = control.buttons if hasattr(control, "buttons") else control.steps
    (choice,) = [choice for choice in choices if choice.label == label]
    changes, traces = choice.args
    for attribute, values in changes.items():
        assert len(values) == len(traces)
        for value, trace in zip(values, traces, strict=True):
            figure.data[trace][attribute] = value


def shown(figure):
    """The four labels and, from the top, the four widths that can be seen."""
    labels = [t for t in figure.data if t.type == "scatter" and t.visible and t.opacity and not any(t.x)]
    (label,) = labels
    bars = [trace for trace in figure.data if trace.type == "bar" and trace.visible]
    widths = dict.fromkeys(balloon.PLACES, 0)
    for trace in bars:
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
    dims, heads, types = figure.layout.updatemenus
    (slider,) = figure.layout.sliders
    for label, count in balloon.HEADS.items():  # in whatever order the four are chosen
        for kind, element_bytes in balloon.TYPES.items():
            choose(figure, slider, f"{n:,}")
            choose(figure, heads, label)
            choose(figure, dims, str(head_dim))
            choose(figure, types, kind)
            labels, widths = shown(figure)
            times = f"{count} of " if count > 1 else ""
            row, square = (balloon.binary(size * element_bytes * count) for size in (n * head_dim, n * n))
            assert labels[0] == f"Q, K, V, each: {times}{n}×{head_dim}, <b>{row}</b>"
            assert labels[1] == f"scores: {times}{n}×{n}, <b>{square}</b>"
            widest = max(n, head_dim)
            assert widths == [head_dim / widest, n / widest, n / widest, head_dim / widest]


@pytest.mark.parametrize(
    "size, text", [(1, "1 B"), (1024, "1 KiB"), (2**26, "64 MiB"), (2**36, "64 GiB"), (2**52, "4 PiB")]
)
def test_a_size_is_in_its_largest_unit(size, text):
    assert balloon.binary(size) == text


def test_memory_draws_the_prediction_the_records_and_the_end():
    try:
        rows, tried = records.table("prefill_memory", "forward"), records.table("balloon", "limit")
    except records.Missing as error:
        pytest.skip(str(error))
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
        assert dict(zip(trace.x, trace.y, strict=True)) == measured and list(trace.x) == sorted(trace.x)
    assert max(lines.x) == fits and list(failed.x) == [fails] and fails in flash.x
