"""What one GPU does in a ring's call, by messages and by peer memory: from a profiler."""

import plotly.graph_objects as go

from scripts import records
from scripts.figures import plot

ALT = (
    "Bars along a line of time, a row for attention, one for the small kernels around it and one for what travels "
    "between the GPUs. By peer memory the fetch lies under the first attention, and the second begins before the first "
    "ends. By messages what travels is a kernel itself, one of the two waits for the other, and the whole takes "
    "longer. A menu chooses how is copied."
)
LINES = {"attention": "attention", "fetch": "travels", "send and receive": "travels"}  # of all else: small kernels
ROLES = {"attention": "accent", "small kernels": "soft", "travels": "key"}


def figure() -> go.Figure:
    rows = records.table("parallel_timeline", "timeline")
    fig, of_traces = go.Figure(), []
    ways = list(dict.fromkeys(row["how"] for row in rows))
    for how in ways:
        for line, role in ROLES.items():
            own = [row for row in plot.where(rows, how=how) if LINES.get(row["what"], "small kernels") == line]
            fig.add_bar(
                orientation="h",
                base=[row["begin"] for row in own],
                x=[row["end"] - row["begin"] for row in own],
                y=[line] * len(own),
                customdata=[row["what"] for row in own],
                marker={"opacity": 0.5, "line": {"width": 1}},
                **plot.Look(line, role).trace("%{customdata}: from %{base:.0f} µs, %{x:.0f} µs"),
            )
            of_traces.append(how)
    return plot.page(
        fig,
        plot.Frame(height=230, left=95),
        plot.switch(fig, "Copied by", of_traces, ways[0]),
        legend=None,
        showlegend=False,
        barmode="overlay",
        bargap=0.3,
        xaxis={"title": "µs since the first began", "rangemode": "tozero"},
        yaxis={"categoryorder": "array", "categoryarray": list(ROLES)[::-1]},
    )
