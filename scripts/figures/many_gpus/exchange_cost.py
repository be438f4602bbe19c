"""How much longer a kernel and an exchange take together than the kernel alone, by three ways of copying."""

import plotly.graph_objects as go

from scripts import records
from scripts.figures import plot

ALT = (
    "Percent by which a kernel and an exchange take longer together than the kernel alone, in bars with the interval "
    "of the repetitions, for short parts and for long ones: a bar for messages, one for messages with few thread "
    "blocks and one for copies of peer memory. The last is close to nought, the others stand above it. With long parts "
    "the intervals of messages are wide."
)
WAYS = {
    "messages": plot.Look("messages", "query"),
    "messages, 4 thread blocks": plot.Look("messages, 4 thread blocks", "key"),
    "peer memory": plot.Look("peer memory", "accent"),
}


def figure() -> go.Figure:
    rows = sorted(records.table("overlap", "overlap"), key=lambda row: row["tokens"])
    fig = go.Figure()
    for how, look in WAYS.items():
        own = plot.where(rows, how=how)
        fig.add_bar(
            x=[f"{row['tokens']:,}" for row in own],
            y=[row["cost"] for row in own],
            error_y=plot.interval(own, "cost"),
            marker={"opacity": 0.6, "line": {"width": 1}},
            **look.trace("%{name}, %{x} tokens: %{y:.3g} % longer"),
        )
    return plot.page(
        fig,
        plot.Frame(height=250, top=40),
        barmode="group",
        bargap=0.4,
        xaxis={"title": "tokens a GPU", "type": "category"},
        yaxis={"title": "% longer, both"},
    )
