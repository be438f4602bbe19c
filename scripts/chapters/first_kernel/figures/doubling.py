"""How many times as long a text takes as one with half its words, from short texts to long ones: from N² to N³."""

import plotly.graph_objects as go

from scripts import records
from scripts.chapters import plot
from scripts.chapters.first_kernel import worked

ALT = (
    "Bars for texts whose words double from bar to bar: the time of each, divided by that of the text before. Two "
    "upright lines, four, for N squared, and eight, for N cubed. The first bar ends at the first line. The others go "
    "on, highlighted, and the last comes close to the second line."
)
HEAD = "words"  # above the names of the bars
SQUARE = 4
POWERS = {SQUARE: "N²: 4 times", 8: "N³: 8 times"}


def figure() -> go.Figure:
    grown = growth()
    names = [f"{long // 2:,} → {long:,}" for long in grown]
    fig = go.Figure()
    texts = [f"<b>{times:.1f}</b>" for times in grown.values()]
    for role, some in (("grey", slice(0, 1)), ("accent", slice(1, None))):  # what grows by four, and what by more
        bars = plot.Style("this kernel", role).bars("%{y}: %{x:.2f} times as long", "value")
        fig.add_bar(x=list(grown.values())[some], y=names[some], text=texts[some], **bars)
    expected = [SQUARE] * (len(grown) - 1)
    fig.add_bar(x=expected, y=names[1:], orientation="h", hoverinfo="skip", name="", meta={"role": "grey"})
    plot.add_text(fig, list(POWERS), [HEAD] * len(POWERS), list(POWERS.values()), textposition="middle center")
    lines = [
        {"type": "line", "x0": times, "x1": times, "yref": "paper", "y0": 0, "y1": 0.83, "line": {"dash": "dash"}}
        for times in POWERS
    ]
    axes = {
        "xaxis": {"range": [0, 8.8], "visible": False},
        "yaxis": plot.name_axis(categoryorder="array", categoryarray=[HEAD]),
    }
    return plot.finish(fig, 215, barmode="overlay", bargap=0.3, shapes=lines, margin={"b": 4}, **axes)


def growth() -> dict[int, float]:
    """Returns, by the words of a text, how many times as long it takes as one with half of them."""
    rows = records.table("first_kernel", "growth")
    return {row["n"]: row["of_half"] for row in rows if row["of_half"] and row["n"] <= worked.LONGEST}
