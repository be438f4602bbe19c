"""Lines of an SM's clocks for a pair of a query and a key: the time, and for how long each of its units works."""

import plotly.graph_objects as go

from scripts import records
from scripts.chapters import plot

LINES = {  # the column of the table -> its line
    "all": plot.Style("time", "accent"),
    "data_path": plot.Style("LSU", "ink"),
    "alu": plot.Style("ALU", "soft", symbol="square"),
    "issue": plot.Style("schedulers", "grey", symbol="diamond"),
}


def draw_lines(column: str, xaxis: dict, yaxis: dict, **setting: int) -> go.Figure:
    """Draws a line for each unit and one for the time, over a column of the rows with this setting."""
    rows = plot.rows_with(records.table("what_limits", "clocks"), **setting)
    x = [row[column] for row in rows]
    fig = go.Figure()
    for unit, style in LINES.items():
        hover = f"%{{x}} {'words' if column == 'n' else column}, %{{name}}: %{{y:.0f}} clocks"
        fig.add_scatter(x=x, y=[row[unit] for row in rows], **style.scatter(hover))
    return plot.finish(fig, 340, xaxis=xaxis, yaxis=yaxis)
