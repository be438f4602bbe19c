"""How busy the load-store unit and the ALU are with one, two, four and eight warps, as the profiler counts it."""

import plotly.graph_objects as go

from scripts import records
from scripts.chapters import plot

ALT = (
    "Two lines over the number of warps a program has, and below each number the time. The load-store unit's line "
    "rises from left to right, the ALU's falls, and they cross between two warps and four."
)
UNITS = {"lsu": plot.Style("LSU: hand over", "accent"), "alu": plot.Style("ALU: walk", "ink")}
N, HEAD_DIM = 512, 128


def figure() -> go.Figure:
    rows = plot.rows_with(records.table("what_limits", "busy"), n=N, head_dim=HEAD_DIM)
    ticks = [f"{row['warps']} warp{'s' * (row['warps'] > 1)}<br>{row['time']:.0f} ms" for row in rows]
    warps = [row["warps"] for row in rows]
    fig = go.Figure()
    for unit, style in UNITS.items():
        busy = [row[unit] for row in rows]
        fig.add_scatter(x=warps, y=busy, **style.scatter("%{x} warps, %{name}: %{y:.0f} % busy"))
    xaxis = plot.log_axis(None, warps, ticks)
    yaxis = {"title": "% busy", "range": [0, 100], "tickvals": [0, 50, 100]}
    return plot.finish(fig, 320, xaxis=xaxis, yaxis=yaxis)
