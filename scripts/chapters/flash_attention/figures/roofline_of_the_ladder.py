"""The roofline of the GPU of the runs and every rung of the ladder under it."""

import plotly.graph_objects as go

from kernels.bench.cost import attention_flops, eager_traffic, fused_traffic, three_kernels_traffic
from scripts import records
from scripts.chapters import plot
from scripts.chapters.prefill_speed import TOKENS, WIDTH

ALT = (
    "A roofline with both axes logarithmic: TFLOP/s against FLOP per byte. A dashed roof is drawn from the maker's "
    "figures. The three lines and the three kernels lie under the slope. With bytes counted, one key and key blocks "
    "lie right of the ridge, far below the flat roof; FlashAttention lies much further right, and above them all. A "
    "menu chooses between one head with its bytes counted and many heads with their bytes predicted; there "
    "FlashAttention is close to the flat roof, and SDPA's fused backends join, of which cuDNN comes nearest."
)
HEAD_DIM, N = 128, 8192
HEADS = WIDTH // HEAD_DIM
FORMS = {  # form -> style, and where its name stands
    "attention": (plot.Style("three lines", "ink"), "middle right"),
    "three_kernel_attention": (plot.Style("three kernels"), "bottom right"),
    "one_key_attention": (plot.Style("one key"), "bottom center"),
    "key_blocks_attention": (plot.Style("key blocks"), "bottom center"),
    "flash_attention": (plot.Style("ours", "accent"), "middle left"),
    "sdpa_efficient": (plot.Style("efficient"), "bottom center"),
    "sdpa_flash": (plot.Style("flash"), "middle right"),
    "sdpa_cudnn": (plot.Style("cuDNN"), "middle right"),
}


def figure() -> go.Figure:
    return plot.roofline(
        {"one head, bytes counted": counted_points(), "many heads, bytes predicted": predicted_points()},
        FORMS,
        xaxis=plot.log_axis("FLOP per byte", [10, 100, 1000, 10000], range=[0.9, 4.4]),
        yaxis=plot.log_axis("TFLOP/s", [1, 10, 100, 1000], range=[-0.6, 3.2]),
        ends=(10, 20000),
        gpu=plot.recorded_gpu("hbm_traffic"),
    )


def counted_points() -> plot.Points:
    """One head, every kernel of a form together, caches flushed before each."""
    rows = plot.rows_with(records.table("hbm_traffic", "counted"), caches="flushed")
    points = {}
    for form in dict.fromkeys(row["form"] for row in rows):
        kernels = plot.rows_with(rows, form=form)
        flops = attention_flops(kernels[0]["n"], HEAD_DIM)
        moved_bytes = 1e6 * sum(row["read"] + row["written"] for row in kernels)
        points[form] = flops / moved_bytes, flops / 1e9 / sum(row["time"] for row in kernels)
    return points


def predicted_points() -> plot.Points:
    """Many heads, at the speed that the ladder measured and the bytes that each form must move."""
    rows = plot.rows_with(records.table("prefill_speed", f"forward_{HEAD_DIM}"), causal=False)
    speeds = {(row["form"], row["n"]): row["speed"] for row in rows}
    points = {}
    for form in FORMS:
        n = N if (form, N) in speeds else min(n for name, n in speeds if name == form)
        size = {"n": n, "head_dim": HEAD_DIM, "element_bytes": 2, "heads": HEADS, "batch": TOKENS // n}
        if form == "attention":
            steps = eager_traffic(**size)
        elif form == "three_kernel_attention":
            steps = three_kernels_traffic(**size, square_element_bytes=4)
        else:
            steps = fused_traffic(**size)
        moved_bytes = sum(step.read + step.written for step in steps)
        points[form] = attention_flops(n, HEAD_DIM, HEADS, TOKENS // n) / moved_bytes, speeds[form, n]
    return points
