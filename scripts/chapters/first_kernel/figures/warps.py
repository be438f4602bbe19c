"""What a pair takes with one warp to a program, with two, four and eight, and the least that its fullest unit needs."""

import plotly.graph_objects as go

from scripts import records
from scripts.chapters import plot
from scripts.chapters.first_kernel import worked

ALT = (
    "Four pairs of bars, of programs with one warp, two, four and eight. A hollow bar is what the fullest unit needs, "
    "worked out, and a filled one what a pair takes, measured. Each filled bar is the longer one of its pair, by "
    "little. The bars grow with the warps, and the highlighted one, of one warp, is the shortest."
)
LATE = "%{y}: %{x:.0f} clocks, %{name}"


def figure() -> go.Figure:
    clocks = clocks_by_warps()
    names = {warps: f"{warps} {'warp' if warps == 1 else 'warps'}" for warps in clocks}
    fig = go.Figure()
    for role, wanted in (("accent", [1]), ("grey", [warps for warps in clocks if warps > 1])):
        measured = [clocks[warps] for warps in wanted]
        look = plot.Style("measured", role).bars(LATE, "value")
        texts = [f"<b>{each:.0f}</b> clocks" for each in measured]
        fig.add_bar(x=measured, y=[names[warps] for warps in wanted], text=texts, **look)
    least = {warps: max(worked.unit_clocks(warps).values()) for warps in clocks}
    hollow = plot.Style("worked out", predicted=True).bars(LATE)
    fig.add_bar(x=list(least.values()), y=list(names.values()), width=0.3, **hollow)
    axes = {"xaxis": {"range": [0, 250], "visible": False}, "yaxis": plot.name_axis()}
    return plot.finish(fig, 180, barmode="overlay", bargap=0.3, margin={"b": 4, "r": 2}, **axes)


def clocks_by_warps() -> dict[int, float]:
    """Returns by a program's warps the clocks that an SM takes for a pair, as measured."""
    rows = plot.rows_with(records.table("what_limits", "clocks"), n=worked.SHAPE[-1])
    return {row["warps"]: row["all"] for row in sorted(rows, key=lambda row: row["warps"])}
