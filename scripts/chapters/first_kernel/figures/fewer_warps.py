"""The clocks of a pair in programs of 1, 2, 4 and 8 warps: as measured, and what the longest unit takes by hand."""

import plotly.graph_objects as go

from scripts import records
from scripts.chapters import plot
from scripts.chapters.first_kernel import worked

ALT = (
    "Four bars, for programs of one warp, of two, of four and of eight, from the top down. In each a "
    "hollow bar, what its busiest unit takes by hand, ends before it does: the ALU's with one warp, the schedulers' "
    "with two, the LSU's with four and with eight."
)
WARPS = (1, 2, 4, 8)
DEFAULT = 4  # warps of a program


def figure() -> go.Figure:
    rows = plot.rows_with(records.table("what_limits", "clocks"), n=worked.SHAPE[-1])
    clocks = {row["warps"]: row["all"] for row in rows}
    floors = {warps: longest(warps) for warps in WARPS}
    names = {warps: f"{warps} warp{'s' * (warps > 1)}: {unit} {floor:.0f}" for warps, (unit, floor) in floors.items()}
    fig = go.Figure()
    for role in ("grey", "accent"):
        some = [warps for warps in WARPS if (warps == DEFAULT) == (role == "accent")]
        bars = plot.Style("", role).bars("%{y}: a pair takes %{x:.0f} clocks", "value")
        texts = [f"<b>{clocks[warps]:.0f}</b>" for warps in some]
        fig.add_bar(x=[clocks[warps] for warps in some], y=[names[warps] for warps in some], text=texts, **bars)
    hollow = plot.Style("by hand", "ink", predicted=True).bars("%{y} clocks by hand")
    fig.add_bar(x=[floor for _, floor in floors.values()], y=list(names.values()), **hollow)
    order = {"categoryorder": "array", "categoryarray": list(names.values())}
    axes = {"xaxis": {"range": [0, 1.3 * max(clocks.values())], "visible": False}, "yaxis": plot.name_axis(**order)}
    return plot.finish(fig, 170, barmode="overlay", bargap=0.3, margin={"b": 4}, **axes)


def longest(warps: int) -> tuple[str, float]:
    """Returns the unit that a pair keeps busy the longest, and for how many clocks, worked out by hand."""
    units = by_hand(warps)
    unit = max(units, key=units.get)
    return unit, units[unit]


def by_hand(warps: int) -> dict[str, float]:
    """Returns for how many clocks a pair keeps each unit busy, worked out by hand."""
    rows = plot.rows_with(records.table("how_many_warps", "compiled"), n=worked.SHAPE[-1], warps=warps)
    instructions = rows[0]["all"]
    alu, lsu = worked.alu_clocks(warps), worked.load_store_clocks(warps)
    return {"ALU": alu, "schedulers": instructions * warps / 4, "LSU": lsu}
