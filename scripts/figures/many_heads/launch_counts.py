"""How many kernels each form of multi-head attention launches, by kind."""

import plotly.graph_objects as go

from scripts import records
from scripts.figures import plot

ALT = (
    "Two horizontal bars, one for each form of multi-head attention, as long as the number of kernels that a call "
    "launches, divided by kind. The bar of the loop over heads is more than six times as long as the other, and most "
    "of it is matmuls. All heads at once need a handful of kernels: matmuls, two elementwise ones and one softmax."
)
FORMS = {"at_once": "all heads<br>at once", "loop": "a loop<br>over heads"}
KINDS = {  # kind -> role, and the pattern that fills its bars
    "matmul": ("query", ""),
    "elementwise": ("soft", "/"),
    "softmax": ("accent", "x"),
    "concatenation": ("value", "."),
}


def figure() -> go.Figure:
    rows = records.table("kernel_launches", "by_kind")
    fig = go.Figure()
    for kind, (role, pattern) in KINDS.items():
        counts = {row["form"]: row["launches"] for row in plot.where(rows, kind=kind)}
        fig.add_bar(
            x=[counts.get(form, 0) for form in FORMS],
            y=list(FORMS.values()),
            orientation="h",
            marker={"pattern": {"shape": pattern, "solidity": 0.25}},
            **plot.Look(kind, role).trace("%{name}: %{x}"),
        )
    return plot.page(
        fig,
        plot.Frame(height=250, left=80, top=50),
        legend=plot.LEGEND | {"traceorder": "normal"},
        barmode="stack",
        xaxis={"title": "kernels launched by one call"},
        yaxis={"showgrid": False},
    )
