"""The same bytes read at stride 1 to 32: what arrived in a second, and what sectors alone predict."""

import plotly.graph_objects as go

from scripts import records
from scripts.chapters import plot

ALT = (
    "A chart with both axes logarithmic: useful gigabytes a second against the stride, from neighbours to numbers "
    "thirty-two apart. Each doubling of the stride halves the measured speed {fact=strides_that_halve}. The prediction "
    "from single sectors goes down to a stride of eight and then stays level; the prediction from sectors handed out "
    "in pairs goes down to sixteen. PyTorch's own sum of the same numbers stands beside the first point."
)
MEASURED = plot.Style("measured", "accent")
ONE_BY_ONE = plot.Style("sectors singly", predicted=True)
IN_PAIRS = plot.Style("sectors in pairs", "ink", predicted=True)
TORCH_SUM = plot.Style("PyTorch's sum", symbol="diamond")


def figure() -> go.Figure:
    rows = {row["read"]: row["speed"] for row in records.table("coalescing", "reads")}
    speeds = {int(name.removeprefix("stride_")): speed for name, speed in rows.items() if name.startswith("stride_")}
    strides = sorted(speeds)
    fig = go.Figure()
    for style, speed in [
        (MEASURED, [speeds[stride] for stride in strides]),
        (ONE_BY_ONE, [speeds[1] / min(stride, 8) for stride in strides]),
        (IN_PAIRS, [speeds[1] / min(stride, 16) for stride in strides]),
    ]:
        fig.add_scatter(x=strides, y=speed, **style.scatter("stride %{x}, %{name}: %{y:.0f} GB/s"))
    hover = "%{name}: %{y:.0f} GB/s"
    fig.add_scatter(x=strides[:1], y=[rows["torch_sum"]], **TORCH_SUM.scatter(hover, "markers", size=11))
    return plot.finish(
        fig,
        330,
        xaxis=plot.log_axis("stride, in FP32 numbers", strides),
        yaxis=plot.log_axis("useful GB/s", [100, 200, 500, 1000, 2000, 3000]),
    )
