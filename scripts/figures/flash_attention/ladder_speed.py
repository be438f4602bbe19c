"""The ladder complete: the speed of every rung and of every backend of SDPA, against N."""

import plotly.graph_objects as go

from scripts import records
from scripts.figures import plot

ALT = (
    "Speed against the number of words, both axes logarithmic. Forward, from bottom to top: one key, which stops after "
    "few lengths, and key blocks, below all others; SDPA's math backend; three kernels; the three lines; then, far "
    "above, the memory-efficient backend, the flash backend, our FlashAttention, and cuDNN on top. The fused forms "
    "rise as the words become more, the three lines do not keep pace. A menu chooses the pass, full or causal; "
    "another chooses the head dimension."
)
FORMS = {
    "one_key_attention": plot.Look("one key", "soft", "dot", "circle-open"),
    "key_blocks_attention": plot.Look("key blocks", "soft", "dash", "square-open"),
    "three_kernel_attention": plot.Look("three kernels", "accent", "dash", "square"),
    "attention": plot.Look("three lines", "accent", "solid", "circle"),
    "flash_attention": plot.Look("FlashAttention", "query", "solid", "circle"),
    "sdpa_math": plot.Look("SDPA math", "key", "dot", "diamond-open"),
    "sdpa_efficient": plot.Look("SDPA efficient", "value", "dot", "triangle-up"),
    "sdpa_flash": plot.Look("SDPA flash", "value", "dash", "diamond"),
    "sdpa_cudnn": plot.Look("SDPA cuDNN", "key", "solid", "diamond"),
}
PASSES = {  # label -> direction, causal
    "forward": ("forward", False),
    "forward, causal": ("forward", True),
    "backward": ("backward", False),
    "backward, causal": ("backward", True),
}
HEAD_DIMS = (64, 128, 256)
LENGTHS = [512 * 2**doubled for doubled in range(6)]


FRAME = plot.Frame(height=420, left=54, right=100)
RANGE = [-0.4, 2.95]  # powers of ten


def figure() -> go.Figure:
    """A trace for each form and head dimension, and one for its name: one menu shows a head dimension, the other fills
    in a pass."""
    traces = [(form, head_dim) for head_dim in HEAD_DIMS for form in FORMS]
    passes = {label: drawn(traces, *which) for label, which in PASSES.items()}
    fig, first = go.Figure(), passes["forward"]
    for (form, head_dim), x, y in zip(traces, first["x"], first["y"], strict=False):
        hover = f"%{{name}}, d = {head_dim}, N = %{{x:,}}: %{{y:.4g}} TFLOP/s"
        fig.add_scatter(x=x, y=y, **FORMS[form].scatter(hover, size=8))
    names = {axis: values[len(traces) :] for axis, values in first.items()}
    plot.name_curves(fig, [FORMS[form] for form, _ in traces], names)
    every = list(range(2 * len(traces)))
    return plot.page(
        fig,
        FRAME,
        plot.menu("Pass", {label: [filled, every] for label, filled in passes.items()}),
        plot.switch(fig, "Head dimension d", 2 * [str(head_dim) for _, head_dim in traces], "128"),
        legend=None,
        xaxis=plot.log("words N", LENGTHS),
        yaxis=plot.log("TFLOP/s", [1, 3, 10, 30, 100, 300], range=RANGE),
    )


def drawn(traces: list[tuple[str, int]], direction: str, causal: bool) -> dict[str, list]:
    """x and y of every curve in a pass, and behind these of every name; names of a head dimension stand together."""
    curves = [(LENGTHS, speeds(form, direction, causal, head_dim)) for form, head_dim in traces]
    found = {"x": [x for x, _ in curves], "y": [y for _, y in curves]}
    for head_dim in HEAD_DIMS:
        own = [curve for curve, (_, dim) in zip(curves, traces, strict=True) if dim == head_dim]
        for axis, places in plot.beside(own, RANGE[1] - RANGE[0], FRAME.inner).items():
            found[axis] += places
    return found


def speeds(form: str, direction: str, causal: bool, head_dim: int) -> list[float | None]:
    rows = records.table("prefill_speed", f"{direction}_{head_dim}")
    found = {row["n"]: row["speed"] for row in plot.where(rows, form=form, causal=causal)}
    return [found.get(n) for n in LENGTHS]
