"""Every word of a sentence against every other: the scores, and for a chosen word its shares."""

import plotly.graph_objects as go

from scripts import records
from scripts.figures import plot

ALT = (
    "A grid of six rows and six columns, one of each for every word of the sentence the cat sat on the mat. The row is "
    "the word that asks, the column the word that is looked at, and each cell holds their score. Choosing a word "
    "leaves its row alone in full colour and writes each cell's share of that row below the score. The two rows of "
    "the word the are alike."
)


def figure() -> go.Figure:
    scores = records.table("sentence", "scores")
    shares = records.table("sentence", "shares")
    names = [row["word"] for row in scores]
    words = [name.replace("_", " ") for name in names]
    grid = [[row[name] for name in names] for row in scores]

    fig = go.Figure()
    shade = {"x": words, "y": words, "zmax": max(map(max, grid))}
    fig.add_heatmap(z=grid, zmin=0, xgap=2, ygap=2, showscale=False, opacity=0.25, hoverinfo="skip", **shade)
    plot.grid(fig, grid, grid, "%{y} asks, %{x} is looked at: %{z}", **shade)

    asks = {"all of them": [{"z": [grid], "text": [grid]}, [1]]}
    for chosen, word in enumerate(words):
        z: list = [[None] * len(words) for _ in words]
        text = [[""] * len(words) for _ in words]
        z[chosen] = grid[chosen]
        text[chosen] = [f"{scores[chosen][name]}<br>{shares[chosen][name]:.0f} %" for name in names]
        asks[word] = [{"z": [z], "text": [text]}, [1]]
    return plot.page(
        fig,
        plot.Frame(height=420, left=70, top=60, bottom=10),
        plot.menu("Who asks", asks),
        legend=None,
        xaxis=plot.COLUMNS | {"title": "is looked at"},
        yaxis=plot.ROWS | {"title": "asks"},
    )
