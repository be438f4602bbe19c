"""For how many clocks of a pair the LSU and the ALU work, by hand: in turn they'd take longer than the pair does."""

import plotly.graph_objects as go

from scripts import records
from scripts.chapters import plot
from scripts.chapters.first_kernel import worked

ALT = (
    "Three rows of hollow bars, worked out, and a line across all of them: what a pair takes, as measured. In the "
    "first row sums and passes follow each other, and end beyond the line. Below, each begins at the left, and both "
    "end before the line."
)
IN_TURN = "in turn"


def figure() -> go.Figure:
    work = {  # what a unit does, and for how many clocks
        "LSU": ("sums, loads", worked.load_store_clocks(worked.WARPS)),
        "ALU": ("passes, loops", worked.alu_clocks(worked.WARPS)),
    }
    rows = records.table("what_limits", "clocks")
    (measured,) = plot.rows_with(rows, n=worked.SHAPE[-1], warps=worked.WARPS)
    pair, both = measured["all"], 0
    fig = go.Figure()
    for unit, (name, clocks) in work.items():
        look = plot.Style("", "accent", predicted=True).bars(f"{name}: {clocks:.0f} clocks")
        fig.add_bar(x=[clocks] * 2, base=[both, 0], y=[IN_TURN, unit], **look)
        for begin, y, text in ((both, IN_TURN, ""), (0, unit, f"{name} ")):
            words = f"\N{NO-BREAK SPACE}{text}<b>{clocks:.0f}</b>"
            plot.add_text(fig, [begin], [y], [words], "accent", textposition="middle right")
        both += clocks
    plot.add_text(fig, [pair], [" "], [f"measured: {pair:.0f} clocks\N{NO-BREAK SPACE}"], textposition="middle left")
    line = {"type": "line", "x0": pair, "x1": pair, "yref": "paper", "y0": 0, "y1": 1}
    axes = {
        "xaxis": {"range": [0, 1.01 * both], "visible": False},
        "yaxis": plot.name_axis(categoryorder="array", categoryarray=[" ", IN_TURN, *work]),
    }
    return plot.finish(fig, 170, barmode="overlay", bargap=0.3, shapes=[line], margin={"b": 4, "r": 2}, **axes)
