"""The clocks that a pair takes with one warp, two, four and eight, and for how many the ALU and the LSU work."""

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from scripts import records
from scripts.chapters import plot
from scripts.chapters.first_kernel import worked

ALT = (
    "Four groups of three bars on one scale that begins at zero, in clocks for a pair: a program with one warp, two, "
    "four and eight. In each, bars for the ALU, for the LSU, with a piece added for its data path, and for the time, "
    "which ends behind both. One of the two is dark: the ALU's with one warp and two, the LSU's with four and eight."
)
ROOM_FOR_NUMBERS = 1.25  # of the longest bar, so that each number is behind its own on a phone, too
WARPS = {1: "one warp", 2: "two warps", 4: "four warps", 8: "eight warps"}


def figure() -> go.Figure:
    fig = make_subplots(rows=len(WARPS), cols=1, shared_xaxes=True, vertical_spacing=0.11)
    for panel, (warps, title) in enumerate(WARPS.items(), start=1):
        setting = {"n": worked.SHAPE[-1], "head_dim": worked.HEAD_DIM, "warps": warps}
        (row,) = plot.rows_with(records.table("what_limits", "clocks"), **setting)
        alu, lsu, data_path = row["alu"], row["lsu"], row["data_path"]
        alu_role, lsu_role = ("ink", "grey") if alu > data_path else ("grey", "ink")
        add_bar(fig, panel, plot.Style("ALU", alu_role), alu, f"<b>{alu:.0f}</b>")
        add_bar(fig, panel, plot.Style("LSU", lsu_role), lsu, "")
        add_bar(fig, panel, plot.Style("LSU", "faint"), data_path - lsu, f"<b>{lsu:.0f}</b> + {data_path - lsu:.0f}")
        add_bar(fig, panel, plot.Style("time", "accent"), row["all"], f"<b>{row['all']:.0f}</b>")
        fig.update_yaxes(plot.name_axis(title), row=panel, col=1)
    fig.update_xaxes(range=[0, ROOM_FOR_NUMBERS * row["all"]], visible=False)
    return plot.finish(fig, 420, barmode="stack", bargap=0.3, margin={"b": 4})


def add_bar(fig: go.Figure, panel: int, style: plot.Style, clocks: float, text: str) -> None:
    bar = style.bars("%{name}: %{x:.0f} clocks", "value")
    fig.add_bar(x=[clocks], y=[style.name], text=[text], row=panel, col=1, **bar)
