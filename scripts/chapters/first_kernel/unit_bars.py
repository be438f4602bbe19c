"""Bars of what units of the chip need for the one-key kernel's work, at their speeds, beside what was measured."""

import plotly.graph_objects as go

from kernels.bench.cost import attention_flops, qkvo_bytes
from scripts import records
from scripts.chapters import plot, prefill_speed
from scripts.chapters.first_kernel import worked

ONE_KEY, THREE_LINES = "one key", "three lines"
MEASURED = {ONE_KEY: ("one_key_attention", "accent"), THREE_LINES: ("attention", "ink")}  # form and role
PRODUCTS = "FP32 products"  # of scores and outputs; the units that multiply have more to do
READ_MIB = 16  # of l2_speed, as in the table beside it


def unit_times() -> dict[str, float]:
    """Returns the milliseconds that each unit needs, at its speed."""
    gpu = plot.recorded_gpu("prefill_speed")
    (l2_row,) = plot.rows_with(records.table("l2_speed", "sizes"), size=READ_MIB)
    texts, heads, n, _ = worked.SHAPE
    flop_per_second = gpu["fp32 lanes"].value * worked.SMS * 1e9 * worked.GIGAHERTZ
    return {
        "HBM": 1e3 * qkvo_bytes(n, worked.HEAD_DIM, worked.BYTES, heads, texts) / gpu["hbm bandwidth"].value,
        "L2": worked.requested_gigabytes() / l2_row["speed"],
        PRODUCTS: 1e3 * attention_flops(n, worked.HEAD_DIM, heads, texts) / flop_per_second,
    }


def draw_bars(times: dict[str, float], *measured: str) -> go.Figure:
    """Draws a hollow bar for each unit, and below them filled ones of what was measured: of MEASURED."""
    rows = plot.rows_with(records.table("prefill_speed", f"forward_{worked.HEAD_DIM}"), n=prefill_speed.N, causal=False)
    median = {row["form"]: row["median"] for row in rows}
    fig = go.Figure()
    for name, milliseconds in times.items():
        add_bar(fig, name, milliseconds, "grey")
    for name in measured:
        form, role = MEASURED[name]
        add_bar(fig, name, median[form], role)
    axes = {"xaxis": {"visible": False}, "yaxis": plot.name_axis()}
    return plot.finish(fig, 40 * (len(times) + len(measured)), bargap=0.3, margin={"b": 4}, **axes)


def add_bar(fig: go.Figure, name: str, milliseconds: float, role: str) -> None:
    bar = plot.Style(name, role, predicted=role == "grey").bars("%{name}: %{x:.3g} ms", "value")
    label = f"{milliseconds:.{0 if milliseconds >= 10 else 1 if milliseconds >= 1 else 2}f} ms"
    fig.add_bar(x=[milliseconds], y=[name], text=[f"<b>{label}</b>"], **bar)
