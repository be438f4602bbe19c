"""Error against the size of a block, with and without outliers, for three kinds of element and scale."""

import plotly.graph_objects as go

from scripts import records

ALT = (
    "Error in per cent, on a logarithmic axis, against how many numbers share a scale, up to the whole tensor; a "
    "menu chooses the numbers. For Gaussian numbers the two lines of four-bit elements lie close together near ten "
    "per cent, the one with finer scales rising with the block and the one with powers of two falling a little; the "
    "two lines of eight-bit elements lie well below. With outlier channels, measured against the spread of the "
    "channels, both four-bit lines climb to more than half, the one with powers of two highest, while eight bits stay "
    "near a tenth or below it. With the mean subtracted all lines are back where they were for Gaussian numbers."
)
LINES = {  # what is drawn: its scheme in blocks, its scheme of one scale for all, role, dash
    "E2M1, scales in E4M3": ("NVFP4", "E2M1", "accent", "solid"),
    "E2M1, scales powers of 2": ("MXFP4", None, "key", "dash"),
    "E4M3, scales powers of 2": ("MXFP8", None, "soft", "dashdot"),
    "E4M3, scales in FP32": ("FP8_BLOCKS", "FP8", "query", "dot"),
}
NUMBERS = {
    "Gaussian": ("gaussian", "error"),
    "outlier channels, error over spread": ("outliers", "of_spread"),
    "outlier channels, error over size": ("outliers", "error"),
    "outlier channels, mean subtracted": ("outliers, mean subtracted", "of_spread"),
    "uniform": ("uniform", "error"),
}
SIZES = [8, 16, 32, 64, 128]
ALL = 512  # where the whole tensor is drawn


def figure() -> go.Figure:
    rows = {(r["distribution"], r["scheme"], r["block"]): r for r in records.table("format_error", "blocks")}
    errors = {
        label: [
            [rows[distribution, blocks, size][column] for size in SIZES]
            + [rows[distribution, whole, None][column] if whole else None]
            for blocks, whole, _, _ in LINES.values()
        ]
        for label, (distribution, column) in NUMBERS.items()
    }
    first = errors["Gaussian"]
    fig = go.Figure()
    for (name, (_, _, role, dash)), drawn in zip(LINES.items(), first, strict=True):
        fig.add_scatter(
            x=[*SIZES, ALL],
            text=[*map(str, SIZES), "all"],
            y=drawn,
            name=name,
            mode="lines+markers",
            line_dash=dash,
            meta={"role": role},
            hovertemplate=f"{name}, %{{text}} numbers a scale: %{{y:.3g}} %<extra></extra>",
        )
    ticks = [0.5, 1, 2, 5, 10, 20, 50, 100]
    fig.update_layout(
        template=None,
        height=420,
        margin={"l": 60, "r": 10, "t": 80, "b": 50},
        legend={"orientation": "h", "x": 0.5, "xanchor": "center", "y": 1.02, "yanchor": "bottom"},
        xaxis={
            "title": "numbers that share a scale",
            "type": "log",
            "tickvals": [*SIZES, ALL],
            "ticktext": [*SIZES, "all"],
            "fixedrange": True,
        },
        yaxis={
            "title": "error, %",
            "type": "log",
            "range": [-0.33, 2],
            "tickvals": ticks,
            "ticktext": ticks,
            "fixedrange": True,
        },
        updatemenus=[
            {
                "name": "Numbers",
                "buttons": [
                    {"label": label, "method": "restyle", "args": [{"y": drawn}, list(range(len(LINES)))]}
                    for label, drawn in errors.items()
                ],
            }
        ],
    )
    return fig
