"""What a call of each form takes, and the least that an H100 would need for its arithmetic and its bytes."""

import plotly.graph_objects as go

from kernels.bench import cost
from kernels.bench.hardware import H100
from scripts import records
from scripts.figures import plot

ALT = (
    "A ladder of times on a logarithmic axis, with a menu for the input. From the top: a loop over heads, all heads at "
    "once, the same two replayed from a graph, and an open circle for the limit of the chip. For the short input the "
    "times are spread out and all of them far above the limit; replaying is the larger step. For the long input the "
    "four times stand close together, more than ten times above the limit."
)
WIDTH, HEADS, ELEMENT_BYTES = 512, 8, 2  # as in kernel_launches
RUNGS = {  # the name on the axis -> form and column of the record
    "a loop": ("loop", "wall"),
    "all at once": ("at_once", "wall"),
    "a loop, replayed": ("loop", "replayed"),
    "all at once, replayed": ("at_once", "replayed"),
}
LIMIT = "the chip's limit"


def limit(batch: int, n: int) -> float:
    """Milliseconds that one call needs at the least, by arithmetic or by bytes, whichever is more.

    Arithmetic: four projections, QKᵀ and PV.  Bytes: the words in and out, and the weights of the projections.
    """
    projections = 4 * 2 * batch * n * WIDTH**2
    flops = projections + cost.attention_flops(n, WIDTH // HEADS, HEADS, batch)
    words_in_and_out = cost.qkvo_bytes(n, WIDTH // HEADS, ELEMENT_BYTES, HEADS, batch) // 2
    moved = words_in_and_out + 4 * WIDTH**2 * ELEMENT_BYTES
    return 1e3 * max(flops / H100["bf16 peak"].value, moved / H100["hbm bandwidth"].value)


def figure() -> go.Figure:
    rows = records.table("kernel_launches", "times")
    sizes = dict.fromkeys((row["batch"], row["n"]) for row in rows)
    inputs = {f"batch {batch}, {n} tokens": (batch, n) for batch, n in sizes}
    names = [*RUNGS, LIMIT]
    fig = go.Figure()
    for batch, n in inputs.values():
        least = limit(batch, n)
        took = {row["form"]: row for row in plot.where(rows, batch=batch, n=n)}
        times = [took[form][column] for form, column in RUNGS.values()]
        shares = [100 * least / time for time in times]
        fig.add_scatter(
            x=[*times, least],
            y=names,
            mode="markers+text",
            marker={"size": 12, "symbol": ["circle"] * 4 + ["circle-open"], "line": {"width": [0] * 4 + [2]}},
            text=[f"{time:.3g} ms, {share:.2g} %" for time, share in zip(times, shares, strict=True)]
            + [f"{least:.2g} ms"],
            textposition="top center",
            cliponaxis=False,
            meta={"role": "accent"},
            hovertemplate="%{y}: %{x:.3g} ms<extra></extra>",
            showlegend=False,
        )
    return plot.page(
        fig,
        plot.Frame(height=340, left=150, right=30, top=15),
        plot.switch(fig, "Input", list(inputs), list(inputs)[-1]),
        legend=None,
        xaxis=plot.log("milliseconds for one call", [0.001, 0.01, 0.1, 1], range=[-3.5, 0.7]),
        yaxis={"range": [len(names) - 0.6, -0.8]},
    )
