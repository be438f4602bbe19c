"""What a call of each form takes, kernel by kernel and replayed from a graph, for a short and a long input."""

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from scripts import records

ALT = (
    "Two charts, one above the other, of milliseconds for one call: above for a short input, below for a long one. In "
    "each stand a loop over heads and all heads at once, kernel by kernel and replayed from a graph. For the short "
    "input the loop takes several times as long as all heads at once, and the replay of either takes a small part of "
    "its time. For the long input all four bars are nearly equal."
)
FORMS = {"at_once": "all heads<br>at once", "loop": "a loop<br>over heads"}
WAYS = {"wall": ("kernel by kernel", "query", ""), "replayed": ("replayed from a graph", "key", "/")}


def figure() -> go.Figure:
    rows = records.table("kernel_launches", "times")
    sizes = list(dict.fromkeys((row["batch"], row["n"]) for row in rows))
    titles = [f"batch {batch}, {n} tokens" for batch, n in sizes]
    fig = make_subplots(rows=max(len(sizes), 1), cols=1, vertical_spacing=0.22, subplot_titles=titles)
    for panel, size in enumerate(sizes, start=1):
        times = {row["form"]: row for row in rows if (row["batch"], row["n"]) == size}
        for way, (name, role, shape) in reversed(WAYS.items()):  # the first of a group stands at the bottom
            fig.add_bar(
                x=[times[form][way] for form in FORMS],
                y=list(FORMS.values()),
                orientation="h",
                name=name,
                legendgroup=name,
                legendrank=list(WAYS).index(way),
                showlegend=panel == 1,
                meta={"role": role},
                marker={"pattern": {"shape": shape, "solidity": 0.25}},
                hovertemplate=f"{name}: %{{x:.3g}} ms<extra></extra>",
                row=panel,
                col=1,
            )
    fig.update_xaxes(fixedrange=True, rangemode="tozero")
    fig.update_xaxes(title="milliseconds for one call", row=max(len(sizes), 1), col=1)
    fig.update_yaxes(fixedrange=True, showgrid=False)
    fig.update_annotations(font_size=13)
    fig.update_layout(
        template=None,
        height=400,
        margin={"l": 80, "r": 10, "t": 70, "b": 50},
        legend={"orientation": "h", "x": 0.5, "xanchor": "center", "y": 1.1, "yanchor": "bottom"},
    )
    return fig
