"""How many times as long a text takes as one with half its words, from short texts to long ones: from N² to N³."""

import plotly.graph_objects as go

from scripts import records
from scripts.chapters import plot

ALT = (
    "A chart over the words of a text, which double from point to point: its time, divided by that of the text before. "
    "Two level lines, four, for N squared, and eight, for N cubed. The measured points begin on the lower one and rise "
    "past the upper."
)
POWERS = {4: "N²", 8: "N³"}


def figure() -> go.Figure:
    grown = growth()
    words = list(grown)
    fig = go.Figure()
    for times, name in POWERS.items():
        line = plot.Style(name, "ink", predicted=True).scatter(f"{name}: {times} times", "lines")
        fig.add_scatter(x=words, y=[times] * len(words), **line)
    line = plot.Style("this kernel", "accent").scatter(
        "to %{x} words: %{y:.1f} times", "lines+markers+text", named=None
    )
    sides = ["bottom center" if 0 < 8 - times < 1 else "top center" for times in grown.values()]  # off the line at 8
    labels = {"texttemplate": "<b>%{y:.1f}</b>", "textposition": sides}
    fig.add_scatter(x=words, y=list(grown.values()), **labels, **line)
    names = [f"{long // 2:,}<br>→ {long:,}" for long in words]
    axes = plot.log_axis(None, words, names), {"title": "times as long, for twice the words", "range": [0, 9.6]}
    return plot.finish(fig, 320, xaxis=axes[0], yaxis=axes[1])


def growth() -> dict[int, float]:
    """Returns, by the words of a text, how many times as long it takes as one with half of them."""
    return {row["n"]: row["of_half"] for row in records.table("first_kernel", "growth") if row["of_half"]}
