"""How many clocks of an SM a meeting takes in shorter and longer texts, and for how many the LSU and the ALU work."""

import plotly.graph_objects as go

from scripts import records
from scripts.chapters import plot

ALT = (
    "A chart with both axes logarithmic: clocks for a meeting over the words of a text. The LSU's line is level. The "
    "ALU's begins below it and rises across it. The line of the whole meeting keeps above both: it's level at first, "
    "then it rises with the ALU's, and at the right end it is {fact=a_meeting_in_a_long_row} as high."
)
HEAD_DIM, TICKS = 64, [256, 1024, 4096]  # few enough for a phone
LINES = {
    "all": plot.Style("a meeting", "accent"),
    "lsu": plot.Style("LSU", "ink"),
    "alu": plot.Style("ALU", "soft", symbol="square"),
}


def figure() -> go.Figure:
    rows = plot.rows_with(records.table("what_limits", "clocks"), head_dim=HEAD_DIM)
    words = [row["n"] for row in rows]
    fig = go.Figure()
    for column, style in LINES.items():
        clocks = [row[column] for row in rows]
        fig.add_scatter(x=words, y=clocks, **style.scatter("%{x} words, %{name}: %{y:.0f} clocks"))
    xaxis = plot.log_axis("words in a text", TICKS)
    return plot.finish(fig, 320, xaxis=xaxis, yaxis=plot.log_axis("clocks", [50, 100, 200, 500, 1000]))
