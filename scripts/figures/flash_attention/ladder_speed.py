"""The ladder complete: the speed of every rung and of every backend of SDPA, against N."""

import plotly.graph_objects as go

from scripts import records

ALT = (
    "Speed against the number of words, both axes logarithmic. Forward, from bottom to top: one key, which stops after "
    "few lengths, and key blocks, below all others; SDPA's math backend; three kernels; the three lines; then, far "
    "above, the memory-efficient backend, the flash backend, our FlashAttention, and cuDNN on top. The fused forms "
    "rise as the words become more, the three lines do not keep pace. A menu chooses the pass, full or causal; "
    "another chooses the head dimension."
)
FORMS = {  # form -> name, role, dash, marker
    "one_key_attention": ("one key", "soft", "dot", "circle-open"),
    "key_blocks_attention": ("key blocks", "soft", "dash", "square-open"),
    "three_kernel_attention": ("three kernels", "accent", "dash", "square"),
    "attention": ("three lines", "accent", "solid", "circle"),
    "flash_attention": ("FlashAttention", "query", "solid", "circle"),
    "sdpa_math": ("SDPA math", "key", "dot", "diamond-open"),
    "sdpa_efficient": ("SDPA efficient", "value", "dot", "triangle-up"),
    "sdpa_flash": ("SDPA flash", "value", "dash", "diamond"),
    "sdpa_cudnn": ("SDPA cuDNN", "key", "solid", "diamond"),
}
PASSES = {
    "forward": ("forward", False),
    "forward, causal": ("forward", True),
    "backward": ("backward", False),
    "backward, causal": ("backward", True),
}
HEAD_DIMS = (64, 128, 256)
LENGTHS = [512 * 2**doubled for doubled in range(6)]


def figure() -> go.Figure:
    tables = {
        (direction, head_dim): records.table("prefill_speed", f"{direction}_{head_dim}")
        for direction in ("forward", "backward")
        for head_dim in HEAD_DIMS
    }

    def speeds(form: str, direction: str, causal: bool, head_dim: int) -> list:
        found = {
            row["n"]: row["speed"]
            for row in tables[direction, head_dim]
            if row["form"] == form and row["causal"] == causal
        }
        return [found.get(n) for n in LENGTHS]

    # A trace for each form and head dimension: one menu shows a head dimension, the other fills in a pass.
    fig = go.Figure()
    traces = [(form, head_dim) for head_dim in HEAD_DIMS for form in FORMS]
    for form, head_dim in traces:
        name, role, dash, symbol = FORMS[form]
        fig.add_scatter(
            x=LENGTHS,
            y=speeds(form, *PASSES["forward"], head_dim),
            name=name,
            mode="lines+markers",
            line_dash=dash,
            marker={"symbol": symbol, "size": 8},
            meta={"role": role},
            visible=head_dim == 128,
            hovertemplate=f"{name}, d = {head_dim}, N = %{{x:,}}: %{{y:.4g}} TFLOP/s<extra></extra>",
        )
    every = list(range(len(traces)))
    passes = [
        {
            "label": label,
            "method": "restyle",
            "args": [{"y": [speeds(form, *which, head_dim) for form, head_dim in traces]}, every],
        }
        for label, which in PASSES.items()
    ]
    dims = [
        {"label": str(shown), "method": "restyle", "args": [{"visible": [d == shown for _, d in traces]}, every]}
        for shown in HEAD_DIMS
    ]
    ticks = [1, 3, 10, 30, 100, 300]
    fig.update_layout(
        template=None,
        height=420,
        margin={"l": 54, "r": 10, "t": 10, "b": 50},
        updatemenus=[
            {"name": "Pass", "buttons": passes},
            {"name": "Head dimension d", "active": HEAD_DIMS.index(128), "buttons": dims},
        ],
        legend={"orientation": "h", "x": 0.5, "xanchor": "center", "y": 1.02, "yanchor": "bottom"},
        xaxis={"title": "words N", "type": "log", "tickvals": LENGTHS, "ticktext": LENGTHS},
        yaxis={"title": "TFLOP/s", "type": "log", "tickvals": ticks, "ticktext": ticks},
    )
    fig.update_xaxes(fixedrange=True)
    fig.update_yaxes(fixedrange=True, range=[-0.4, 2.95])
    return fig
