"""What a cheaper pass over the row takes away from each unit's clocks and from the time, in three settings."""

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from scripts import records
from scripts.chapters import plot
from scripts.chapters.first_kernel.unit_clocks import LINES

ALT = (
    "Three groups of four bars on one scale that begins at zero, in clocks for a pair: a text with four warps, the "
    "same with one warp, and a long text with four. In each, bars for the LSU, the schedulers, the ALU and the time, "
    "with a pale end where the cheaper pass takes something away. The ALU and the schedulers have such an end in all "
    "groups, the LSU in none. The time has none in the first group, and one in both others."
)
SETTINGS = {  # words of a text, warps of a program -> its name
    (512, 4): "512 words, four warps",
    (512, 1): "512 words, one warp",
    (2048, 4): "2048 words, four warps",
}
ROOM_FOR_NUMBERS = 1.35  # of the longest bar, so that its number is behind it on a phone, too


def figure() -> go.Figure:
    fig = make_subplots(rows=len(SETTINGS), cols=1, shared_xaxes=True, vertical_spacing=0.13)
    table = records.table("cheaper_passes", "clocks")
    for panel, ((n, warps), title) in enumerate(SETTINGS.items(), start=1):
        before, after = (plot.rows_with(table, n=n, warps=warps, form=form)[0] for form in ("as_taught", "cheaper"))
        for unit in ("lsu", "issue", "alu", "all"):
            style = LINES[unit]
            kept, was = after[unit], before[unit]
            text = f"<b>{kept:.0f}</b>" if round(kept) == round(was) else f"{was:.0f} → <b>{kept:.0f}</b>"
            add_bar(fig, panel, style, kept, "")
            add_bar(fig, panel, style._replace(role="faint"), max(0, was - kept), text)
        fig.update_yaxes(plot.name_axis(title), row=panel, col=1)
    longest = max(row["all"] for row in table)
    fig.update_xaxes(range=[0, ROOM_FOR_NUMBERS * longest], visible=False)
    return plot.finish(fig, 420, barmode="stack", bargap=0.3, margin={"b": 4})


def add_bar(fig: go.Figure, panel: int, style: plot.Style, clocks: float, text: str) -> None:
    bar = style.bars("%{name}: %{x:.0f} clocks", "value")
    fig.add_bar(x=[clocks], y=[style.name], text=[text], row=panel, col=1, **bar)
