"""What a pair of a query with a key costs as N grows, one key at a time and in blocks of keys."""

import plotly.graph_objects as go

from scripts import records
from scripts.chapters import plot

ALT = (
    "Picoseconds a pair against N, from two hundred and fifty-six to eight thousand, both axes logarithmic. One key "
    "at a time is level up to five hundred and twelve, then rises, and in the end doubles with N. Key blocks lie far "
    "below it, nearly level up to four thousand, and rise at the last point."
)
FORMS = {
    "one_key_attention": plot.Style("one key", "ink"),
    "key_blocks_attention": plot.Style("key blocks", "accent"),
}


def figure() -> go.Figure:
    rows = records.table("key_blocks", "times")
    lengths = sorted({row["n"] for row in rows})
    fig = go.Figure()
    for form, style in FORMS.items():
        costs = {row["n"]: row["one_meeting"] for row in plot.rows_with(rows, form=form)}
        trace = style.scatter("%{name}, N = %{x}: %{y:.3g} ps a pair")
        fig.add_scatter(x=lengths, y=[costs[n] for n in lengths], **trace)
    return plot.finish(
        fig,
        360,
        xaxis=plot.log_axis("words N", lengths),
        yaxis=plot.log_axis("picoseconds a pair", [50, 100, 200, 500, 1000, 2000, 5000, 10000]),
    )
