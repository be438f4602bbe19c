"""The same bytes read at stride 1 to 32: what arrived in a second, and what sectors alone predict."""

import plotly.graph_objects as go

from scripts import records

ALT = (
    "A chart with both axes logarithmic: useful gigabytes a second against the stride, from neighbours to numbers "
    "thirty-two apart. The measured speed halves each time the stride doubles, up to sixteen, and falls only a little "
    "after that. The prediction from single sectors follows it up to eight and then stays level; the prediction from "
    "sectors handed out in pairs follows it up to sixteen. PyTorch's own sum of the same numbers is level with the "
    "first point."
)


def figure() -> go.Figure:
    rows = {row["read"]: row["speed"] for row in records.table("coalescing", "reads")}
    speeds = {int(name.removeprefix("stride_")): speed for name, speed in rows.items() if name.startswith("stride_")}
    strides = sorted(speeds)
    fig = go.Figure()
    lines = [
        ("measured", [speeds[stride] for stride in strides], "accent", "solid"),
        ("if sectors come one by one", [speeds[1] / min(stride, 8) for stride in strides], "soft", "dot"),
        ("if they come in pairs", [speeds[1] / min(stride, 16) for stride in strides], "key", "dash"),
    ]
    for name, speed, role, dash in lines:
        fig.add_scatter(
            x=strides,
            y=speed,
            name=name,
            mode="lines+markers",
            line_dash=dash,
            meta={"role": role},
            hovertemplate=f"stride %{{x}}, {name}: %{{y:.0f}} GB/s<extra></extra>",
        )
    fig.add_scatter(
        x=strides[:1],
        y=[rows["torch_sum"]],
        name="PyTorch's sum",
        mode="markers",
        marker={"size": 12, "symbol": "diamond-open"},
        meta={"role": "value"},
        hovertemplate="PyTorch's sum: %{y:.0f} GB/s<extra></extra>",
    )
    fig.update_xaxes(title="stride, in FP32 numbers", type="log", tickvals=strides, ticktext=strides, fixedrange=True)
    ticks = [100, 200, 500, 1000, 2000, 3000]
    fig.update_yaxes(title="useful GB/s", type="log", tickvals=ticks, ticktext=ticks, fixedrange=True)
    fig.update_layout(
        template=None,
        height=400,
        margin={"l": 70, "r": 10, "t": 70, "b": 50},
        legend={"orientation": "h", "x": 0.5, "xanchor": "center", "y": 1.02, "yanchor": "bottom"},
    )
    return fig
