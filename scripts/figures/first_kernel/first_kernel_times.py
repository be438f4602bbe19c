"""The first kernel beside PyTorch at one N: the same FLOPs in many small heads or few large ones."""

import plotly.graph_objects as go

from scripts import records

ALT = (
    "A chart with a logarithmic time axis and three settings of the same arithmetic: heads of sixty-four, twice that "
    "and four times that, with as many times fewer heads. The first kernel's time is far above all others and is "
    "halved each time the heads are halved. The three lines in PyTorch also become faster, and the fastest of "
    "PyTorch's fused kernels is the lowest, with the first kernel hundreds of times above it."
)
N = 512


def figure() -> go.Figure:
    sizes = [64, 128, 256]
    times: dict[str, list[float]] = {"one key at a time": [], "the three lines": [], "PyTorch's fastest": []}
    for size in sizes:
        rows = [row for row in records.table("prefill_speed", f"forward_{size}") if row["n"] == N and not row["causal"]]
        spent = {row["form"]: row["median"] for row in rows}
        times["one key at a time"].append(spent["one_key_attention"])
        times["the three lines"].append(spent["attention"])
        times["PyTorch's fastest"].append(min(time for form, time in spent.items() if form.startswith("sdpa")))
    fig = go.Figure()
    dashes = ["solid", "dot", "dash"]
    for (name, spent), role, dash in zip(times.items(), ["accent", "soft", "key"], dashes, strict=True):
        fig.add_scatter(
            x=[f"{2048 // size} heads<br>of {size}" for size in sizes],
            y=spent,
            name=name,
            mode="lines+markers",
            line_dash=dash,
            meta={"role": role},
            hovertemplate=f"{name}: %{{y:.3g}} ms<extra></extra>",
        )
    ticks = [0.1, 1, 10, 100]
    fig.update_xaxes(type="category", fixedrange=True)
    fig.update_yaxes(title="milliseconds", type="log", tickvals=ticks, ticktext=ticks, fixedrange=True)
    fig.update_layout(
        template=None,
        height=400,
        margin={"l": 70, "r": 10, "t": 50, "b": 60},
        legend={"orientation": "h", "x": 0.5, "xanchor": "center", "y": 1.02, "yanchor": "bottom"},
    )
    return fig
