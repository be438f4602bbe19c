"""The kernels for Hopper beside cuDNN, FlashAttention-4 and the portable kernels, by N and head dimension."""

import plotly.graph_objects as go

from scripts import records
from scripts.chapters import plot

ALT = (
    "Speed in TFLOP/s against N, for four kernels of the same work. Forward and backward the Hopper kernel lies above"
    " cuDNN everywhere. Forward the newest FlashAttention lies below both on the shortest texts with the two smaller "
    "heads, and on the longest it is near the Hopper kernel, now above, now below. The portable Triton kernel comes "
    "last, but for the smallest heads, where it is below cuDNN on the shortest texts and level with it or just ahead "
    "on others, and for the middle ones on longer causal texts, where the same holds. Backward the newest "
    "FlashAttention lies on top with the middle heads, but for causal texts of middle length, where the Hopper kernel"
    " is level with it. With the largest heads the Hopper kernel lies on top, and the newest FlashAttention last of "
    "these three, but between the other two on the shortest and the longest texts without a mask. With the smallest "
    "both are above cuDNN, the newest FlashAttention on top on the shortest texts and the Hopper kernel on all "
    "others. The portable kernels fall far behind as heads grow. A dotted level line marks the limit of the data "
    "sheet. A menu chooses the head dimension, whether attention is causal, and the pass."
)
FORMS = {
    "hopper_attention": plot.Style("for Hopper", "accent"),
    "sdpa_cudnn": plot.Style("cuDNN", "ink"),
    "flash_attention_4": plot.Style("FlashAttention-4"),
    "flash_attention": plot.Style("portable"),
}
CHOICES = {  # label -> head dimension, causal, pass
    f"d = {head_dim}{', causal' if causal else ''}{', backward' if work == 'backward' else ''}": (
        head_dim,
        causal,
        work,
    )
    for work in ("forward", "backward")
    for head_dim in (64, 128, 256)
    for causal in (False, True)
}
HOVER = (
    "%{name}, N = %{x}: %{y:.0f} TFLOP/s, %{customdata[0]:.4g} ms, %{customdata[1]:.3g} of cuDNN's speed "
    "(%{customdata[2]:.3g} to %{customdata[3]:.3g})"
)


def figure() -> go.Figure:
    fig, choices = go.Figure(), []
    for label, (head_dim, causal, work) in CHOICES.items():
        for form, style in FORMS.items():
            rows = records.table("beside_cudnn", work)
            rows = plot.rows_with(rows, head_dim=head_dim, causal=causal, form=form)
            fig.add_scatter(
                x=[row["n"] for row in rows],
                y=[row["speed"] for row in rows],
                customdata=[[row[column] for column in ("median", "ratio", "low", "high")] for row in rows],
                **style.scatter(HOVER),
            )
            choices.append(label)
    lengths = sorted({n for trace in fig.data for n in trace.x})
    fig.add_scatter(
        x=lengths,
        y=[plot.recorded_gpu("beside_cudnn")["bf16 peak"].value / 1e12] * len(lengths),
        **plot.Style("the limit", predicted=True).scatter("%{name}: %{y:.0f} TFLOP/s", "lines", named="start"),
    )
    return plot.finish(
        fig,
        360,
        plot.trace_menu(fig, "Heads", choices, "d = 128"),
        xaxis=plot.log_axis("words N", lengths),
        yaxis={"title": "TFLOP/s", "range": [0, 1050], "dtick": 200},
    )
