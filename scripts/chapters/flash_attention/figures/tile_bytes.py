"""Bytes that FlashAttention asks for against the queries in a block, and bytes that HBM moves."""

import plotly.graph_objects as go

from kernels.bench.cost import eager_traffic, mb, qkvo_bytes, requested_bytes
from scripts import records
from scripts.chapters import plot

ALT = (
    "Megabytes against the number of queries in a block, both axes logarithmic. What is asked for falls in step with "
    "the block, from far above the three lines of code, whose count is a level dotted line, to far below it. Our "
    "kernel's block is a circle on the falling line, a little below the dotted one. The least that any form must move "
    "is a level dashed line far below. A diamond straight under the circle, just under the dashed line, is what the "
    "counters of the memory saw."
)
N, HEAD_DIM, ELEMENT_BYTES = 8192, 128, 2  # as in the snippet
BLOCKS = [2**doubled for doubled in range(11)]
REQUESTED = plot.Style("asked for", "ink", predicted=True)
THREE_LINES = plot.Style("three lines, through HBM", predicted=True)
LEAST = plot.Style("Q, K, V and output, once", predicted=True)
OURS = plot.Style("our kernel", "ink")
COUNTED = plot.Style("HBM, counted", "accent")


def figure() -> go.Figure:
    (measured_row,) = plot.rows_with(records.table("hbm_traffic", "whole"), form="flash_attention")
    requested_mb = [mb(requested_bytes(N, HEAD_DIM, ELEMENT_BYTES, block)) for block in BLOCKS]
    # The kernel's own block is the one whose requests the snippet computed.
    our_block, _ = min(
        zip(BLOCKS, requested_mb, strict=True), key=lambda block: abs(block[1] - measured_row["requested"])
    )
    three_lines_mb = sum(mb(read + written) for _, read, written in eager_traffic(N, HEAD_DIM, ELEMENT_BYTES))
    least_mb = mb(qkvo_bytes(N, HEAD_DIM, ELEMENT_BYTES))

    fig, amount = go.Figure(), "%{name}: %{y:,.4g} MB"
    fig.add_scatter(x=BLOCKS, y=requested_mb, **REQUESTED.scatter("blocks of %{x}: %{y:,.4g} MB asked for", "lines"))
    for style, level in [(THREE_LINES, three_lines_mb), (LEAST, least_mb)]:
        fig.add_scatter(x=[BLOCKS[0], BLOCKS[-1]], y=[level, level], **style.scatter(amount, "lines", named="start"))
    for style, size in [(OURS, measured_row["requested"]), (COUNTED, measured_row["flushed"])]:
        fig.add_scatter(x=[our_block], y=[size], **style.scatter(amount, "markers", size=12))
    ticks = [1, 10, 100, 1000, 10000]
    return plot.finish(
        fig,
        420,
        xaxis=plot.log_axis("queries in a block", BLOCKS[::2]),
        yaxis=plot.log_axis("MB", ticks, [f"{tick:,}" for tick in ticks], range=[0, 4.7]),
    )
