"""The roofline of the GPU of the run and the four kernels of the three lines under it."""

import plotly.graph_objects as go

from kernels.bench.cost import attention_flops
from scripts import records
from scripts.chapters import plot

ALT = (
    "A roofline with both axes logarithmic: TFLOP/s against FLOP per byte. A dashed roof is drawn from the maker's "
    "figures, a solid one a little below it from what a copy and a large matmul reached there. The four kernels of the "
    "three lines are points, and so is the whole. All lie left of the ridge. The two matmuls lie under the slope near "
    "its end, the scale on the slope far to the left, the softmax well below the slope. A menu chooses whether bytes "
    "are those counted with caches flushed, counted with caches kept, or predicted."
)
FLOP_PER_SCORE = {"scale": 1, "softmax": 5}  # as the page says; a matmul has 2·d
HEAD_DIM = 128  # as in the snippet
STYLES = {name: (plot.Style(name, "ink"), "bottom right") for name in ("QKᵀ", "scale")}
STYLES["softmax"] = (plot.Style("softmax", "accent"), "bottom right")
STYLES["PV"] = (plot.Style("PV", "ink"), "top left")
STYLES["all four"] = (plot.Style("all four", symbol="diamond"), "bottom right")
BYTE_COUNTS = {"counted, caches flushed": "flushed", "counted, caches kept": "kept", "predicted": "predicted"}
TICKS = [0.1, 1, 10, 100, 1000]


def figure() -> go.Figure:
    return plot.roofline(
        {label: points(choice) for label, choice in BYTE_COUNTS.items()},
        STYLES,
        xaxis=plot.log_axis("FLOP per byte", TICKS, range=[-1, 3.4]),
        yaxis=plot.log_axis("TFLOP/s", TICKS, range=[-1, 3.3]),
        ends=(0.1, 3000),
        gpu=plot.recorded_gpu("hbm_traffic"),
        reached=True,
    )


def points(choice: str) -> plot.Points:
    """Each of the four kernels and all of them; with predicted bytes, too, the time is the one with caches flushed."""
    predicted = plot.rows_with(records.table("hbm_traffic", "predicted"), form="attention")
    counted = plot.rows_with(records.table("hbm_traffic", "counted"), form="attention")
    byte_rows = predicted if choice == "predicted" else plot.rows_with(counted, caches=choice)
    time_rows = plot.rows_with(counted, caches="kept" if choice == "kept" else "flushed")

    n = predicted[0]["n"]
    matmul_flops = attention_flops(n, HEAD_DIM) / 2
    steps = [row["step"] for row in predicted]
    flops = [FLOP_PER_SCORE[step] * n * n if step in FLOP_PER_SCORE else matmul_flops for step in steps]
    megabytes = [row["read"] + row["written"] for row in byte_rows]
    times = [row["time"] for row in time_rows]
    kernels = zip([*flops, sum(flops)], [*megabytes, sum(megabytes)], [*times, sum(times)], strict=True)
    values = [(f / 1e6 / mb, f / 1e9 / ms) for f, mb, ms in kernels]
    return dict(zip([*steps, "all four"], values, strict=True))
