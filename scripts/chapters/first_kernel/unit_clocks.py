"""Lines of an SM's clocks for a pair: the time, and how long two of its units work, counted and worked out by hand."""

import plotly.graph_objects as go

from scripts import records
from scripts.chapters import plot

LINES = {  # the column of the table -> its line
    "all": plot.Style("time", "accent"),
    "lsu": plot.Style("LSU", "ink"),
    "alu": plot.Style("ALU", "soft", symbol="square"),
}


def draw(column: str, by_hand: dict[str, list[float]], xaxis: dict, yaxis: dict, **setting: int) -> go.Figure:
    """Draws a line for each unit and one for the time, over a column of the rows with this setting.

    by_hand: the column of a unit -> what was worked out for each row, as hollow points around those that were counted
    """
    rows = plot.rows_with(records.table("what_limits", "clocks"), **setting)
    x = [row[column] for row in rows]
    fig = go.Figure()
    for name, style in LINES.items():
        y = [row[name] for row in rows]
        fig.add_scatter(x=x, y=y, **style.scatter(f"%{{x}} {column_name(column)}, %{{name}}: %{{y:.0f}} clocks"))
    for name, y in by_hand.items():
        ring = LINES[name]._replace(predicted=True)
        point = ring.scatter("%{name}, by hand: %{y:.0f} clocks", "markers", size=15, named=None)
        fig.add_scatter(x=x, y=y, **point)
    return plot.finish(fig, 320, xaxis=xaxis, yaxis=yaxis)


def column_name(column: str) -> str:
    return "words" if column == "n" else column
