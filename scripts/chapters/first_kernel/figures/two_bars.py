"""The riddle: the three lines, which write the square, and one key at a time, which doesn't."""

import plotly.graph_objects as go

from scripts import records
from scripts.chapters import plot

ALT = (
    "Two bars on one scale that begins at zero, each as long as its time: three lines of PyTorch, which write the "
    "square, and one key at a time, which keeps it on the chip."
)
N, HEAD_DIM = 512, 128  # as in prefill_speed
FORMS = {"attention": ("three lines", "grey"), "one_key_attention": ("one key", "accent")}  # -> name and role


def figure() -> go.Figure:
    rows = plot.rows_with(records.table("prefill_speed", f"forward_{HEAD_DIM}"), n=N, causal=False)
    median = {row["form"]: row["median"] for row in rows}
    fig = go.Figure()
    for form, (name, role) in FORMS.items():
        milliseconds = median[form]
        bar = plot.Style(name, role).bars("%{name}: %{x:.3g} ms", "value")
        fig.add_bar(x=[milliseconds], y=[name], text=[f"<b>{milliseconds:.3g} ms</b>"], **bar)
    axes = {"xaxis": {"visible": False}, "yaxis": plot.name_axis()}
    return plot.finish(fig, 120, bargap=0.35, margin={"b": 4}, **axes)
