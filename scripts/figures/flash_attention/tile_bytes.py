"""Bytes that FlashAttention asks for against the queries in a block, and bytes that HBM moves."""

import plotly.graph_objects as go

from kernels.bench.cost import eager_traffic, mb, qkvo_bytes, requested_bytes
from scripts import records

ALT = (
    "Megabytes against the number of queries in a block, both axes logarithmic. What is asked for falls in step with "
    "the block, from far above the three lines of code, whose count is a level dotted line, to far below it. Our "
    "kernel's block is a circle on the falling line, a little below the dotted one. The least that any form must move "
    "is a level dashed line far below. A diamond straight under the circle, just under the dashed line, is what the "
    "counters of the memory saw."
)
N, HEAD_DIM, ELEMENT_BYTES = 8192, 128, 2  # of the snippet
BLOCKS = [2**doubled for doubled in range(11)]


def figure() -> go.Figure:
    (whole,) = (row for row in records.table("hbm_traffic", "whole") if row["form"] == "flash_attention")
    asked = [mb(requested_bytes(N, HEAD_DIM, ELEMENT_BYTES, block)) for block in BLOCKS]
    # The kernel's own block is the one whose requests the snippet computed.
    (ours,) = (block for block, size in zip(BLOCKS, asked, strict=True) if abs(size - whole["requested"]) < 1e-6)
    three_lines = sum(mb(read + written) for _, read, written in eager_traffic(N, HEAD_DIM, ELEMENT_BYTES))
    least = mb(qkvo_bytes(N, HEAD_DIM, ELEMENT_BYTES))

    fig = go.Figure()
    fig.add_scatter(
        x=BLOCKS,
        y=asked,
        name="asked for",
        mode="lines",
        meta={"role": "query"},
        hovertemplate="blocks of %{x}: %{y:,.4g} MB asked for<extra></extra>",
    )
    for name, level, role, dash in [
        ("three lines, through HBM (predicted)", three_lines, "accent", "dot"),
        ("Q, K, V and output, once", least, "soft", "dash"),
    ]:
        fig.add_scatter(
            x=[BLOCKS[0], BLOCKS[-1]],
            y=[level, level],
            name=name,
            mode="lines",
            line_dash=dash,
            meta={"role": role},
            hovertemplate=f"{name}: %{{y:,.4g}} MB<extra></extra>",
        )
    for name, amount, role, symbol in [
        ("our kernel asks for", whole["requested"], "query", "circle"),
        ("HBM moves, counted", whole["flushed"], "value", "diamond"),
    ]:
        fig.add_scatter(
            x=[ours],
            y=[amount],
            name=name,
            mode="markers",
            marker={"symbol": symbol, "size": 12},
            meta={"role": role},
            hovertemplate=f"{name}: %{{y:,.4g}} MB<extra></extra>",
        )
    ticks = [1, 10, 100, 1000, 10000]
    fig.update_layout(
        template=None,
        height=420,
        margin={"l": 64, "r": 10, "t": 10, "b": 50},
        legend={"orientation": "h", "x": 0.5, "xanchor": "center", "y": 1.02, "yanchor": "bottom"},
        xaxis={"title": "queries in a block", "type": "log", "tickvals": BLOCKS[::2], "ticktext": BLOCKS[::2]},
        yaxis={"title": "MB", "type": "log", "tickvals": ticks, "ticktext": [f"{tick:,}" for tick in ticks]},
    )
    fig.update_xaxes(fixedrange=True)
    fig.update_yaxes(fixedrange=True, range=[0, 4.7])
    return fig
