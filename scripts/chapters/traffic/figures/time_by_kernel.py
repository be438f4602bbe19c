"""How long each kernel of the three lines takes, beside what its bytes and its arithmetic alone would take."""

import plotly.graph_objects as go

from kernels.bench.cost import attention_flops
from scripts import records
from scripts.chapters import plot

ALT = (
    "Four groups of bars, in microseconds. The two matmuls take least; their bytes would take more than half of that, "
    "and longer than their arithmetic. The scale takes a tenth longer than its bytes. The softmax takes longest, "
    "several times as long as its bytes would. Scale and softmax have no arithmetic to speak of."
)
HEAD_DIM = 128  # as in the snippet
TAKEN = plot.Style("taken", "accent")
BYTES = plot.Style("for its bytes, as a copy", "ink", predicted=True)
ARITHMETIC = plot.Style("for its arithmetic, as a large matmul", "soft", predicted=True)


def figure() -> go.Figure:
    steps = plot.rows_with(records.table("hbm_traffic", "predicted"), form="attention")
    counted = plot.rows_with(records.table("hbm_traffic", "counted"), form="attention", caches="flushed")
    names = [row["step"] for row in steps]
    speed = {what: constant.value for what, constant in plot.recorded_gpu("hbm_traffic").items()}
    matmul_flops = attention_flops(steps[0]["n"], HEAD_DIM) / 2
    fig = go.Figure()
    for style, times in [
        (TAKEN, [1e3 * row["time"] for row in counted]),
        (BYTES, [1e12 * (row["read"] + row["written"]) / speed["hbm copy"] for row in counted]),
        (ARITHMETIC, [1e6 * matmul_flops / speed["bf16 matmul"] if name in ("QKᵀ", "PV") else 0 for name in names]),
    ]:
        first, *others = (f"<b>{time:.0f}</b>" if time else "" for time in times)
        text = [f"{first} µs {style.name}", *others]
        fig.add_bar(x=times, y=names, text=text, **style.bars("%{y}, %{name}: %{x:.0f} µs", "value"))
    axes = {"xaxis": {"visible": False, "rangemode": "tozero"}, "yaxis": plot.name_axis()}
    return plot.finish(fig, 330, barmode="group", bargap=0.25, **axes)
