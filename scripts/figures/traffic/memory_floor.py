"""The three lines as N grows, above two floors: their bytes at a copy's speed, and their arithmetic at a matmul's."""

import plotly.graph_objects as go

from kernels.bench.cost import attention_flops, eager_traffic
from kernels.bench.hardware import H100
from scripts import records

ALT = (
    "Milliseconds against the number of words N, both axes logarithmic. Three lines rise. Lowest is the floor of "
    "arithmetic. Above it, five to seven times as high, is the floor of memory: six trips of all squares at the speed "
    "of a copy. The measured time starts close above the floor of memory and leaves it as N grows. At the largest N it "
    "is close to it again."
)
HEADS, HEAD_DIM, TOKENS = 16, 128, 16384


def figure() -> go.Figure:
    wanted = {"form": "attention", "direction": "forward", "head_dim": HEAD_DIM, "causal": False}
    rows = [
        row
        for row in records.table("prefill_speed", f"forward_{HEAD_DIM}")
        if all(row[key] == value for key, value in wanted.items())
    ]
    lengths = [row["n"] for row in rows]
    moved = [
        sum(step.read + step.written for step in eager_traffic(n, HEAD_DIM, 2, HEADS, TOKENS // n)) for n in lengths
    ]
    flops = [attention_flops(n, HEAD_DIM, HEADS, TOKENS // n) for n in lengths]
    lines = {
        "measured": ("query", "solid", [row["median"] for row in rows]),
        "floor of memory": ("key", "dash", [1e3 * count / H100["hbm copy"].value for count in moved]),
        "floor of arithmetic": ("soft", "dot", [1e3 * count / H100["bf16 matmul"].value for count in flops]),
    }
    fig = go.Figure()
    for name, (role, dash, times) in lines.items():
        fig.add_scatter(
            x=lengths,
            y=times,
            name=name,
            mode="lines+markers",
            line_dash=dash,
            meta={"role": role},
            hovertemplate=f"N = %{{x}}, {name}: %{{y:.3g}} ms<extra></extra>",
        )
    ticks = [0.1, 0.3, 1, 3, 10, 30]
    fig.update_layout(
        template=None,
        height=400,
        margin={"l": 60, "r": 10, "t": 60, "b": 50},
        legend={"orientation": "h", "x": 0.5, "xanchor": "center", "y": 1.02, "yanchor": "bottom"},
        xaxis={"title": "words N", "type": "log", "tickvals": lengths, "ticktext": lengths, "fixedrange": True},
        yaxis={"title": "time, ms", "type": "log", "tickvals": ticks, "ticktext": ticks, "fixedrange": True},
    )
    return fig
