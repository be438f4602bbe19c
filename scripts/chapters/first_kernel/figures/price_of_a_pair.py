"""What a pair costs in short texts and in long ones: its sums stay as they are, and its passes grow."""

import plotly.graph_objects as go

from scripts import records
from scripts.chapters import plot
from scripts.chapters.first_kernel import worked

ALT = (
    "The clocks of a pair against the words in a text. Two dashed lines, worked out: the sums' is level, and the "
    "passes' rises straight and crosses it in a short text. The highlighted line, measured, is level at first, a "
    "little above the sums, then bends and rises beside the passes."
)
MEASURED = plot.Style("measured", "accent")


def figure() -> go.Figure:
    clocks = clocks_of_a_pair()
    words = list(clocks)
    ends = [words[0], words[-1]]
    sums = worked.load_store_clocks(worked.WARPS)
    passes = [worked.alu_clocks(worked.WARPS, n) for n in ends]
    fig = go.Figure()
    for name, ys in (("sums", [sums, sums]), ("passes", passes)):
        line = plot.Style(name, predicted=True).scatter("%{name}, by hand: %{y:.0f} clocks", "lines", named="end")
        fig.add_scatter(x=ends, y=ys, **line)
    texts = [f"<b>{each:.0f}</b>" if n >= worked.SHAPE[-1] else "" for n, each in clocks.items()]
    look = MEASURED.scatter("%{x:,} words: %{y:.0f} clocks", "lines+markers+text", 10, named=None)
    fig.add_scatter(x=words, y=list(clocks.values()), text=texts, textposition="top left", **look)
    axes = {
        "xaxis": {"tickvals": words[1:2] + words[3:], "title": "words in a text", "tickformat": ","},
        "yaxis": {"rangemode": "tozero", "title": "clocks of an SM, for a pair"},
    }
    return plot.finish(fig, 320, **axes)


def clocks_of_a_pair() -> dict[int, float]:
    """Returns by the words of a text the clocks that an SM takes for a pair, as measured."""
    rows = plot.rows_with(records.table("what_limits", "clocks"), warps=worked.WARPS)
    return {row["n"]: row["all"] for row in sorted(rows, key=lambda row: row["n"])}
