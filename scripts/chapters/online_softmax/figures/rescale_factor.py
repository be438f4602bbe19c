"""The factor by which each block rescales what was summed before it, for one row in three orders."""

import plotly.graph_objects as go

from scripts import records
from scripts.chapters import plot

ALT = (
    "The rescale factor of each block against the number of the block, for one row in three orders: falling, rising "
    "and random. Sorted {fact=order_with_none_rescaled}, the factor stays at one; sorted "
    "{fact=order_with_every_block_rescaled}, each block rescales, strongly at both ends of the row, where scores are "
    "far apart."
)
ORDERS = [  # style, and the size of its markers
    (plot.Style("falling", "ink", symbol="square"), 9),
    (plot.Style("rising", "accent"), 8),
    (plot.Style("random", symbol="diamond"), 6),
]


def figure() -> go.Figure:
    rows = records.table("softmax_order", "factors")[1:]  # the first block finds nothing to rescale
    blocks = [row["block"] for row in rows]
    fig = go.Figure()
    for style, size in ORDERS:
        trace = style.scatter("%{name}, block %{x}: %{y:.3g}", "markers", size=size)
        fig.add_scatter(x=blocks, y=[row[style.name] for row in rows], **trace)
    return plot.finish(
        fig,
        340,
        xaxis={"title": "block", "range": [0.5, len(rows) + 1.5], "tickvals": [2, 8, 16, 24, 32]},
        yaxis={"title": "rescale factor", "range": [-0.04, 1.08], "tickvals": [0, 0.25, 0.5, 0.75, 1]},
    )
