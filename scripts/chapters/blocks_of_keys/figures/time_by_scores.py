"""One key and key blocks: time against the number of scores, where the multiplications stay the same."""

import plotly.graph_objects as go

from scripts import records
from scripts.chapters import plot
from scripts.chapters.prefill_speed import HEAD_DIMS, TOKENS, WIDTH, N

ALT = (
    "Time against the number of scores, both axes from zero, for three head dimensions. The multiplications are the "
    "same in all three, since half as many heads of twice the size make half as many scores. One key at a time lies on "
    "a straight line through the origin: twice the scores, twice the time. Blocks of keys lie on a level line: the "
    "number of scores hardly matters to them."
)
FORMS = {
    "one_key_attention": plot.Style("one key", "ink"),
    "key_blocks_attention": plot.Style("key blocks", "accent"),
}
MOST_SCORES_LAST = HEAD_DIMS[::-1]


def figure() -> go.Figure:
    # heads · tokens · keys that each of them sees, in millions
    scores = [WIDTH // head_dim * TOKENS * N / 1e6 for head_dim in MOST_SCORES_LAST]
    fig, hover = go.Figure(), "%{name}, %{text}: %{x:.3g} million scores, %{y:.4g} ms"
    for form, style in FORMS.items():
        fig.add_scatter(
            x=scores,
            y=[median(form, head_dim) for head_dim in MOST_SCORES_LAST],
            text=[f"d = {head_dim}" for head_dim in MOST_SCORES_LAST],
            textposition="top left",
            **style.scatter(hover, "lines+markers+text" if form == "one_key_attention" else "lines+markers"),
        )
    return plot.finish(
        fig,
        340,
        xaxis={"title": "million scores", "range": [0, 280], "tickvals": [0, *scores], "tickformat": ".0f"},
        yaxis={"title": "milliseconds", "range": [0, 135], "tickvals": [0, 25, 50, 75, 100, 125]},
    )


def median(form: str, head_dim: int) -> float:
    rows = records.table("prefill_speed", f"forward_{head_dim}")
    (row,) = plot.rows_with(rows, form=form, n=N, causal=False)
    return row["median"]
