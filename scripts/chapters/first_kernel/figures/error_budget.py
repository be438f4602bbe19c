"""How much of its error budget each output uses: PyTorch's, one key's, and one key's with a head of zeros."""

import plotly.graph_objects as go

from scripts import records
from scripts.chapters import plot

ALT = (
    "Three points on a logarithmic axis, and an upright line, the budget. Those of PyTorch and of one key stand at "
    "the same place, before the line. That of the output with a head of zeros is far beyond it."
)
NAMES = {"pytorch": "PyTorch", "one_key": "one key", "one_head_of_zeros": "a head of zeros"}


def figure() -> go.Figure:
    budgets = {row["form"]: row["of_budget"] for row in records.table("first_kernel", "errors")}
    fig = go.Figure()
    for form, name in NAMES.items():
        style = plot.Style(name, "accent" if form == "one_key" else "ink")
        point = style.scatter("%{y}: %{x:,.2f} budgets", "markers+text", size=11, named=None)
        error = budgets[form]
        inside = error < 1
        label = f"<b>{error:,.{2 if inside else 0}f}</b>"
        text, side = ([f"{label}  "], "left") if inside else ([f"  {label}"], "right")
        fig.add_scatter(x=[error], y=[name], text=text, textposition=f"middle {side}", **point)
    gate = {"type": "line", "x0": 1, "x1": 1, "yref": "paper", "y0": 0, "y1": 1}
    xaxis = plot.log_axis(
        "largest error, in budgets", [1, 10, 100, 1000], ["budget", "10", "100", "1,000"], range=[-1, 3.8]
    )
    order = {"categoryorder": "array", "categoryarray": [*NAMES.values()]}
    return plot.finish(fig, 190, xaxis=xaxis, yaxis=plot.name_axis(**order), shapes=[gate])
