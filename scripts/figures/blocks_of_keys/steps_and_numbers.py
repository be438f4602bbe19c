"""What a step costs: time of the two programs against the number of scores, where the multiplications stay the same."""

import plotly.graph_objects as go

from scripts import records
from scripts.figures import plot

ALT = (
    "Time against the number of scores, both axes from nought, for three head dimensions. The multiplications are the "
    "same in all three, since half as many heads of twice the size make half as many scores. One key at a time lies on "
    "a straight line through the origin: twice the scores, twice the time. Blocks of keys lie on a level line: the "
    "number of scores hardly matters to them."
)
FORMS = {  # form -> look, and where the head dimension stands
    "one_key_attention": (plot.Look("one key", "accent", "dot"), "top left"),
    "key_blocks_attention": (plot.Look("key blocks", "query", "solid"), "bottom center"),
}
HEAD_DIMS = (256, 128, 64)
N, TOKENS, WIDTH = 512, 16384, 2048  # as in prefill_speed: tokens are batch · N, the width is heads · d


def figure() -> go.Figure:
    scores = [WIDTH // head_dim * TOKENS * N / 1e6 for head_dim in HEAD_DIMS]
    fig = go.Figure()
    for form, (look, side) in FORMS.items():
        fig.add_scatter(
            x=scores,
            y=[median(form, head_dim) for head_dim in HEAD_DIMS],
            text=[f"d = {head_dim}" for head_dim in HEAD_DIMS],
            textposition=side,
            cliponaxis=False,
            **look.scatter("%{name}, %{text}: %{x:.3g} million scores, %{y:.4g} ms", "lines+markers+text", size=9),
        )
    return plot.page(
        fig,
        plot.Frame(height=340, right=15, top=30),
        xaxis={"title": "scores, millions", "range": [0, 300], "tickvals": [0, *scores], "tickformat": ".0f"},
        yaxis={"title": "milliseconds", "range": [0, 135], "tickvals": [0, 25, 50, 75, 100, 125]},
    )


def median(form: str, head_dim: int) -> float:
    rows = records.table("prefill_speed", f"forward_{head_dim}")
    (row,) = plot.where(rows, form=form, n=N, causal=False)
    return row["median"]
