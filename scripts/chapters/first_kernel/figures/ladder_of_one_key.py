"""The ladder after chapter 5: one key at a time, the three lines, the fused kernel that PyTorch has, and the limit."""

import plotly.graph_objects as go

from scripts import records
from scripts.chapters import plot
from scripts.chapters.prefill_speed import HEAD_DIMS, TOKENS, WIDTH, N

ALT = (
    "A ladder of times on a logarithmic axis, slowest on top: one key at a time, the three lines, the fastest fused "
    "kernel of PyTorch, and the limit of the chip. Beside each time stands what part of the limit it reaches. A menu "
    "chooses the head dimension."
)


def figure() -> go.Figure:
    choices = {str(head_dim): rungs(head_dim) for head_dim in HEAD_DIMS}
    return plot.ladder(choices, "Head dimension d", "128", accent="one key")


def rungs(head_dim: int) -> list[plot.Rung]:
    rows = plot.rows_with(records.table("prefill_speed", f"forward_{head_dim}"), n=N, causal=False)
    median = {row["form"]: row["median"] for row in rows}
    return [
        plot.Rung("one key", median["one_key_attention"]),
        plot.Rung("three lines", median["attention"]),
        plot.fastest_fused(median),
        plot.limit_rung(N, head_dim, WIDTH // head_dim, TOKENS // N),
    ]
