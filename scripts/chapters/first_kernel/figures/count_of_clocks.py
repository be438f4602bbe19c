"""For how many clocks of a pair its units work, by hand, and how many it takes: none fills it, and all are too many."""

import plotly.graph_objects as go

from scripts.chapters import plot
from scripts.chapters.first_kernel import worked
from scripts.chapters.first_kernel.figures.price_of_a_pair import clocks_of_a_pair

ALT = (
    "Four hollow bars, worked out: of multiplying and of loading, which are short, of passes and of sums. A line "
    "behind their ends is what a pair takes, as measured. From the end of the sums to the line there's a gap, with a "
    "question mark."
)


def figure() -> go.Figure:
    clocks = {
        "FP32 units: products": worked.FP32_CLOCKS,
        "L2: bytes, at most": worked.PAIR_BYTES / worked.L2_BYTES_PER_CLOCK,
        "ALU: <b>passes</b>, loops": worked.alu_clocks(worked.WARPS),
        "LSU: <b>sums</b>, loads": worked.load_store_clocks(worked.WARPS),
    }
    pair = clocks_of_a_pair()[worked.SHAPE[-1]]
    fig = go.Figure()
    fig.add_bar(x=[pair] * len(clocks), y=list(clocks), orientation="h", hoverinfo="skip", meta={"role": "faint"})
    texts = [f"<b>{each:.0f}</b>" for each in clocks.values()]
    hand = plot.Style("", "accent", predicted=True).bars("%{y}: %{x:.0f} clocks", "value")
    fig.add_bar(x=list(clocks.values()), y=list(clocks), text=texts, **hand)
    plot.add_text(fig, [pair], [" "], [f"measured: {pair:.0f} clocks\N{NO-BREAK SPACE}"], textposition="middle left")
    plot.add_text(fig, [pair], [list(clocks)[-1]], ["?\N{NO-BREAK SPACE}"], textposition="middle left")
    line = {"type": "line", "x0": pair, "x1": pair, "yref": "paper", "y0": 0, "y1": 1}
    axes = {
        "xaxis": {"range": [0, 1.002 * pair], "visible": False},
        "yaxis": plot.name_axis(categoryorder="array", categoryarray=[" ", *clocks]),
    }
    return plot.finish(fig, 190, barmode="overlay", bargap=0.3, shapes=[line], margin={"b": 4, "r": 2}, **axes)
