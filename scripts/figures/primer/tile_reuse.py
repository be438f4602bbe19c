"""How fast a matmul can be fed, against the edge of its tiles, from HBM and from shared memory."""

import plotly.graph_objects as go

from kernels.bench.cost import attainable
from kernels.bench.hardware import H100

ALT = (
    "A chart with two logarithmic axes: what the tensor cores can be kept busy with, against the edge of a square "
    "tile. Two lines rise in step with the edge and end level at the peak of the tensor cores. Fed from shared memory, "
    "the line starts about nine times as high and reaches the peak at a tile that one SM holds with ease. Fed from "
    "HBM, it gets there only at a tile far too large for the registers of one SM."
)
FEEDS = {"shared memory": ("shared memory bandwidth", "query", "solid"), "HBM": ("hbm bandwidth", "accent", "dot")}
EDGES = [2**doubled for doubled in range(11)]
NUMBER = 2  # bytes, FP16


def figure() -> go.Figure:
    peak = H100["bf16 peak"].value
    fig = go.Figure()
    for feed, (constant, role, dash) in FEEDS.items():
        bandwidth = H100[constant].value
        ridge = peak / bandwidth * NUMBER  # the edge from which on the peak can be fed
        edges = sorted({*EDGES, ridge})
        fig.add_scatter(
            x=edges,
            y=[attainable(edge / NUMBER, peak, bandwidth) / 1e12 for edge in edges],
            name=f"fed from {feed}",
            mode="lines+markers",
            line_dash=dash,
            meta={"role": role},
            hovertemplate=f"edge %{{x:.0f}}, from {feed}: %{{y:.3g}} TFLOP/s<extra></extra>",
        )
    fig.update_xaxes(title="edge of the tile", type="log", tickvals=EDGES[::2], ticktext=EDGES[::2], fixedrange=True)
    ticks = [1, 10, 100, round(peak / 1e12)]
    fig.update_yaxes(title="TFLOP/s, at most", type="log", tickvals=ticks, ticktext=ticks, fixedrange=True)
    fig.update_layout(
        template=None,
        height=360,
        margin={"l": 70, "r": 10, "t": 30, "b": 50},
        legend={"orientation": "h", "x": 0.5, "xanchor": "center", "y": 1.02, "yanchor": "bottom"},
    )
    return fig
