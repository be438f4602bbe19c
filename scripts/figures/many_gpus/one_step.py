"""What the SMs and the copies of one GPU do in a ring's call, by messages and by peer memory: from a profiler."""

import plotly.graph_objects as go

from scripts import records
from scripts.figures import plot

ALT = (
    "Bars along a line of time, a row for what computes and one for what copies, of one GPU. By peer memory the copy "
    "lies under the first kernel, and the second begins where the first ends. By messages the copies are kernels "
    "themselves, and the kernel beside them is longer. A menu chooses how is copied."
)
ROLES = {"compute": "accent", "copy": "key"}


def figure() -> go.Figure:
    rows = [row for row in records.table("parallel_timeline", "timeline") if row["gpu"] == first_gpu()]
    fig, of_traces = go.Figure(), []
    ways = list(dict.fromkeys(row["how"] for row in rows))
    for how in ways:
        start = min(row["begin_us"] for row in plot.where(rows, how=how))
        for stream, role in ROLES.items():
            own = plot.where(rows, how=how, stream=stream)
            fig.add_bar(
                orientation="h",
                base=[row["begin_us"] - start for row in own],
                x=[row["end_us"] - row["begin_us"] for row in own],
                y=[stream] * len(own),
                customdata=[row["what"] for row in own],
                marker={"opacity": 0.5, "line": {"width": 1}},
                **plot.Look(stream, role).trace("%{customdata}: from %{base:.0f} µs, %{x:.0f} µs"),
            )
            of_traces.append(how)
    return plot.page(
        fig,
        plot.Frame(height=230, left=75),
        plot.switch(fig, "Copied by", of_traces, ways[-1]),
        legend=None,
        showlegend=False,
        barmode="overlay",
        bargap=0.3,
        xaxis={"title": "µs since the first began", "rangemode": "tozero"},
        yaxis={"categoryorder": "array", "categoryarray": list(ROLES)[::-1]},
    )


def first_gpu() -> object:
    return min(row["gpu"] for row in records.table("parallel_timeline", "timeline"))
