"""How much longer a kernel takes while keys and values travel beside it, by three ways of copying."""

import plotly.graph_objects as go

from scripts import records
from scripts.figures import plot

ALT = (
    "Percent by which a kernel takes longer while an exchange runs beside it, against the tokens of a GPU on a "
    "logarithmic axis, with the interval of the repetitions: a curve for messages, one for messages with few thread "
    "blocks and one for copies of peer memory. The last lies close to nought, the others above it."
)
WAYS = {
    "messages": plot.Look("messages", "query", None, "circle-open"),
    "messages, 4 thread blocks": plot.Look("messages, 4 thread blocks", "key", "dash", "square-open"),
    "peer memory": plot.Look("peer memory", "accent", None, "circle"),
}


def figure() -> go.Figure:
    rows = sorted(records.table("overlap", "overlap"), key=lambda row: row["tokens"])
    fig = go.Figure()
    for how, look in WAYS.items():
        own = plot.where(rows, how=how)
        fig.add_scatter(
            x=[row["tokens"] for row in own],
            y=[row["cost"] for row in own],
            error_y={
                "array": [row["high"] - row["cost"] for row in own],
                "arrayminus": [row["cost"] - row["low"] for row in own],
                "thickness": 1,
            },
            **look.scatter("%{name}, %{x} tokens: %{y:.3g} % longer", size=9),
        )
    tokens = sorted({row["tokens"] for row in rows})
    return plot.page(
        fig,
        plot.Frame(height=360, top=60),
        xaxis=plot.log("tokens a GPU", tokens, [f"{n:,}" for n in tokens]),
        yaxis={"title": "% longer than alone", "rangemode": "tozero"},
    )
