"""How often the maximum of a row moves while the row arrives, in rows of a real model and in random ones."""

import plotly.graph_objects as go

from scripts import records
from scripts.chapters import plot

ALT = (
    "Bars of how many rows moved their maximum how often, the first block counted, for rows of a real model and for "
    "random rows. It moved with the first block alone in {fact=the_first_block_settles}."
)
LOOKS = {"real": plot.Look("a real model", "accent"), "random": plot.Look("random rows", "grey")}


def figure() -> go.Figure:
    rows = records.table("real_rows", "moves")
    moved = [row["moved"] for row in rows]
    fig = go.Figure()
    for kind, look in LOOKS.items():
        trace = look.trace("%{name}: the maximum of %{y} rows moved %{x} times")
        counts = [row[kind] for row in rows]
        fig.add_bar(x=moved, y=counts, **trace)
        tallest = max(zip(counts, moved, strict=True))
        plot.labels(fig, [tallest[1]], [tallest[0]], [look.name], textposition="top right", role=look.role)
    most = max(row["real"] for row in rows)
    return plot.page(
        fig,
        320,
        bargap=0.25,
        xaxis={"title": "how often the maximum moved, the first block counted", "tickvals": moved},
        yaxis={"title": "rows", "range": [0, most * 1.15], "nticks": 5},
    )
