"""How much of its error budget each output uses: PyTorch's, the kernel's, and the kernel's with one head of zeros."""

import plotly.graph_objects as go

from scripts import records
from scripts.chapters import plot

ALT = (
    "Four bars on a logarithmic axis. On top, hollow, the budget. Those of PyTorch and of the kernel have one length "
    "and stay below it. That of the output with a head of zeros reaches far to the right."
)
NAMES = {"pytorch": "PyTorch", "one_key": "our kernel", "one_head_of_zeros": "a head of zeros"}


def figure() -> go.Figure:
    budgets = {row["form"]: row["of_budget"] for row in records.table("first_kernel", "errors")}
    fig = go.Figure()
    add_bar(fig, plot.Style("the budget", "grey", predicted=True), 1)
    for form, name in NAMES.items():
        add_bar(fig, plot.Style(name, "accent" if form == "one_key" else "grey"), budgets[form])
    xaxis = plot.log_axis("largest error, by the budget", [0.1, 1, 10, 100, 1000], range=[-1, 3.8])
    return plot.finish(fig, 220, bargap=0.3, xaxis=xaxis, yaxis=plot.name_axis())


def add_bar(fig: go.Figure, style: plot.Style, error: float) -> None:
    bar = style.bars("%{y}: %{x:,.2f} budgets", "value")
    fig.add_bar(x=[error], y=[style.name], text=[f"<b>{error:,.{0 if error >= 10 else 2}f}</b>"], **bar)
