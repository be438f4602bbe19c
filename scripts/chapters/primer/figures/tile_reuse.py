"""How fast a matmul can be fed, against the edge of its tiles, from HBM and from shared memory."""

import plotly.graph_objects as go

from kernels.bench.cost import attainable
from kernels.bench.hardware import H100
from scripts.chapters import plot

ALT = (
    "A chart with two logarithmic axes: what the tensor cores can be kept busy with, against the edge of a square "
    "tile. Two lines rise in step with the edge and end level at the peak of the tensor cores. Fed from shared memory, "
    "the line starts about nine times as high and reaches the peak at a tile that one SM holds with ease. Fed from "
    "HBM, it gets there only at a tile far too large for the registers of one SM."
)
FEEDS = {  # bandwidth in the registry -> style
    "shared memory bandwidth": plot.Style("shared memory", "ink", predicted=True),
    "hbm bandwidth": plot.Style("HBM", "accent", predicted=True),
}
EDGES = [2**doubled for doubled in range(11)]
NUMBER_BYTES = 2  # of FP16


def figure() -> go.Figure:
    peak = H100["bf16 peak"].value
    fig = go.Figure()
    for constant, style in FEEDS.items():
        bandwidth = H100[constant].value
        ridge = peak / bandwidth * NUMBER_BYTES  # from this edge on, the peak can be fed
        edges = sorted({*EDGES, ridge})
        fig.add_scatter(
            x=edges,
            y=[attainable(edge / NUMBER_BYTES, peak, bandwidth) / 1e12 for edge in edges],
            **style.scatter(f"edge %{{x:.0f}}, from {style.name}: %{{y:.3g}} TFLOP/s"),
        )
    return plot.finish(
        fig,
        360,
        xaxis=plot.log_axis("edge of the tile", EDGES[::2]),
        yaxis=plot.log_axis("TFLOP/s, at most", [1, 10, 100, round(peak / 1e12)]),
    )
