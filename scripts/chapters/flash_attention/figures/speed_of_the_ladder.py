"""The whole ladder: the speed of every rung and of every backend of SDPA, against N."""

import plotly.graph_objects as go

from scripts import records
from scripts.chapters import plot
from scripts.chapters.prefill_speed import HEAD_DIMS

ALT = (
    "Speed against the number of words, both axes logarithmic. Forward, from bottom to top: one key, which stops after "
    "few lengths, and key blocks, below all others; SDPA's math backend; three kernels; the three lines; then, far "
    "above, the memory-efficient backend, the flash backend, our FlashAttention, and cuDNN on top. The fused forms "
    "rise as the words become more, the three lines do not keep pace. A menu chooses the pass, full or causal; "
    "another chooses the head dimension."
)
FORMS = {
    "one_key_attention": plot.Style("one key"),
    "key_blocks_attention": plot.Style("key blocks"),
    "three_kernel_attention": plot.Style("three kernels"),
    "attention": plot.Style("three lines", "ink"),
    "flash_attention": plot.Style("FlashAttention", "accent"),
    "sdpa_math": plot.Style("SDPA math"),
    "sdpa_efficient": plot.Style("SDPA efficient"),
    "sdpa_flash": plot.Style("SDPA flash"),
    "sdpa_cudnn": plot.Style("SDPA cuDNN"),
}
PASSES = {  # label -> direction, causal
    "forward": ("forward", False),
    "forward, causal": ("forward", True),
    "backward": ("backward", False),
    "backward, causal": ("backward", True),
}
LENGTHS = [512 * 2**doubled for doubled in range(6)]


def figure() -> go.Figure:
    """A trace for each form and head dimension: one menu shows a head dimension, the other fills in a pass."""
    traces = [(form, head_dim) for head_dim in HEAD_DIMS for form in FORMS]
    passes = {
        label: {"y": [speeds(form, *which, head_dim) for form, head_dim in traces]} for label, which in PASSES.items()
    }
    fig = go.Figure()
    for (form, head_dim), y in zip(traces, passes["forward"]["y"], strict=True):
        hover = f"%{{name}}, d = {head_dim}, N = %{{x:,}}: %{{y:.4g}} TFLOP/s"
        fig.add_scatter(x=LENGTHS, y=y, **FORMS[form].scatter(hover, size=7))
    trace_numbers = list(range(len(traces)))
    return plot.finish(
        fig,
        420,
        plot.menu("Pass", {label: [filled, trace_numbers] for label, filled in passes.items()}),
        plot.trace_menu(fig, "Head dimension d", [str(head_dim) for _, head_dim in traces], "128"),
        xaxis=plot.log_axis("words N", LENGTHS),
        yaxis=plot.log_axis("TFLOP/s", [1, 3, 10, 30, 100, 300], range=[-0.4, 2.95]),
    )


def speeds(form: str, direction: str, causal: bool, head_dim: int) -> list[float | None]:
    rows = records.table("prefill_speed", f"{direction}_{head_dim}")
    speed_by_n = {row["n"]: row["speed"] for row in plot.rows_with(rows, form=form, causal=causal)}
    return [speed_by_n.get(n) for n in LENGTHS]
