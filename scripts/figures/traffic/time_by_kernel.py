"""How long each kernel of the three lines takes, beside what its bytes and its arithmetic alone would take."""

import plotly.graph_objects as go

from kernels.bench.cost import attention_flops
from kernels.bench.hardware import H100
from scripts import records

ALT = (
    "Four groups of bars, in microseconds. The two matmuls take about as long as each other; their bytes would take "
    "two thirds or more of that, their arithmetic less than half. The scale takes little longer than its bytes. The "
    "softmax takes longest by far, about three times as long as its bytes would. Scale and softmax have "
    "no arithmetic to speak of."
)


def figure() -> go.Figure:
    predicted = records.table("hbm_traffic", "predicted")
    steps = [row for row in predicted if row["form"] == "attention"]
    counted = [
        row
        for row in records.table("hbm_traffic", "counted")
        if row["form"] == "attention" and row["caches"] == "flushed"
    ]
    names = [row["step"] for row in steps]
    matmul = attention_flops(steps[0]["n"], 128) / 2
    bars = {
        "taken": ("query", [1e3 * row["time"] for row in counted]),
        "its bytes, as a copy": (
            "key",
            [1e12 * (row["read"] + row["written"]) / H100["hbm copy"].value for row in counted],
        ),
        "its arithmetic, as a large matmul": (
            "soft",
            [1e6 * matmul / H100["bf16 matmul"].value if name in ("QKᵀ", "PV") else 0 for name in names],
        ),
    }
    fig = go.Figure()
    for name, (role, times) in bars.items():
        fig.add_bar(
            x=names,
            y=times,
            name=name,
            meta={"role": role},
            hovertemplate=f"%{{x}}, {name}: %{{y:.0f}} µs<extra></extra>",
        )
    fig.update_layout(
        template=None,
        height=380,
        barmode="group",
        margin={"l": 60, "r": 10, "t": 60, "b": 40},
        legend={"orientation": "h", "x": 0, "xanchor": "left", "y": 1.02, "yanchor": "bottom"},
        xaxis={"fixedrange": True},
        yaxis={"title": "time, µs", "rangemode": "tozero", "fixedrange": True},
    )
    return fig
