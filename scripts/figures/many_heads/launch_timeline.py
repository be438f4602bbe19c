"""When the host hands over each kernel and when the GPU runs it, for both forms of multi-head attention."""

from textwrap import wrap

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from scripts import records

ALT = (
    "Two timelines on one scale, a loop over heads above and all heads at once below, each with a lane for the host "
    "and one for the GPU. For the short input the host hands over one launch after the other. The GPU's lane is nearly "
    "empty: each kernel is a thin bar just after its launch. All heads at once are done while the loop still has most "
    "of its launches to make. For the long input there are gaps at first, then the kernels fill the GPU's lane, one "
    "after the other, and the host has handed over the last of them before the GPU is done."
)
FORMS = {"loop": "a loop over heads", "at_once": "all heads at once"}
LANES = {"host": ("host", "key", "launch"), "device": ("GPU", "query", "kernel")}


def figure() -> go.Figure:
    rows = records.table("launch_timeline", "events")
    short, long = sorted({row["n"] for row in rows})
    fig = make_subplots(len(FORMS), 1, vertical_spacing=0.24, subplot_titles=list(FORMS.values()))
    for n in (short, long):
        for panel, form in enumerate(FORMS, start=1):
            for side, (lane, role, what) in LANES.items():
                found = events(rows, form, n, side)
                fig.add_bar(
                    base=[row["start"] for row in found],
                    x=[row["duration"] for row in found],
                    y=[lane] * len(found),
                    orientation="h",
                    width=0.7,
                    meta={"role": role},
                    visible=n == short,
                    showlegend=False,
                    customdata=[
                        [row["launch"], "<br>".join(wrap(row["name"], 28)), row["start"], row["duration"]]
                        for row in found
                    ],
                    hovertemplate=f"{what} %{{customdata[0]}}: %{{customdata[1]}}<br>from %{{customdata[2]:.1f}} µs, "
                    "for %{customdata[3]:.1f} µs<extra></extra>",
                    row=panel,
                    col=1,
                )
    views = [
        ("short input, first part", short, done(rows, short, ["at_once"])),
        ("short input, whole call", short, done(rows, short, FORMS)),
        ("long input, whole call", long, done(rows, long, FORMS)),
    ]
    buttons = [
        {
            "label": label,
            "method": "update",
            "args": [
                {"visible": [n == drawn for drawn in (short, long) for _ in range(len(FORMS) * len(LANES))]},
                {"xaxis.range": [0, 1.02 * end], "xaxis2.range": [0, 1.02 * end]},
            ],
        }
        for label, n, end in views
    ]
    fig.update_xaxes(fixedrange=True, range=buttons[0]["args"][1]["xaxis.range"])
    fig.update_xaxes(title="µs from the first launch", row=len(FORMS), col=1)
    fig.update_yaxes(fixedrange=True, showgrid=False, autorange="reversed")
    fig.update_annotations(font_size=13)
    fig.update_layout(
        template=None,
        height=320,
        barmode="overlay",
        margin={"l": 48, "r": 16, "t": 36, "b": 50},
        updatemenus=[{"name": "Show", "buttons": buttons}],
    )
    return fig


def events(rows: list[dict], form: str, n: int, side: str) -> list[dict]:
    return [row for row in rows if (row["form"], row["n"], row["side"]) == (form, n, side)]


def done(rows: list[dict], n: int, forms: list[str] | dict) -> float:
    """When the last kernel of these forms ends."""
    return max(row["start"] + row["duration"] for row in rows if row["n"] == n and row["form"] in forms)
