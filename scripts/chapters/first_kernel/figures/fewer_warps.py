"""The first kernel's time with one, two, four and eight warps, beside what the load-store unit alone would take."""

import plotly.graph_objects as go

from scripts import records
from scripts.chapters import plot
from scripts.chapters.first_kernel import worked

ALT = (
    "Pairs of bars on one scale that begins at zero, for one, two, four and eight warps: hollow, what the load-store "
    "unit alone would take, and filled, the time. Eight warps take {fact=eight_warps} that of four, and one warp is "
    "{fact=one_warp} as fast."
)
N = 512


def figure() -> go.Figure:
    rows = plot.rows_with(records.table("how_many_warps", "times"), n=N)
    names = {row["warps"]: f"{row['warps']} warp{'s' * (row['warps'] > 1)}" for row in rows}
    unit_style = plot.Style("load-store unit", "grey", predicted=True)
    measured_style = plot.Style("measured", "accent")
    fig = go.Figure()
    for style, milliseconds in [
        (unit_style, {warps: worked.lsu_milliseconds(warps) for warps in names}),
        (measured_style, {row["warps"]: row["median"] for row in rows}),
    ]:
        fig.add_bar(
            x=list(milliseconds.values()),
            y=list(names.values()),
            text=[f"<b>{ms:.0f} ms</b>" for ms in milliseconds.values()],
            **style.bars("%{y}, %{name}: %{x:.1f} ms", "value"),
        )
    axes = {"xaxis": {"visible": False}, "yaxis": plot.name_axis()}
    return plot.finish(fig, 260, barmode="group", bargap=0.3, bargroupgap=0.05, margin={"b": 4}, **axes)
