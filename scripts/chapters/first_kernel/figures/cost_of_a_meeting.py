"""What one meeting of a query with a key costs, in shorter and longer texts of as many words."""

import plotly.graph_objects as go

from scripts import records
from scripts.chapters import plot

ALT = (
    "A chart with both axes logarithmic: the time of one meeting against the words of a text. The measured line is "
    "level at first, then it rises. A dashed line stays level, as if a meeting cost the same in all texts. At the "
    "right end the measured one is {fact=a_meeting_in_a_long_row} as high."
)
LEVEL_WORDS = 512  # words, up to which the row hides behind loads and sums
TICKS = [LEVEL_WORDS, 2048, 8192]  # few enough for a phone
MEASURED = plot.Style("measured", "accent")
FLAT = plot.Style("if it cost the same", predicted=True)


def figure() -> go.Figure:
    rows = {row["n"]: row["one_meeting"] for row in records.table("first_kernel", "growth")}
    words = sorted(rows)
    fig = go.Figure()
    for style, cost in [(MEASURED, [rows[n] for n in words]), (FLAT, [rows[LEVEL_WORDS]] * len(words))]:
        fig.add_scatter(x=words, y=cost, **style.scatter("%{x} words, %{name}: %{y:.0f} ps"))
    return plot.finish(
        fig,
        300,
        xaxis=plot.log_axis("words in a text", TICKS),
        yaxis=plot.log_axis("picoseconds for a meeting", [300, 500, 1000, 2000, 5000]),
    )
