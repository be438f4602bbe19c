"""For how many clocks a pair keeps HBM, L2 and the FP32 units busy, beside the clocks that it takes."""

import plotly.graph_objects as go

from kernels.bench.cost import qkvo_bytes
from scripts import records
from scripts.chapters import plot, prefill_speed
from scripts.chapters.first_kernel import worked

ALT = (
    "Four bars on one scale that begins at zero, in clocks for a pair: what memory, its cache and the units that "
    "multiply would take, each alone, then what a pair takes. The cache's bar is a short piece, the pair's is the long "
    "one, and the others are slivers."
)
READ_MIB = 16  # of l2_speed, as in the table beside it


def figure() -> go.Figure:
    rows = plot.rows_with(records.table("prefill_speed", f"forward_{worked.HEAD_DIM}"), n=prefill_speed.N, causal=False)
    (one_key,) = plot.rows_with(rows, form="one_key_attention")
    fig = go.Figure()
    for name, clocks in unit_clocks().items():
        add_bar(fig, plot.Style(name, "grey", predicted=True), clocks)
    add_bar(fig, plot.Style("a pair", "accent"), worked.clocks_of_milliseconds(one_key["median"]))
    axes = {"xaxis": {"visible": False}, "yaxis": plot.name_axis()}
    return plot.finish(fig, 160, bargap=0.3, margin={"b": 4}, **axes)


def unit_clocks() -> dict[str, float]:
    """Returns for how many clocks a pair keeps each unit busy, at the unit's speed."""
    texts, heads, n, _ = worked.SHAPE
    (l2_row,) = plot.rows_with(records.table("l2_speed", "sizes"), size=READ_MIB)
    hbm_seconds = (
        qkvo_bytes(n, worked.HEAD_DIM, worked.BYTES, heads, texts)
        / plot.recorded_gpu("prefill_speed")["hbm bandwidth"].value
    )
    return {
        "HBM": worked.clocks_of_milliseconds(1e3 * hbm_seconds),
        "FP32 products": worked.FP32_CLOCKS,
        "L2": worked.clocks_of_milliseconds(worked.requested_gigabytes() / l2_row["speed"]),
    }


def add_bar(fig: go.Figure, style: plot.Style, clocks: float) -> None:
    bar = style.bars("%{name}: %{x:.3g} clocks", "value")
    fig.add_bar(x=[clocks], y=[style.name], text=[f"<b>{clocks:.{0 if clocks >= 1 else 1}f}</b>"], **bar)
