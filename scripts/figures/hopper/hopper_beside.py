"""The Hopper kernel beside cuDNN, PyTorch's flash backend and the portable kernel, by N and head dimension."""

import plotly.graph_objects as go

from kernels.bench.hardware import H100
from scripts import records
from scripts.figures import plot

ALT = (
    "Speed in TFLOP/s against N, for four kernels of the same work. The Hopper kernel lies on top throughout, cuDNN "
    "close below it and now and then level with it. The portable Triton kernel follows, nearest at the smallest heads, "
    "where it once reaches cuDNN. "
    "PyTorch's flash backend lies far below. A dotted level line marks what a large matmul reaches. A menu chooses the "
    "head dimension, and whether attention is causal."
)
FORMS = {
    "hopper_attention": plot.Look("hopper_attention", "accent", "solid", "circle"),
    "sdpa_cudnn": plot.Look("cuDNN", "query", "dash", "square"),
    "flash_attention": plot.Look("flash_attention", "value", "dashdot", "diamond"),
    "sdpa_flash": plot.Look("flash backend", "soft", "dot", "triangle-up"),
}
CHOICES = {  # label -> head dimension, causal
    f"d = {head_dim}{', causal' if causal else ''}": (head_dim, causal)
    for head_dim in (64, 128, 256)
    for causal in (False, True)
}
SPEED = (
    "%{name}, N = %{x}: %{y:.0f} TFLOP/s, %{customdata[0]:.4g} ms (%{customdata[2]:.4g} to %{customdata[3]:.4g}), "
    "%{customdata[1]:.2f} of cuDNN's speed"
)


def figure() -> go.Figure:
    fig, choices = go.Figure(), []
    for label, (head_dim, causal) in CHOICES.items():
        for form, look in FORMS.items():
            rows = plot.where(records.table("hopper_speed", f"forward_{head_dim}"), form=form, causal=causal)
            fig.add_scatter(
                x=[row["n"] for row in rows],
                y=[row["speed"] for row in rows],
                customdata=[[row["median"], row["ratio"], row["p20"], row["p80"]] for row in rows],
                **look.scatter(SPEED, size=9),
            )
            choices.append(label)
    lengths = sorted({n for trace in fig.data for n in trace.x})
    fig.add_scatter(
        x=lengths,
        y=[H100["bf16 matmul"].value / 1e12] * len(lengths),
        line_width=1,
        **plot.Look("a large matmul", "soft", "dot").scatter("%{name}: %{y:.0f} TFLOP/s", "lines"),
    )
    return plot.page(
        fig,
        plot.Frame(right=15, top=70),
        plot.switch(fig, "Heads", choices, "d = 128"),
        xaxis=plot.log("N", lengths),
        yaxis={"title": "TFLOP/s", "range": [0, 790], "dtick": 200},
    )
