"""How much of its error budget each output uses: PyTorch's, the kernel's, and the kernel's with one head of zeros."""

import plotly.graph_objects as go

from scripts import records
from scripts.chapters import plot

ALT = (
    "Three bars on a logarithmic axis, and a dashed line where the budget ends. The bars of PyTorch and of the kernel "
    "have one length and stay before the line. That of the output with a head of zeros goes far beyond it."
)
NAMES = {"pytorch": "PyTorch", "one_key": "our kernel", "one_head_of_zeros": "a head of zeros"}


def figure() -> go.Figure:
    used = {row["form"]: row["of_budget"] for row in records.table("first_kernel", "errors")}
    fig = go.Figure()
    for form, name in NAMES.items():
        look = plot.Style(name, "accent" if form == "one_key" else "grey").bars("%{name}: %{x:,.2f} budgets", "value")
        fig.add_bar(x=[used[form]], y=[name], text=[f"<b>{used[form]:,.2f}</b>"], **look)
    line = plot.Style("the budget", "ink", predicted=True).scatter("%{name}", mode="lines", named="above")
    fig.add_scatter(x=[1] * len(NAMES), y=list(NAMES.values()), **line)
    xaxis = plot.log_axis("largest error, by the budget", [0.1, 1, 10, 100, 1000], range=[-1, 3.8])
    return plot.finish(fig, 200, bargap=0.35, xaxis=xaxis, yaxis=plot.name_axis())
