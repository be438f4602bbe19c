"""What a call of each form takes, kernel by kernel and replayed from a graph, for a short and a long input."""

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from scripts import records
from scripts.chapters import plot

ALT = (
    "Two charts, one above the other, of milliseconds for one call: above for a short input, below for a long one. In "
    "each stand a loop over heads and all heads at once, kernel by kernel and replayed from a graph. For the short "
    "input the loop takes several times as long as all heads at once, and the replay of either takes a small part of "
    "its time. For the long input all four bars are nearly equal."
)
FORMS = {"at_once": "all at once", "loop": "a loop"}
WAYS = {"wall": plot.Style("kernel by kernel", "grey"), "replayed": plot.Style("replayed", "accent")}


def figure() -> go.Figure:
    rows = records.table("kernel_launches", "times")
    sizes = list(dict.fromkeys((row["batch"], row["n"]) for row in rows))
    fig = make_subplots(rows=len(sizes), cols=1, vertical_spacing=0.2)
    for panel, (batch, n) in enumerate(sizes, start=1):
        times = {row["form"]: row for row in plot.rows_with(rows, batch=batch, n=n)}
        for way, style in WAYS.items():
            fig.add_bar(
                x=[times[form][way] for form in FORMS],
                y=list(FORMS.values()),
                text=[f"<b>{times[form][way]:.3g}</b> ms  {style.name}" for form in FORMS],
                row=panel,
                col=1,
                **style.bars("%{name}: %{x:.3g} ms", "value"),
            )
        fig.update_yaxes(plot.name_axis(f"batch {batch}, {n} tokens"), row=panel, col=1)
    fig.update_xaxes(rangemode="tozero", visible=False)
    return plot.finish(fig, 330, barmode="group", bargap=0.3)
