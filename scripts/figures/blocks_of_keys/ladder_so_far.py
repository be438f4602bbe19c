"""How long each rung so far takes for the same work, all of them in one run, and what a fused kernel takes."""

import plotly.graph_objects as go

from scripts import records
from scripts.figures import plot

ALT = (
    "A ladder of times on a logarithmic axis, one rung a line, slowest on top: one key at a time, blocks of keys, "
    "three Triton kernels, the three lines of PyTorch and, as a goal, the fastest fused kernel that PyTorch has. "
    "Blocks of keys are faster than one key at a time. Both forms that write the square of scores are faster than "
    "either by an order of magnitude, and the fused kernel is faster again. A menu chooses the head dimension; the "
    "larger it is, the smaller the lead of the blocks over the single key."
)
RUNGS = {  # form -> its name on the axis
    "one_key_attention": "one key",
    "key_blocks_attention": "key blocks",
    "three_kernel_attention": "three kernels",
    "attention": "three lines",
    "sdpa": "PyTorch, fused",
}
HEAD_DIMS = (64, 128, 256)
N = 512  # where the record has every rung


def figure() -> go.Figure:
    names = list(RUNGS.values())
    fig = go.Figure()
    for head_dim in HEAD_DIMS:
        median = medians(head_dim)
        times = [median[form] for form in RUNGS]
        fig.add_scatter(
            x=times,
            y=names,
            mode="markers+text",
            marker={"size": 12, "symbol": ["circle"] * 4 + ["circle-open"], "line": {"width": [0] * 4 + [2]}},
            text=[f"{time:.3g} ms" for time in times],
            textposition="top center",
            cliponaxis=False,
            meta={"role": "accent"},
            hovertemplate=f"%{{y}}, d = {head_dim}: %{{x:.4g}} ms<extra></extra>",
            showlegend=False,
        )
    return plot.page(
        fig,
        plot.Frame(height=340, left=105, right=20, top=15),
        plot.switch(fig, "Head dimension d", [str(head_dim) for head_dim in HEAD_DIMS], "128"),
        legend=None,
        xaxis=plot.log("milliseconds", [0.1, 1, 10, 100], range=[-1.1, 2.3]),
        yaxis={"range": [len(names) - 0.6, -0.8]},
    )


def medians(head_dim: int) -> dict[str, float]:
    """Milliseconds of each rung, every query seeing every key; the goal is the fastest backend of SDPA."""
    rows = plot.where(records.table("prefill_speed", f"forward_{head_dim}"), n=N, causal=False)
    found = {row["form"]: row["median"] for row in rows}
    return found | {"sdpa": min(median for form, median in found.items() if form.startswith("sdpa_"))}
