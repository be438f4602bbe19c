"""What is left of each block's part of the running sum, after each block."""

import plotly.graph_objects as go

from scripts import records
from scripts.chapters import plot

ALT = (
    "Three stacked bars, the running sum after each block, split by the block that each part came from. The second "
    "block brings a larger score, so what the first block had brought shrinks to a sliver, and the bar as a whole is "
    "lower than the first. The third block only adds to it."
)
FIRST = 1  # the block that shrinks


def figure() -> go.Figure:
    rows = records.table("online_softmax", "shares")
    fig = go.Figure()
    for block in sorted({row["block"] for row in rows}):
        look = plot.Look(f"from block {block}", "ink" if block == FIRST else "grey")
        own = plot.where(rows, block=block)
        trace = look.trace("%{name}, after block %{x}: %{y:.4g}")
        texts = [f"block {block}" if row["share"] > 0.2 else "" for row in own]
        fig.add_bar(
            x=[row["read"] for row in own],
            y=[row["share"] for row in own],
            text=texts,
            textposition="inside",
            insidetextanchor="middle",
            width=0.5,
            **trace,
        )
    totals = {read: sum(row["share"] for row in plot.where(rows, read=read)) for read in {row["read"] for row in rows}}
    tops = list(totals), list(totals.values()), [f"{total:.3f}" for total in totals.values()]
    plot.labels(fig, *tops, textposition="top center")
    before, after = (row["share"] for row in plot.where(rows, block=FIRST)[:2])
    plot.labels(fig, [FIRST + 0.5], [after + 0.1], [f"times {after / before:.3f}"], role="accent")
    return plot.page(
        fig,
        320,
        barmode="stack",
        xaxis={"title": "blocks read", "tickvals": list(totals)},
        yaxis={"title": "running sum", "range": [0, 1.8], "tickvals": [0, 0.5, 1, 1.5]},
    )
