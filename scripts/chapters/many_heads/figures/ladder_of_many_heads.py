"""What a call of each form takes, and the least that an H100 would need for its arithmetic and its bytes."""

import plotly.graph_objects as go

from kernels.bench import cost
from kernels.bench.hardware import H100
from scripts import records
from scripts.chapters import plot

ALT = (
    "A ladder of times on a logarithmic axis, with a menu for the input: a loop over heads, all heads at once, the "
    "same two replayed from a graph, and below them the limit of the chip. Beside each time stands what part of the "
    "limit it reaches. For the long input the four times stand close together, more than ten times above the limit. "
    "For the short input they are spread out and far above the limit, and replaying is the larger step."
)
WIDTH, HEADS, ELEMENT_BYTES = 512, 8, 2  # as in kernel_launches
RUNGS = {  # the name on the axis -> form and column of the record
    "a loop": ("loop", "wall"),
    "all at once": ("at_once", "wall"),
    "a loop, replayed": ("loop", "replayed"),
    "at once, replayed": ("at_once", "replayed"),
}


def figure() -> go.Figure:
    rows = records.table("kernel_launches", "times")
    choices = {}
    for batch, n in dict.fromkeys((row["batch"], row["n"]) for row in rows):
        row_by_form = {row["form"]: row for row in plot.rows_with(rows, batch=batch, n=n)}
        rungs = [plot.Rung(name, row_by_form[form][column]) for name, (form, column) in RUNGS.items()]
        choices[f"batch {batch}, {n} tokens"] = [*rungs, limit_rung(batch, n)]
    return plot.ladder(choices, "Input", list(choices)[-1], accent="all at once")


def limit_rung(batch: int, n: int) -> plot.Rung:
    """The least that one call can take, by arithmetic or by bytes, whichever is more.

    Arithmetic: four projections, QKᵀ and PV.  Bytes: the words in and out, and the weights of the projections.
    """
    projections = 4 * 2 * batch * n * WIDTH**2
    flops = projections + cost.attention_flops(n, WIDTH // HEADS, HEADS, batch)
    words_in_and_out = cost.qkvo_bytes(n, WIDTH // HEADS, ELEMENT_BYTES, HEADS, batch) // 2
    moved_bytes = words_in_and_out + 4 * WIDTH**2 * ELEMENT_BYTES
    least_seconds = max(flops / H100["bf16 peak"].value, moved_bytes / H100["hbm bandwidth"].value)
    return plot.Rung("the limit", 1e3 * least_seconds, measured=False)
