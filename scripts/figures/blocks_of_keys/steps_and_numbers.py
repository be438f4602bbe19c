"""What a step costs: time of the two programs against the number of scores, where the multiplications stay the same."""

import plotly.graph_objects as go

from scripts import records

ALT = (
    "Time against the number of scores, both axes from nought, for three head dimensions. The multiplications are the "
    "same in all three, since half as many heads of twice the size make half as many scores. One key at a time lies on "
    "a straight line through the origin: twice the scores, twice the time. Blocks of keys lie on a level line: the "
    "number of scores hardly matters to them."
)
FORMS = {"one_key_attention": ("one key", "accent", "dot"), "key_blocks_attention": ("key blocks", "query", "solid")}
HEAD_DIMS = (256, 128, 64)
N, TOKENS, WIDTH = 512, 16384, 2048  # of the snippet prefill_speed: batch times N, heads times head_dim


def figure() -> go.Figure:
    scores = [WIDTH // head_dim * TOKENS * N / 1e6 for head_dim in HEAD_DIMS]
    fig = go.Figure()
    for form, (name, role, dash) in FORMS.items():
        fig.add_scatter(
            x=scores,
            y=[median(form, head_dim) for head_dim in HEAD_DIMS],
            name=name,
            mode="lines+markers+text",
            marker_size=9,
            line_dash=dash,
            text=[f"d = {head_dim}" for head_dim in HEAD_DIMS],
            textposition="top left" if form == "one_key_attention" else "bottom center",
            cliponaxis=False,
            meta={"role": role},
            hovertemplate=f"{name}, %{{text}}: %{{x:.3g}} million scores, %{{y:.4g}} ms<extra></extra>",
        )
    fig.update_xaxes(title="scores, millions", range=[0, 300], tickvals=[0, *scores], tickformat=".0f")
    fig.update_yaxes(title="milliseconds", range=[0, 135], tickvals=[0, 25, 50, 75, 100, 125])
    fig.update_xaxes(fixedrange=True).update_yaxes(fixedrange=True)
    fig.update_layout(
        template=None,
        height=340,
        margin={"l": 60, "r": 15, "t": 30, "b": 50},
        legend={"orientation": "h", "x": 0.5, "xanchor": "center", "y": 1.02, "yanchor": "bottom"},
    )
    return fig


def median(form: str, head_dim: int) -> float:
    (row,) = [
        row
        for row in records.table("prefill_speed", f"forward_{head_dim}")
        if (row["form"], row["n"], row["causal"]) == (form, N, False)
    ]
    return row["median"]
