"""The Hopper kernel beside cuDNN, PyTorch's flash backend and the portable kernel, by N and head dimension."""

import plotly.graph_objects as go

from kernels.bench.hardware import H100
from scripts import records

ALT = (
    "Speed in TFLOP/s against N, for four kernels of the same work. The Hopper kernel lies on top throughout, cuDNN "
    "close below it and now and then level with it. The portable Triton kernel follows, nearest at the smallest heads, "
    "where it once reaches cuDNN. "
    "PyTorch's flash backend lies far below. A dotted level line marks what a large matmul reaches. A menu chooses the "
    "head dimension, and whether attention is causal."
)
FORMS = {  # form -> name, role, dash, symbol
    "hopper_attention": ("hopper_attention", "accent", "solid", "circle"),
    "sdpa_cudnn": ("cuDNN", "query", "dash", "square"),
    "flash_attention": ("flash_attention", "value", "dashdot", "diamond"),
    "sdpa_flash": ("flash backend", "soft", "dot", "triangle-up"),
}
CHOICES = [(head_dim, causal) for head_dim in (64, 128, 256) for causal in (False, True)]


def figure() -> go.Figure:
    fig, shown = go.Figure(), CHOICES.index((128, False))
    matmul = H100["bf16 matmul"].value / 1e12
    for index, (head_dim, causal) in enumerate(CHOICES):
        rows = [row for row in records.table("hopper_speed", f"forward_{head_dim}") if row["causal"] == causal]
        for form, (name, role, dash, symbol) in FORMS.items():
            own = [row for row in rows if row["form"] == form]
            fig.add_scatter(
                x=[row["n"] for row in own],
                y=[row["speed"] for row in own],
                name=name,
                mode="lines+markers",
                marker_size=9,
                marker_symbol=symbol,
                line_dash=dash,
                visible=index == shown,
                meta={"role": role},
                customdata=[[row["median"], row["ratio"], row["p20"], row["p80"]] for row in own],
                hovertemplate=f"{name}, N = %{{x}}: %{{y:.0f}} TFLOP/s, %{{customdata[0]:.4g}} ms "
                "(%{customdata[2]:.4g} to %{customdata[3]:.4g}), %{customdata[1]:.2f} of cuDNN's speed<extra></extra>",
            )
    lengths = sorted({n for trace in fig.data for n in trace.x})
    fig.add_scatter(
        x=lengths,
        y=[matmul] * len(lengths),
        mode="lines",
        name="a large matmul",
        line_dash="dot",
        line_width=1,
        meta={"role": "soft"},
        hovertemplate="a large matmul: %{y:.0f} TFLOP/s<extra></extra>",
    )
    each = len(FORMS)
    everyone = list(range(each * len(CHOICES)))
    fig.update_xaxes(title="N", type="log", tickvals=lengths, ticktext=lengths, fixedrange=True)
    fig.update_yaxes(title="TFLOP/s", range=[0, 790], dtick=200, fixedrange=True)
    fig.update_layout(
        template=None,
        height=400,
        margin={"l": 60, "r": 15, "t": 70, "b": 50},
        legend={"orientation": "h", "x": 0.5, "xanchor": "center", "y": 1.02, "yanchor": "bottom"},
        updatemenus=[
            {
                "name": "Heads",
                "active": shown,
                "buttons": [
                    {
                        "label": f"d = {head_dim}{', causal' if causal else ''}",
                        "method": "restyle",
                        "args": [{"visible": [i // each == index for i in everyone]}, everyone],
                    }
                    for index, (head_dim, causal) in enumerate(CHOICES)
                ],
            }
        ],
    )
    return fig
