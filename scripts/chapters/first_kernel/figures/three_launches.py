"""The clocks that a pair takes with one warp, four and eight, and for how many each unit works."""

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from scripts import records
from scripts.chapters import plot
from scripts.chapters.first_kernel import worked

ALT = (
    "Three groups of five bars on one scale that begins at zero, in clocks for a pair: a program with one warp, with "
    "four and with eight. In each, bars for the ALU, the schedulers, the LSU and its data path, then the time, which "
    "ends behind all of them. One of them is dark: the ALU's with one warp, that of the LSU's data path with four and "
    "with eight."
)
UNITS = {"alu": "ALU", "issue": "schedulers", "lsu": "LSU, starting", "data_path": "LSU, data path"}
WARPS = {1: "one warp", 4: "four warps", 8: "eight warps"}


def figure() -> go.Figure:
    fig = make_subplots(rows=len(WARPS), cols=1, shared_xaxes=True, vertical_spacing=0.12)
    for panel, (warps, title) in enumerate(WARPS.items(), start=1):
        setting = {"n": worked.SHAPE[-1], "head_dim": worked.HEAD_DIM, "warps": warps}
        (row,) = plot.rows_with(records.table("what_limits", "clocks"), **setting)
        longest = max(UNITS, key=row.get)
        for unit, name in UNITS.items():
            add_bar(fig, panel, plot.Style(name, "ink" if unit == longest else "grey"), row[unit])
        add_bar(fig, panel, plot.Style("time", "accent"), row["all"])
        fig.update_yaxes(plot.name_axis(title), row=panel, col=1)
    fig.update_xaxes(rangemode="tozero", visible=False)
    return plot.finish(fig, 420, bargap=0.3, margin={"b": 4})


def add_bar(fig: go.Figure, panel: int, style: plot.Style, clocks: float) -> None:
    bar = style.bars("%{name}: %{x:.0f} clocks", "value")
    fig.add_bar(x=[clocks], y=[style.name], text=[f"<b>{clocks:.0f}</b>"], row=panel, col=1, **bar)
