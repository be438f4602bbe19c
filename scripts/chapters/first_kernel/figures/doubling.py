"""How many times as long a text takes as one with half its words, from short texts to long ones: from N² to N³."""

import plotly.graph_objects as go

from scripts import records
from scripts.chapters import plot

ALT = (
    "A line that rises. Along the bottom, texts whose words double from point to point; upwards, the time of each, "
    "divided by that of the text before. Two level lines, four, for N squared, and eight, for N cubed. The first point "
    "is on the lower line. The others go up, highlighted, to the upper line and a little beyond it."
)
POWERS = {4: "N²: 4 times as long", 8: "N³: 8 times as long"}
NAME_ABOVE = 0.1  # its line
RISING = plot.Style("this kernel", "accent")


def figure() -> go.Figure:
    grown = growth()
    names = [str(long) for long in grown]
    fig = go.Figure()
    texts = [f"<b>{times:.1f}</b>" for times in grown.values()]
    # Above a point that's just above a line, so that no number is on it.
    sides = [
        "top center" if any(0.3 < times - line < 1 for line in POWERS) else "bottom right" for times in grown.values()
    ]
    look = RISING.scatter("%{x} words: %{y:.2f} times as long as half of them", "lines+markers+text", 11, named=None)
    fig.add_scatter(x=names, y=list(grown.values()), text=texts, textposition=sides, **look)
    for (times, power), at, side in zip(POWERS.items(), (names[-1], names[0]), ("left", "right"), strict=True):
        plot.add_text(fig, [at], [times + NAME_ABOVE], [power], "soft", textposition=f"top {side}")
    lines = [
        {
            "type": "line",
            "xref": "paper",
            "x0": 0,
            "x1": 1,
            "y0": times,
            "y1": times,
            "line": {"width": 1},
        }
        for times in POWERS
    ]
    axes = {
        "xaxis": {"type": "category", "title": "words in a text"},
        "yaxis": {"range": [0, 9.6], "visible": False},
    }
    return plot.finish(fig, 260, shapes=lines, **axes)


def growth() -> dict[int, float]:
    """Returns, by the words of a text, how many times as long it takes as one with half of them."""
    rows = records.table("first_kernel", "growth")
    return {row["n"]: row["of_half"] for row in rows if row["of_half"]}
