"""The rung of chapter 1 again: the three lines, what their trips alone would take, and the limit."""

import plotly.graph_objects as go

from kernels.bench.cost import eager_traffic, qkvo_bytes, square_bytes
from scripts import records
from scripts.chapters import plot
from scripts.chapters.prefill_speed import TOKENS, WIDTH

ALT = (
    "A ladder of times on a logarithmic axis, slowest on top: the three lines as measured; the time that their six "
    "trips of the square would take if memory never paused; the same for the four trips of the textbook; and the "
    "limit, far to the left, which needs no square. Beside each time stands what part of the limit it reaches. Six "
    "trips alone, and four as well, take several times as long as the limit. A menu chooses the number of words."
)
HEAD_DIM = 128
HEADS = WIDTH // HEAD_DIM


def figure() -> go.Figure:
    rows = plot.rows_with(records.table("prefill_speed", f"forward_{HEAD_DIM}"), form="attention", causal=False)
    choices = {str(row["n"]): [plot.Rung("three lines", row["median"]), *predicted_rungs(row["n"])] for row in rows}
    return plot.ladder(choices, "Words N", "8192", accent="six trips")


def predicted_rungs(n: int) -> list[plot.Rung]:
    """What the bytes take at the maker's bandwidth: as typed, as the textbook has it, and at the limit."""
    batch = TOKENS // n
    typed_bytes = sum(step.read + step.written for step in eager_traffic(n, HEAD_DIM, 2, HEADS, batch))
    textbook_bytes = 4 * square_bytes(n, 2, HEADS, batch) + qkvo_bytes(n, HEAD_DIM, 2, HEADS, batch)
    bandwidth = plot.recorded_gpu("prefill_speed")["hbm bandwidth"].value
    return [
        plot.Rung("six trips", 1e3 * typed_bytes / bandwidth, measured=False),
        plot.Rung("four trips", 1e3 * textbook_bytes / bandwidth, measured=False),
        plot.limit_rung(n, HEAD_DIM, HEADS, batch),
    ]
