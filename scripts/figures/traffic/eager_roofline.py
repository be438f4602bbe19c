"""The roofline of an H100 and the four kernels of the three lines under it."""

import plotly.graph_objects as go

from kernels.bench.cost import attainable, attention_flops
from kernels.bench.hardware import H100
from scripts import records

ALT = (
    "A roofline with both axes logarithmic: TFLOP/s against FLOP per byte. A dashed roof is drawn from the maker's "
    "figures, a solid one a little below it from what a copy and a large matmul reached. The four kernels of the "
    "three lines are points, and so is the whole. All lie left of the ridge. The two matmuls lie under the slope near "
    "its end, the scale on the slope far to the left, the softmax well below the slope. A menu chooses whether "
    "bytes are those counted with caches flushed, counted with caches kept, or predicted."
)
FLOPS_A_SCORE = {"scale": 1, "softmax": 5}  # as the page says; a matmul has 2·d
ROOFS = [("the maker's figures", "soft", "dash", "bf16 peak", "hbm bandwidth")]
ROOFS += [("reached on an H100", "key", "solid", "bf16 matmul", "hbm copy")]
LABELS = {"QKᵀ": "bottom right", "scale": "bottom right", "softmax": "bottom right", "PV": "top left"}
LABELS["all four"] = "bottom right"
BYTES = {"flushed": "counted, caches flushed", "kept": "counted, caches kept", "predicted": "predicted"}


def figure() -> go.Figure:
    predicted = [row for row in records.table("hbm_traffic", "predicted") if row["form"] == "attention"]
    counted = [row for row in records.table("hbm_traffic", "counted") if row["form"] == "attention"]
    n = predicted[0]["n"]
    flops = [FLOPS_A_SCORE.get(row["step"], 0) * n * n or attention_flops(n, 128) / 2 for row in predicted]
    points = {}
    for choice in BYTES:
        moved = [row for row in counted if row["caches"] == choice] or predicted
        timed = [row for row in counted if row["caches"] == ("kept" if choice == "kept" else "flushed")]
        megabytes = [row["read"] + row["written"] for row in moved]
        spent = [row["time"] for row in timed]
        work = [*flops, sum(flops)]
        x = [f / 1e6 / m for f, m in zip(work, [*megabytes, sum(megabytes)], strict=True)]
        y = [f / 1e9 / ms for f, ms in zip(work, [*spent, sum(spent)], strict=True)]
        points[choice] = (x, y)

    fig = go.Figure()
    for name, role, dash, peak, bandwidth in ROOFS:
        pi, beta = H100[peak].value, H100[bandwidth].value
        at = [0.1, pi / beta, 3000]
        fig.add_scatter(
            x=at,
            y=[attainable(x, pi, beta) / 1e12 for x in at],
            name=name,
            mode="lines",
            line_dash=dash,
            meta={"role": role},
            hovertemplate=f"{name}: %{{y:.3g}} TFLOP/s at %{{x:.3g}} FLOP/B<extra></extra>",
        )
    names = [*(row["step"] for row in predicted), "all four"]
    x, y = points["flushed"]
    for i, name in enumerate(names):
        fig.add_scatter(
            x=[x[i]],
            y=[y[i]],
            text=[name],
            name=name,
            showlegend=False,
            mode="markers+text",
            textposition=LABELS[name],
            marker={"size": 11, "symbol": "diamond" if name == "all four" else "circle"},
            meta={"role": "accent" if name == "all four" else "query"},
            hovertemplate=f"{name}: %{{y:.3g}} TFLOP/s at %{{x:.3g}} FLOP/B<extra></extra>",
        )
    which = list(range(len(ROOFS), len(ROOFS) + len(names)))
    buttons = [
        {"label": label, "method": "restyle", "args": [{"x": [[a] for a in x], "y": [[b] for b in y]}, which]}
        for (x, y), label in ((points[choice], BYTES[choice]) for choice in BYTES)
    ]
    ticks = {"x": [0.1, 1, 10, 100, 1000], "y": [0.1, 1, 10, 100, 1000]}
    fig.update_layout(
        template=None,
        height=420,
        margin={"l": 60, "r": 10, "t": 40, "b": 50},
        updatemenus=[{"name": "Bytes", "buttons": buttons}],
        legend={"orientation": "h", "x": 0.5, "xanchor": "center", "y": 1.02, "yanchor": "bottom"},
        xaxis={"title": "FLOP per byte", "type": "log", "tickvals": ticks["x"], "ticktext": ticks["x"]},
        yaxis={"title": "TFLOP/s", "type": "log", "tickvals": ticks["y"], "ticktext": ticks["y"]},
    )
    fig.update_xaxes(fixedrange=True, range=[-1, 3.4])
    fig.update_yaxes(fixedrange=True, range=[-1, 3.3])
    return fig
