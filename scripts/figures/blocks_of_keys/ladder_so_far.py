"""How long each rung so far takes for the same work, all of them in one run, and what a fused kernel takes."""

import plotly.graph_objects as go

from scripts import records

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
    medians = {head_dim: times(head_dim) for head_dim in HEAD_DIMS}
    shown = HEAD_DIMS.index(128)
    fig = go.Figure()
    for index, (head_dim, at) in enumerate(medians.items()):
        x = [at[form] for form in RUNGS]
        fig.add_scatter(
            x=x,
            y=names,
            mode="markers+text",
            marker_size=12,
            marker_symbol=["circle"] * 4 + ["circle-open"],
            marker_line_width=[0] * 4 + [2],
            text=[f"{median:.3g} ms" for median in x],
            textposition="top center",
            cliponaxis=False,
            visible=index == shown,
            meta={"role": "accent"},
            hovertemplate=f"%{{y}}, d = {head_dim}: %{{x:.4g}} ms<extra></extra>",
            showlegend=False,
        )
    fig.update_xaxes(
        type="log", title="milliseconds", range=[-1.1, 2.3], tickvals=[0.1, 1, 10, 100], ticktext=[0.1, 1, 10, 100]
    )
    fig.update_yaxes(range=[len(names) - 0.6, -0.8])
    fig.update_xaxes(fixedrange=True).update_yaxes(fixedrange=True)
    everyone = list(range(len(HEAD_DIMS)))
    fig.update_layout(
        template=None,
        height=340,
        margin={"l": 105, "r": 20, "t": 15, "b": 50},
        updatemenus=[
            {
                "name": "Head dimension d",
                "active": shown,
                "buttons": [
                    {
                        "label": str(head_dim),
                        "method": "restyle",
                        "args": [{"visible": [i == index for i in everyone]}, everyone],
                    }
                    for index, head_dim in enumerate(HEAD_DIMS)
                ],
            }
        ],
    )
    return fig


def times(head_dim: int) -> dict[str, float]:
    """Milliseconds of each rung, every query seeing every key; the goal is the fastest backend of SDPA."""
    found = {
        row["form"]: row["median"]
        for row in records.table("prefill_speed", f"forward_{head_dim}")
        if row["n"] == N and not row["causal"]
    }
    return found | {"sdpa": min(median for form, median in found.items() if form.startswith("sdpa_"))}
