"""What the suspects could have taken of the first kernel's time: HBM, L2 and the FP32 units, at their speeds."""

import plotly.graph_objects as go

from kernels.bench.cost import attention_flops, qkvo_bytes
from scripts import records
from scripts.chapters import plot
from scripts.chapters.first_kernel import worked

ALT = (
    "Four bars on one scale that begins at zero: what memory, its cache and the units that multiply would take, each "
    "alone, and what our kernel takes. The cache's bar is a short piece, the other two are slivers, and the kernel's "
    "is the long one."
)
TEXTS, HEADS, N, HEAD_DIM, WIDTH = 32, 16, 512, 128, 2  # as in prefill_speed; the last in bytes
MIB = 16  # of l2_speed, as in the table beside it


def figure() -> go.Figure:
    gpu = plot.recorded_gpu("prefill_speed")
    (read,) = plot.rows_with(records.table("l2_speed", "sizes"), size=MIB)
    rows = plot.rows_with(records.table("prefill_speed", f"forward_{HEAD_DIM}"), n=N, causal=False)
    (ours,) = plot.rows_with(rows, form="one_key_attention")
    asked = TEXTS * HEADS * N * 2 * N * HEAD_DIM * WIDTH  # each program, all keys and values of its head
    clocks = gpu["fp32 lanes"].value * worked.SMS * 1e9 * worked.GIGAHERTZ
    times = {  # in ms
        "HBM": 1e3 * qkvo_bytes(N, HEAD_DIM, WIDTH, HEADS, TEXTS) / gpu["hbm bandwidth"].value,
        "L2": asked / read["speed"] / 1e9,
        "FP32 units": 1e3 * attention_flops(N, HEAD_DIM, HEADS, TEXTS) / clocks,
    }
    fig = go.Figure()
    for name, spent in times.items():
        add(fig, name, spent, "grey", f"{spent:.{1 if spent >= 1 else 2}f} ms")
    add(fig, "our kernel", ours["median"], "accent", f"{ours['median']:.0f} ms")
    axes = {"xaxis": {"visible": False}, "yaxis": plot.name_axis()}
    return plot.finish(fig, 170, bargap=0.3, margin={"b": 4}, **axes)


def add(fig: go.Figure, name: str, spent: float, role: str, label: str) -> None:
    look = plot.Style(name, role, predicted=role == "grey").bars("%{name}: %{x:.3g} ms", "value")
    fig.add_bar(x=[spent], y=[name], text=[f"<b>{label}</b>"], **look)
