"""How many kernels each form of multi-head attention launches, by kind."""

import plotly.graph_objects as go

from scripts import records
from scripts.chapters import plot

ALT = (
    "A pair of bars for each kind of kernel, as long as the number that a call launches: all heads at once, and a loop "
    "over heads. The loop launches more of every kind, most of all matmuls. All heads at once need a handful of "
    "kernels: matmuls, two elementwise ones and one softmax."
)
FORMS = {"at_once": ("all heads at once", "grey"), "loop": ("a loop over heads", "accent")}  # form -> its name and role
KINDS = ("matmul", "elementwise", "softmax", "concatenation")


def figure() -> go.Figure:
    rows = records.table("kernel_launches", "by_kind")
    fig = go.Figure()
    for form, (name, role) in FORMS.items():
        counts = {row["kind"]: row["launches"] for row in plot.rows_with(rows, form=form)}
        kind_counts = [counts.get(kind, 0) for kind in KINDS]
        text = [f"<b>{kind_counts[0]}</b>  {name}", *map(str, kind_counts[1:])]
        fig.add_bar(x=kind_counts, y=KINDS, text=text, **plot.Style(name, role).bars("%{name}, %{y}: %{x}", "value"))
    axes = {"xaxis": {"visible": False}, "yaxis": plot.name_axis()}
    return plot.finish(fig, 250, barmode="group", bargap=0.25, **axes)
