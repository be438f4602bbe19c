"""The factor by which each block rescales what was summed before it, for one row in three orders."""

import plotly.graph_objects as go

from scripts import records

ALT = (
    "The rescale factor of each block against the number of the block, for one row in three orders. Sorted falling, "
    "every factor is one. In random order nearly all are one. Sorted rising, every factor lies below one: lowest at "
    "both ends of the row, where scores lie far apart, and around three quarters in the middle."
)
ORDERS = {"falling": ("soft", "square-open", 10), "rising": ("query", "diamond", 7), "random": ("accent", "circle", 6)}


def figure() -> go.Figure:
    rows = records.table("softmax_order", "factors")[1:]  # the first block finds nothing to rescale
    fig = go.Figure()
    for order, (role, symbol, size) in ORDERS.items():
        fig.add_scatter(
            x=[row["block"] for row in rows],
            y=[row[order] for row in rows],
            name=order,
            mode="markers",
            marker={"symbol": symbol, "size": size},
            meta={"role": role},
            hovertemplate=f"{order}, block %{{x}}: %{{y:.3g}}<extra></extra>",
        )
    fig.update_xaxes(title="block", range=[0.5, len(rows) + 2], tickvals=[2, 8, 16, 24, 32], fixedrange=True)
    fig.update_yaxes(title="rescale factor", range=[-0.04, 1.08], tickvals=[0, 0.25, 0.5, 0.75, 1], fixedrange=True)
    fig.update_layout(
        template=None,
        height=340,
        margin={"l": 60, "r": 10, "t": 30, "b": 50},
        legend={"orientation": "h", "x": 0.5, "xanchor": "center", "y": 1.02, "yanchor": "bottom"},
    )
    return fig
