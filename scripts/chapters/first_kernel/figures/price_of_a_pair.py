"""What a pair costs in short texts and in long ones: its sums stay as they are, and its passes grow."""

import plotly.graph_objects as go

from scripts import records
from scripts.chapters import plot
from scripts.chapters.first_kernel import worked

ALT = (
    "The clocks of a pair against the words in a text, both axes logarithmic. Two dashed lines, worked out: the sums' "
    "is level, and the passes' rises and crosses it. The highlighted line, measured, is level at first, a little above "
    "the sums, then bends and rises with the passes."
)
MEASURED = plot.Style("measured", "accent")
TICKS = [64, 128, 256, 512, 1024]
CROSSING = (800, 60)  # words and clocks: right below the place where passes take as long as sums
BELOW = {"sums": 88, "passes": 195}  # clocks: where their names are


def figure() -> go.Figure:
    clocks = clocks_of_a_pair()
    words = list(clocks)
    sums = [worked.load_store_clocks(worked.WARPS)] * len(words)
    passes = [worked.alu_clocks(worked.WARPS, n) for n in words]
    fig = go.Figure()
    for name, ys in (("sums and loads", sums), ("passes and loops", passes)):
        line = plot.Style(name, predicted=True).scatter("%{x:,} words, %{name}: %{y:.0f} clocks", "lines", named=None)
        fig.add_scatter(x=words, y=ys, **line)
    look = MEASURED.scatter("%{x:,} words: %{y:.0f} clocks", "lines+markers+text", 10, named=None)
    texts = [f"<b>{each:.0f}</b>" for each in clocks.values()]
    fig.add_scatter(x=words, y=list(clocks.values()), text=texts, textposition="top left", **look)
    plot.add_text(fig, [words[-1]], [BELOW["sums"]], ["sums and loads"], "soft", textposition="bottom left")
    plot.add_text(fig, [words[-3]], [BELOW["passes"]], ["passes and loops"], "soft", textposition="bottom right")
    plot.add_text(fig, [CROSSING[0]], [CROSSING[1]], ["\u2196 passes take over"], textposition="middle right")
    axes = {
        "xaxis": plot.log_axis("words in a text", words, words),
        "yaxis": plot.log_axis("clocks of an SM, for a pair", TICKS, TICKS),
    }
    return plot.finish(fig, 340, **axes)


def clocks_of_a_pair() -> dict[int, float]:
    """Returns by the words of a text the clocks that an SM takes for a pair, as measured."""
    rows = plot.rows_with(records.table("what_limits", "clocks"), warps=worked.WARPS)
    return {row["n"]: row["all"] for row in sorted(rows, key=lambda row: row["n"])}
