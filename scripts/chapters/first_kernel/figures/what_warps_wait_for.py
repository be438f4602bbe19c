"""What the one-key kernel's warps do with their time, as Nsight Compute counts it."""

import plotly.graph_objects as go

from scripts import records
from scripts.chapters import plot

ALT = (
    "Bars of parts of a warp's time, on one scale that begins at zero. The first is that of waiting for a number from "
    "another thread, {fact=waits_for_threads} as long as that of waiting for memory."
)
N, WARPS = 512, 4
NAMES = {  # as on the chart -> the column of the table
    "a number of another thread": "other_threads",
    "memory, or a cache": "memory",
    "the instruction before": "before",
    "its turn to start one": "turn",
    "the others, at a barrier": "barrier",
    "room in the LSU queue": "lsu_queue",
    "a unit that is taken": "unit",
    "nothing: it starts one": "starts",
}


def figure() -> go.Figure:
    (row,) = plot.rows_with(records.table("what_limits", "waits"), n=N, warps=WARPS)
    shares = {name: row[column] for name, column in NAMES.items()}
    longest = max(shares, key=shares.get)
    fig = go.Figure()
    for name, share in shares.items():
        bar = plot.Style(name, "accent" if name == longest else "grey").bars("%{name}: %{x:.1f} %", "value")
        fig.add_bar(x=[share], y=[name], text=[f"<b>{share:.0f} %</b>"], **bar)
    axes = {"xaxis": {"visible": False}, "yaxis": plot.name_axis()}
    return plot.finish(fig, 270, bargap=0.3, margin={"b": 4}, **axes)
