"""The ladder as it stands after chapter 1: the three lines, the fused kernel that PyTorch has, and the limit."""

import plotly.graph_objects as go

from scripts import records
from scripts.chapters import plot
from scripts.chapters.prefill_speed import TOKENS, WIDTH

ALT = (
    "A ladder of times on a logarithmic axis, slowest on top: the three lines, the fastest fused kernel of PyTorch, "
    "and the limit of the chip. Beside each time stands what part of the limit it reaches. At every number of words "
    "the three lines stay far from the limit, and the fused kernel gets more than half of the way. A menu chooses the "
    "number of words."
)
HEAD_DIM = 128
HEADS = WIDTH // HEAD_DIM


def figure() -> go.Figure:
    rows = plot.rows_with(records.table("prefill_speed", f"forward_{HEAD_DIM}"), causal=False)
    lengths = dict.fromkeys(row["n"] for row in rows)
    choices = {str(n): rungs(n, {row["form"]: row["median"] for row in plot.rows_with(rows, n=n)}) for n in lengths}
    return plot.ladder(choices, "Words N", "8192", accent="three lines")


def rungs(n: int, median: dict[str, float]) -> list[plot.Rung]:
    """From the medians of all forms at N words."""
    return [
        plot.Rung("three lines", median["attention"]),
        plot.fastest_fused(median),
        plot.limit_rung(n, HEAD_DIM, HEADS, TOKENS // n),
    ]
