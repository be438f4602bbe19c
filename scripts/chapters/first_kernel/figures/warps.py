"""What a pair takes with one warp to a program, with two, four and eight, and the least that its fullest unit needs."""

import plotly.graph_objects as go

from scripts import records
from scripts.chapters import plot
from scripts.chapters.first_kernel import worked

ALT = (
    "Four pairs of bars, one each for programs of one, two, four and eight warps. The hollow bar is what the busiest "
    "unit needs, worked out, with the unit's name. The filled bar below it, what a pair takes, was measured, and ends "
    "a little behind it. One warp is highlighted."
)
HOVER = "%{y}: %{x:.0f} clocks, %{name}"


def figure() -> go.Figure:
    clocks = clocks_by_warps()
    names = {warps: f"{warps} {'warp' if warps == 1 else 'warps'}" for warps in clocks}
    fig = go.Figure()
    least = {warps: clocks_by_hand(warps) for warps in clocks}
    units = {warps: max(least[warps], key=least[warps].get) for warps in clocks}
    hollow = plot.Style("worked out", predicted=True).bars(HOVER, "value")
    busiest = [least[warps][unit] for warps, unit in units.items()]
    texts = [f"{unit}, {each:.0f}" for unit, each in zip(units.values(), busiest, strict=True)]
    fig.add_bar(x=busiest, y=list(names.values()), text=texts, offsetgroup="hand", **hollow)
    for role, wanted in (("accent", [1]), ("grey", [warps for warps in clocks if warps > 1])):
        measured = [clocks[warps] for warps in wanted]
        look = plot.Style("measured", role).bars(HOVER, "value")
        texts = [f"<b>{each:.0f}</b> clocks" for each in measured]
        fig.add_bar(x=measured, y=[names[warps] for warps in wanted], text=texts, offsetgroup="measured", **look)
    axes = {"xaxis": {"range": [0, 280], "visible": False}, "yaxis": plot.name_axis()}
    return plot.finish(fig, 280, barmode="group", bargap=0.3, margin={"b": 4, "r": 2}, **axes)


def clocks_by_warps() -> dict[int, float]:
    """Returns by a program's warps the clocks that an SM takes for a pair, as measured."""
    rows = plot.rows_with(records.table("what_limits", "clocks"), n=worked.SHAPE[-1])
    return {row["warps"]: row["all"] for row in sorted(rows, key=lambda row: row["warps"])}


def clocks_by_hand(warps: int) -> dict[str, float]:
    """Returns for how many clocks of a pair each unit is busy, the schedulers by what was compiled."""
    rows = records.table("how_many_warps", "compiled")
    (compiled,) = plot.rows_with(rows, n=worked.SHAPE[-1], warps=warps)
    schedulers = compiled["all"] * warps / worked.SCHEDULERS
    return {"ALU": worked.alu_clocks(warps), "schedulers": schedulers, "LSU": worked.load_store_clocks(warps)}
