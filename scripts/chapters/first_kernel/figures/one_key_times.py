"""One key at a time beside PyTorch at one N: the same FLOPs in many small heads or few large ones."""

import plotly.graph_objects as go

from scripts import records
from scripts.chapters import plot
from scripts.chapters.prefill_speed import HEAD_DIMS, WIDTH, N

ALT = (
    "A chart with a logarithmic time axis and three settings of the same arithmetic: three head dimensions, of "
    "sixty-four, a hundred and twenty-eight and two hundred and fifty-six numbers. In each of them three points: the "
    "one-key kernel, the three lines of PyTorch, and the fastest of PyTorch's fused kernels."
)
ONE_KEY = plot.Style("one key", "accent")
THREE_LINES = plot.Style("three lines", "ink")
FASTEST = plot.Style("PyTorch's fastest")


def figure() -> go.Figure:
    by_head_dim = [medians(head_dim) for head_dim in HEAD_DIMS]
    fig = go.Figure()
    for style, milliseconds in [
        (ONE_KEY, [each["one_key_attention"] for each in by_head_dim]),
        (THREE_LINES, [each["attention"] for each in by_head_dim]),
        (FASTEST, [min(time for form, time in each.items() if form.startswith("sdpa")) for each in by_head_dim]),
    ]:
        settings = [f"{WIDTH // head_dim} heads<br>of {head_dim}" for head_dim in HEAD_DIMS]
        fig.add_scatter(x=settings, y=milliseconds, **style.scatter("%{name}: %{y:.3g} ms"))
    return plot.finish(
        fig,
        360,
        xaxis={"type": "category"},
        margin={"b": 48},
        yaxis=plot.log_axis("milliseconds", [0.1, 1, 10, 100]),
    )


def medians(head_dim: int) -> dict[str, float]:
    rows = plot.rows_with(records.table("prefill_speed", f"forward_{head_dim}"), n=N, causal=False)
    return {row["form"]: row["median"] for row in rows}
