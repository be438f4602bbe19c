"""The three lines as N grows, above two floors: their bytes at a copy's speed, and their arithmetic at a matmul's."""

import plotly.graph_objects as go

from kernels.bench.cost import attention_flops, eager_traffic
from scripts import records
from scripts.chapters import plot
from scripts.chapters.prefill_speed import TOKENS, WIDTH

ALT = (
    "Milliseconds against the number of words N, both axes logarithmic. Three lines rise. Lowest is the floor of "
    "arithmetic. Above it, several times as high, is the floor of memory: six trips of all squares, and one of "
    "the small tables, at the speed of a copy. The measured time starts close above the floor of memory and leaves it "
    "as N grows. At the largest N it is nearer to it again."
)
HEAD_DIM = 128
HEADS = WIDTH // HEAD_DIM
MEASURED = plot.Style("measured", "ink")
MEMORY = plot.Style("its bytes", "accent", predicted=True)
ARITHMETIC = plot.Style("its arithmetic", predicted=True)


def figure() -> go.Figure:
    rows = plot.rows_with(records.table("prefill_speed", f"forward_{HEAD_DIM}"), form="attention", causal=False)
    lengths = [row["n"] for row in rows]
    moved_bytes = [
        sum(step.read + step.written for step in eager_traffic(n, HEAD_DIM, 2, HEADS, TOKENS // n)) for n in lengths
    ]
    flops = [attention_flops(n, HEAD_DIM, HEADS, TOKENS // n) for n in lengths]
    gpu = plot.recorded_gpu("prefill_speed")
    fig = go.Figure()
    for style, times in [
        (MEASURED, [row["median"] for row in rows]),
        (MEMORY, [1e3 * count / gpu["hbm copy"].value for count in moved_bytes]),
        (ARITHMETIC, [1e3 * count / gpu["bf16 matmul"].value for count in flops]),
    ]:
        fig.add_scatter(x=lengths, y=times, **style.scatter("N = %{x}, %{name}: %{y:.3g} ms"))
    return plot.finish(
        fig,
        360,
        xaxis=plot.log_axis("words N", lengths),
        yaxis=plot.log_axis("milliseconds", [0.1, 0.3, 1, 3, 10, 30]),
    )
