"""How many kernels each form of multi-head attention launches, by kind."""

import plotly.graph_objects as go

from scripts import records

ALT = (
    "Two horizontal bars, one for each form of multi-head attention, as long as the number of kernels that a call "
    "launches, divided by kind. The bar of the loop over heads is more than six times as long as the other, and most "
    "of it is matmuls. All heads at once need a handful of kernels: matmuls, two elementwise ones and one softmax."
)
FORMS = {"at_once": "all heads<br>at once", "loop": "a loop<br>over heads"}
ROLES = {"matmul": "query", "elementwise": "soft", "softmax": "accent", "concatenation": "value"}
SHAPES = {"matmul": "", "elementwise": "/", "softmax": "x", "concatenation": "."}


def figure() -> go.Figure:
    rows = [row for row in records.table("kernel_launches", "by_kind") if row["kind"] != "all"]
    fig = go.Figure()
    for kind, role in ROLES.items():
        counts = {row["form"]: row["launches"] for row in rows if row["kind"] == kind}
        fig.add_bar(
            x=[counts.get(form, 0) for form in FORMS],
            y=list(FORMS.values()),
            orientation="h",
            name=kind,
            meta={"role": role},
            marker={"pattern": {"shape": SHAPES[kind], "solidity": 0.25}},
            hovertemplate=f"{kind}: %{{x}}<extra></extra>",
        )
    fig.update_layout(
        template=None,
        height=250,
        barmode="stack",
        margin={"l": 80, "r": 10, "t": 50, "b": 50},
        legend={"orientation": "h", "x": 0.5, "xanchor": "center", "y": 1.02, "yanchor": "bottom"},
        legend_traceorder="normal",
        xaxis={"title": "kernels launched by one call", "fixedrange": True},
        yaxis={"fixedrange": True, "showgrid": False},
    )
    return fig
