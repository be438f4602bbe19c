"""Error against the size of a block, with and without outliers, for three kinds of element and scale."""

import plotly.graph_objects as go

from scripts import records
from scripts.chapters import plot

ALT = (
    "Error in per cent, on a logarithmic axis, against how many numbers share a scale, up to the whole tensor; a "
    "menu chooses the numbers. For Gaussian numbers the two lines of four-bit elements lie close together, "
    "the one with finer scales rising with the block and the one with powers of two falling a little; the "
    "two lines of eight-bit elements lie well below. With outlier channels, measured against the spread of the "
    "channels, both four-bit lines climb to more than half, the one with powers of two highest, while eight bits stay "
    "near a tenth or below it. With the mean subtracted all lines are back where they were for Gaussian numbers."
)
LINES = [  # scheme of the blocks, scheme of one scale for the whole tensor, style
    ("NVFP4", "E2M1", plot.Style("E2M1, scales in E4M3", "accent")),
    ("MXFP4", None, plot.Style("E2M1, scales powers of 2", "ink")),
    ("MXFP8", None, plot.Style("E4M3, scales powers of 2")),
    ("FP8_BLOCKS", "FP8", plot.Style("E4M3, scales in FP32")),
]
NUMBERS = {  # label in the menu -> distribution and column of the record
    "Gaussian": ("gaussian", "error"),
    "outlier channels, error over spread": ("outliers", "of_spread"),
    "outlier channels, error over size": ("outliers", "error"),
    "outlier channels, mean subtracted": ("outliers, mean subtracted", "of_spread"),
    "uniform": ("uniform", "error"),
}
SHOWN = "outlier channels, error over spread"
SIZES = [8, 16, 32, 64, 128]
WHOLE_TENSOR_X = 512  # where on the axis the whole tensor is drawn


def figure() -> go.Figure:
    rows = {(r["distribution"], r["scheme"], r["block"]): r for r in records.table("format_error", "blocks")}
    errors = {
        label: [
            [rows[distribution, blocks, size][column] for size in SIZES]
            + [rows[distribution, whole, None][column] if whole else None]
            for blocks, whole, _ in LINES
        ]
        for label, (distribution, column) in NUMBERS.items()
    }
    xs, names = [*SIZES, WHOLE_TENSOR_X], [*SIZES, "all"]
    fig = go.Figure()
    for (_, whole, style), ys in zip(LINES, errors[SHOWN], strict=True):
        hover = "%{name}, %{text} numbers a scale: %{y:.3g} %"
        trace = style.scatter(hover, named="end" if whole else "start")
        fig.add_scatter(x=xs, y=ys, text=list(map(str, names)), **trace)
    trace_numbers = list(range(len(LINES)))
    return plot.finish(
        fig,
        420,
        plot.menu("Numbers", {label: [{"y": ys}, trace_numbers] for label, ys in errors.items()}, SHOWN),
        xaxis=plot.log_axis("numbers that share a scale", xs, names),
        yaxis=plot.log_axis("error, %", [0.5, 1, 2, 5, 10, 20, 50, 100], range=[-0.33, 2]),
    )
