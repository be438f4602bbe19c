"""The same bytes read at stride 1 to 32: what arrived in a second, and what sectors alone predict."""

import plotly.graph_objects as go

from scripts import records
from scripts.chapters import plot

ALT = (
    "A chart with both axes logarithmic: useful gigabytes a second against the stride, from neighbours to numbers "
    "thirty-two apart. Each doubling of the stride halves the measured speed {fact=strides_that_halve}. The prediction "
    "goes down to a stride of eight and then stays level. At sixteen the gap between the two is marked: "
    "how far off the prediction was."
)
MEASURED = plot.Style("measured", "accent")
PREDICTED = plot.Style("predicted", predicted=True)
GAP_STRIDE, LEVEL_STRIDE = 16, 8  # where we say how far off the prediction is, and from where on it's level


def figure() -> go.Figure:
    rows = {row["read"]: row["speed"] for row in records.table("coalescing", "reads")}
    speeds = {int(name.removeprefix("stride_")): speed for name, speed in rows.items() if name.startswith("stride_")}
    strides = sorted(speeds)
    predicted = {stride: speeds[1] / min(stride, LEVEL_STRIDE) for stride in strides}
    fig = go.Figure()
    for style, speed in [(MEASURED, speeds), (PREDICTED, predicted)]:
        hover = "stride %{x}, %{name}: %{y:.0f} GB/s"
        fig.add_scatter(x=strides, y=[speed[stride] for stride in strides], **style.scatter(hover))
    ends = [predicted[GAP_STRIDE], speeds[GAP_STRIDE]]
    fig.add_scatter(x=[GAP_STRIDE, GAP_STRIDE], y=ends, mode="lines", hoverinfo="skip", meta={"role": "accent"})
    label = f"{plot.percent(ends[1] / ends[0])} of  <br>what we predicted".replace("  ", 2 * "\N{NO-BREAK SPACE}")
    plot.add_text(fig, [GAP_STRIDE], ends[1:], [label], "accent", textposition="bottom left")
    return plot.finish(
        fig,
        330,
        xaxis=plot.log_axis("stride, in numbers of 4 bytes", strides),
        yaxis=plot.log_axis("useful gigabytes a second", [100, 200, 500, 1000, 2000, 5000], range=[2, 3.75]),
    )
