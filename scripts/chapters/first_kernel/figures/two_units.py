"""For how long the LSU, the ALU and the schedulers work with one, two, four and eight warps, below the time."""

import plotly.graph_objects as go

from scripts import records
from scripts.chapters import plot

ALT = (
    "Four lines of milliseconds over the number of warps. On top the time. Below it three units: the load-store "
    "unit's work begins far below that of the ALU and the schedulers, rises steeply and is on top of them in the end."
)
TIME, LSU = plot.Style("time", "accent"), plot.Style("LSU", "ink")
ALU, ISSUE = plot.Style("ALU", "soft", symbol="square"), plot.Style("schedulers", "soft", symbol="diamond")
N, HEAD_DIM = 512, 128


def figure() -> go.Figure:
    rows = plot.rows_with(records.table("what_limits", "busy"), n=N, head_dim=HEAD_DIM)
    warps = [row["warps"] for row in rows]
    spent = [row["time"] for row in rows]
    fig = go.Figure()
    for style, share in [(TIME, None), (LSU, "lsu"), (ISSUE, "issue"), (ALU, "alu")]:
        work = [row["time"] * row[share] / 100 for row in rows] if share else spent
        fig.add_scatter(x=warps, y=work, **style.scatter("%{x} warps, %{name}: %{y:.0f} ms"))
    xaxis = plot.log_axis("warps a program", warps)
    yaxis = {"title": "milliseconds", "range": [0, 1.05 * max(spent)]}
    return plot.finish(fig, 320, xaxis=xaxis, yaxis=yaxis)
