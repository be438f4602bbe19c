"""By how much one text's time grows when it gets twice as long, from short texts to long ones, between N² and N³."""

from itertools import pairwise

import plotly.graph_objects as go

from scripts import records
from scripts.chapters import plot

ALT = (
    "A chart over the words of a text: by how much the time grows when the text gets twice as long. Two level lines, "
    "four, for N squared, and eight, for N cubed. The measured points begin at the lower one and rise to the upper."
)
POWERS = {4: "N²: attention", 8: "N³: and a row for each pair"}


def figure() -> go.Figure:
    grown = growth()
    fig = go.Figure()
    for times, name in POWERS.items():
        style = plot.Style(name, "soft", predicted=True)
        fig.add_scatter(
            x=list(grown), y=[times] * len(grown), **style.scatter(f"{times} times", "lines", named="start")
        )
    style = plot.Style("this kernel", "accent")
    labels = [f"<b>{times:.1f}</b>" for times in grown.values()]
    line = style.scatter("%{x} words take %{y:.1f} times as long as half of them", "lines+markers+text")
    fig.add_scatter(x=list(grown), y=list(grown.values()), text=labels, textposition="bottom center", **line)
    words = plot.log_axis("words, twice as many each time", grown)
    return plot.finish(fig, 320, xaxis=words, yaxis={"title": "times as long", "range": [0, 10], "dtick": 2})


def growth() -> dict[int, float]:
    """Returns, by the words of a text, how many times as long it takes as one with half of them."""
    pair = {row["n"]: row["one_pair"] for row in records.table("first_kernel", "growth")}
    return {long: 4 * pair[long] / pair[short] for short, long in pairwise(sorted(pair))}
