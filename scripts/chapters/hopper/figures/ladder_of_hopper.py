"""The ladder of chapter 9: from the portable kernel, each mechanism in turn, beside cuDNN and the limit."""

import plotly.graph_objects as go

from scripts.chapters import plot
from scripts.chapters.hopper import steps

ALT = (
    "A ladder of times on a logarithmic axis: the portable kernel, then specialised warps, overlapped softmax, "
    "persistent programs, pairs and single blocks, each added to those before; then with the middle heads queries in "
    "registers, with the smallest and the largest ping-pong, with the largest conditional rescaling, with the smallest "
    "half of the last block, and with the two smaller an overlapped epilogue; cuDNN for comparison; and the limit. "
    "Beside each time stands what part of the limit it reaches. With the heads shown first every step is nearer to the "
    "limit than the one before, but for persistent programs, which fall far back, and the overlapped epilogue, the "
    "last, which is level with it. Pairs bring back nearly all that persistent programs lost, and single blocks the "
    "rest; so they do with the largest heads, where ping-pong falls back a little, and conditional rescaling, the "
    "last, comes nearest to the limit. A menu chooses the heads."
)
N, TOKENS, WIDTH = 16384, 16384, 2048
HEAD_DIMS = (64, 128, 256)


def figure() -> go.Figure:
    choices = {f"d = {head_dim}": rungs(head_dim) for head_dim in HEAD_DIMS}
    return plot.ladder(choices, "Heads", "d = 128", accent="persistent")


def rungs(head_dim: int) -> list[plot.Rung]:
    """Causal, of one run."""
    rows = plot.rows_with(steps.rows_of(head_dim), n=N, causal=True)
    median = {row["step"]: row["median"] for row in rows}
    limit = plot.limit_rung(N, head_dim, WIDTH // head_dim, TOKENS // N, causal=True, snippet="hopper_steps")
    return [*(plot.Rung(name, median[step]) for step, name in steps.NAMES.items() if step in median), limit]
