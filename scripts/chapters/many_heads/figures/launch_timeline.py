"""When the host hands over each kernel and when the GPU runs it, for both forms of multi-head attention."""

from textwrap import wrap

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from scripts import records
from scripts.chapters import plot

ALT = (
    "Two timelines on one scale, a loop over heads above and all heads at once below, each with a lane for the host "
    "and one for the GPU. For the short input the host hands over one launch after the other. The GPU's lane is nearly "
    "empty: each kernel is a thin bar just after its launch. All heads at once are done while the loop still has most "
    "of its launches to make. For the long input there are gaps at first, then the kernels fill the GPU's lane, one "
    "after the other, and the host has handed over the last of them before the GPU is done."
)
FORMS = {"loop": "a loop over heads", "at_once": "all heads at once"}
LANES = {"host": ("host", "soft", "launch"), "device": ("GPU", "accent", "kernel")}


def figure() -> go.Figure:
    rows = records.table("launch_timeline", "events")
    short, long = sorted({row["n"] for row in rows})
    fig = make_subplots(len(FORMS), 1, vertical_spacing=0.24)
    lanes = [(n, panel, side) for n in (short, long) for panel in range(len(FORMS)) for side in LANES]
    for n, panel, side in lanes:
        lane, role, what = LANES[side]
        events = plot.rows_with(rows, form=list(FORMS)[panel], n=n, side=side)
        fig.add_bar(
            base=[row["start"] for row in events],
            x=[row["duration"] for row in events],
            y=[lane] * len(events),
            orientation="h",
            width=0.7,
            meta={"role": role},
            visible=n == short,
            customdata=[
                [row["launch"], "<br>".join(wrap(row["name"], 28)), row["start"], row["duration"]] for row in events
            ],
            hovertemplate=f"{what} %{{customdata[0]}}: %{{customdata[1]}}<br>from %{{customdata[2]:.1f}} µs, "
            "for %{customdata[3]:.1f} µs<extra></extra>",
            row=panel + 1,
            col=1,
        )

    def view(n: int, end: float) -> list[dict]:
        """The lanes of one input, from the first launch until ``end``."""
        reach = [0, 1.02 * end]
        return [{"visible": [drawn == n for drawn, *_ in lanes]}, {"xaxis.range": reach, "xaxis2.range": reach}]

    views = {
        "short input, first part": view(short, last_end(rows, n=short, form="at_once")),
        "short input, whole call": view(short, last_end(rows, n=short)),
        "long input, whole call": view(long, last_end(rows, n=long)),
    }
    fig.update_layout(views["short input, first part"][1])
    fig.update_xaxes(title="µs from the first launch", row=len(FORMS), col=1)
    for panel, name in enumerate(FORMS.values(), start=1):
        fig.update_yaxes(plot.name_axis(name), row=panel, col=1)
    return plot.finish(
        fig,
        320,
        plot.menu("Show", views, method="update"),
        barmode="overlay",
    )


def last_end(rows: list[dict], **wanted: object) -> float:
    """When the last of these kernels ends."""
    return max(row["start"] + row["duration"] for row in plot.rows_with(rows, **wanted))
