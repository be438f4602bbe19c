"""What a call of each form takes, kernel by kernel and replayed from a graph, for a short and a long input."""

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from scripts import records
from scripts.figures import plot

ALT = (
    "Two charts, one above the other, of milliseconds for one call: above for a short input, below for a long one. In "
    "each stand a loop over heads and all heads at once, kernel by kernel and replayed from a graph. For the short "
    "input the loop takes several times as long as all heads at once, and the replay of either takes a small part of "
    "its time. For the long input all four bars are nearly equal."
)
FORMS = {"at_once": "all heads<br>at once", "loop": "a loop<br>over heads"}
WAYS = {  # way -> look, and the pattern that fills its bars
    "wall": (plot.Look("kernel by kernel", "query"), ""),
    "replayed": (plot.Look("replayed from a graph", "key"), "/"),
}


def figure() -> go.Figure:
    rows = records.table("kernel_launches", "times")
    sizes = list(dict.fromkeys((row["batch"], row["n"]) for row in rows))
    titles = [f"batch {batch}, {n} tokens" for batch, n in sizes]
    fig = make_subplots(rows=len(sizes), cols=1, vertical_spacing=0.22, subplot_titles=titles)
    for panel, (batch, n) in enumerate(sizes, start=1):
        times = {row["form"]: row for row in plot.where(rows, batch=batch, n=n)}
        for way, (look, pattern) in reversed(WAYS.items()):  # the first of a group stands at the bottom
            fig.add_bar(
                x=[times[form][way] for form in FORMS],
                y=list(FORMS.values()),
                orientation="h",
                legendgroup=look.name,
                legendrank=list(WAYS).index(way),
                showlegend=panel == 1,
                marker={"pattern": {"shape": pattern, "solidity": 0.25}},
                row=panel,
                col=1,
                **look.trace("%{name}: %{x:.3g} ms"),
            )
    fig.update_xaxes(rangemode="tozero")
    fig.update_xaxes(title="milliseconds for one call", row=len(sizes), col=1)
    fig.update_yaxes(showgrid=False)
    fig.update_annotations(font_size=13)
    return plot.page(fig, plot.Frame(left=80, top=70), legend=plot.LEGEND | {"y": 1.1})
