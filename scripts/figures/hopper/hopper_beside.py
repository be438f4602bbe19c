"""The kernels for Hopper beside cuDNN and the portable kernels, forward and backward, by N and head dimension."""

import plotly.graph_objects as go

from kernels.bench.hardware import H100
from scripts import records
from scripts.figures import plot

ALT = (
    "Speed in TFLOP/s against N, for four kernels of the same work. Forward the Hopper kernel lies on top nearly "
    "throughout, cuDNN close below it and now and then level with it. The portable Triton kernel follows, nearest "
    "at the smallest heads, where it reaches cuDNN on long texts. PyTorch's flash lies far below. Backward the "
    "Hopper kernel lies on top with the smallest heads and close to cuDNN with larger ones. The form of it that "
    "adds in one order lies lower, near the portable kernels, except with the largest heads, where it is level with "
    "the other form. A dotted level line marks what a large matmul reaches. A menu chooses the head dimension, "
    "whether attention is causal, and the pass."
)
FORMS = {
    "hopper_attention": plot.Look("for Hopper", "accent", "solid", "circle"),
    "sdpa_cudnn": plot.Look("cuDNN", "query", "dash", "square"),
    "flash_attention": plot.Look("portable", "value", "dashdot", "diamond"),
    "sdpa_flash": plot.Look("flash backend", "soft", "dot", "triangle-up"),
}
BACKWARD = {  # what the record of the backward pass calls them
    "hopper": FORMS["hopper_attention"],
    "cudnn": FORMS["sdpa_cudnn"],
    "flash": FORMS["flash_attention"],
    "deterministic": plot.Look("for Hopper, in one order", "key", "dot", "circle-open"),
}
CHOICES = {  # label -> head dimension, causal, backward
    f"d = {head_dim}{', causal' if causal else ''}{', backward' if backward else ''}": (head_dim, causal, backward)
    for backward in (False, True)
    for head_dim in (64, 128, 256)
    for causal in (False, True)
}
SPEED = "%{name}, N = %{x}: %{y:.0f} TFLOP/s, %{customdata[0]:.4g} ms, %{customdata[1]:.3g} of cuDNN's speed"


def figure() -> go.Figure:
    fig, choices = go.Figure(), []
    for label, choice in CHOICES.items():
        for rows, look in lines(*choice):
            fig.add_scatter(
                x=[row["n"] for row in rows],
                y=[row["speed"] for row in rows],
                customdata=[[row["median"], row["ratio"]] for row in rows],
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
        plot.Frame(height=340, right=15, top=70),
        plot.switch(fig, "Heads", choices, "d = 128"),
        xaxis=plot.log("N", lengths),
        yaxis={"title": "TFLOP/s", "range": [0, 790], "dtick": 200},
    )


def lines(head_dim: int, causal: bool, backward: bool) -> list[tuple[list[dict], plot.Look]]:
    """The rows of each form, and how it is drawn."""
    if backward:
        rows = plot.where(records.table("hopper_backward", "backward"), head_dim=head_dim)
    else:
        rows = records.table("hopper_speed", f"forward_{head_dim}")
    forms = BACKWARD if backward else FORMS
    return [(plot.where(rows, form=form, causal=causal), look) for form, look in forms.items()]
