"""What a pair costs: the time of the same arithmetic in many small heads, and in few large ones."""

import plotly.graph_objects as go

from scripts import records
from scripts.chapters import plot
from scripts.chapters.prefill_speed import HEAD_DIMS, WIDTH, N

ALT = (
    "Three bars on tracks of one length, each as long as its time: heads of sixty-four numbers, of a hundred and "
    "twenty-eight, and of two hundred and fifty-six; a word has the same numbers in all three."
)
CHAPTER_HEAD_DIM = 128  # what all else in the chapter is about


def figure() -> go.Figure:
    times = {f"{WIDTH // head_dim} heads of {head_dim}": one_key_milliseconds(head_dim) for head_dim in HEAD_DIMS}
    fig = go.Figure()
    fig.add_bar(
        x=[max(times.values())] * len(times), y=list(times), orientation="h", hoverinfo="skip", meta={"role": "faint"}
    )
    for head_dim, (name, ms) in zip(HEAD_DIMS, times.items(), strict=True):
        role = "accent" if head_dim == CHAPTER_HEAD_DIM else "grey"
        bar = plot.Style("one key", role).bars("%{y}: %{x:.3g} ms", "value")
        fig.add_bar(x=[ms], y=[name], text=[f"<b>{ms:.0f} ms</b>"], **bar)
    axes = {"xaxis": {"visible": False}, "yaxis": plot.name_axis()}
    return plot.finish(fig, 140, barmode="overlay", bargap=0.3, margin={"b": 4}, **axes)


def one_key_milliseconds(head_dim: int) -> float:
    rows = plot.rows_with(records.table("prefill_speed", f"forward_{head_dim}"), n=N, causal=False)
    (row,) = plot.rows_with(rows, form="one_key_attention")
    return row["median"]
