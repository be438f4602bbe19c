"""Peak memory of the three lines and of FlashAttention against N, predicted and measured, and where it runs out."""

import plotly.graph_objects as go

from kernels.bench.cost import eager_peak_bytes, fused_peak_bytes, mib
from scripts import records
from scripts.chapters import plot

ALT = (
    "Peak memory of one head against the number of words, both axes logarithmic. Two predicted lines: that of the "
    "three lines of code rises with the square of the words, that of FlashAttention with the words. The measured "
    "points: of the three lines of code, {fact=three_lines_as_counted}; of FlashAttention, {fact=flash_as_counted}. "
    "A cross stands where the three lines of code ran out of memory; FlashAttention goes on. Some points of PyTorch's "
    "flash backend stand beside the line of FlashAttention."
)
HEAD_DIM, ELEMENT_BYTES = 128, 2  # as in the snippet
LABELLED_N = 8192  # where PyTorch's backend still lies apart from ours
LENGTHS = [1024 * 2**doubled for doubled in range(11)]
PREDICTED = [
    (eager_peak_bytes, plot.Style("three lines", "ink", predicted=True)),
    (fused_peak_bytes, plot.Style("FlashAttention", "accent", predicted=True)),
]
MEASURED = {  # form -> its column in the table of the limit, and its style
    "attention": ("peak", plot.Style("three lines", "ink")),
    "flash_attention": ("fused", plot.Style("FlashAttention", "accent")),
    "sdpa_flash": (None, plot.Style("PyTorch's flash backend", "soft", symbol="diamond")),
}
FAILED = plot.Style("out of memory", "ink", symbol="x")


def figure() -> go.Figure:
    rows = records.table("prefill_memory", "forward")
    limit_rows = records.table("balloon", "limit")
    longest = limit_rows[-1]["longest"]  # the largest N that fitted
    row_by_n = {row["n"]: row for row in limit_rows}
    last, failed = row_by_n[longest], row_by_n[longest + limit_rows[-1]["gap"]]

    fig = go.Figure()
    for count, style in PREDICTED:
        sizes = [mib(count(n, HEAD_DIM, ELEMENT_BYTES)) for n in LENGTHS]
        fig.add_scatter(x=LENGTHS, y=sizes, **style.scatter("N = %{x:,}, predicted: %{y:,.4g} MiB", "lines"))
    for form, (column, style) in MEASURED.items():
        peaks = {row["n"]: row["peak"] for row in plot.rows_with(rows, form=form)}
        peaks |= {row["n"]: row[column] for row in (last, failed) if column}
        fitted = sorted(n for n, peak in peaks.items() if peak)
        hover = f"N = %{{x:,}}, {style.name}: %{{y:,.4g}} MiB"
        fig.add_scatter(x=fitted, y=[peaks[n] for n in fitted], **style.scatter(hover, "markers", size=9, named=None))
    labelled_rows = plot.rows_with(rows, form="sdpa_flash", n=LABELLED_N)
    plot.add_text(
        fig,
        [LABELLED_N],
        [row["peak"] for row in labelled_rows],
        [" PyTorch's flash"],
        textposition="top right",
        role="soft",
    )
    hover = "N = %{x:,}: out of memory; %{y:,.4g} MiB would be needed"
    fig.add_scatter(x=[failed["n"]], y=[failed["expected"]], **FAILED.scatter(hover, "markers", size=13, named="above"))
    return plot.finish(
        fig,
        420,
        xaxis=plot.log_axis("words N", LENGTHS[::2]),
        yaxis=plot.log_axis_of_bytes("peak memory", [2**20, 2**25, 2**30, 2**35, 2**40], mib),
    )
