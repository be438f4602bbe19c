"""Every word of a sentence against every other: the scores, and for a chosen word its shares."""

import plotly.graph_objects as go

from scripts import records

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
    cells = {"x": words, "y": words, "z": grid, "zmin": 0, "zmax": max(map(max, grid)), "xgap": 2, "ygap": 2}
    fig.add_heatmap(**cells, showscale=False, opacity=0.25, hoverinfo="skip")
    fig.add_heatmap(
        **cells,
        text=grid,
        texttemplate="%{text}",
        textfont={"size": 14},
        showscale=False,
        hovertemplate="%{y} asks, %{x} is looked at: %{z}<extra></extra>",
    )

    buttons = [{"label": "all of them", "method": "restyle", "args": [{"z": [grid], "text": [grid]}, [1]]}]
    for chosen, word in enumerate(words):
        z: list = [[None] * len(words) for _ in words]
        text = [[""] * len(words) for _ in words]
        z[chosen] = grid[chosen]
        text[chosen] = [f"{scores[chosen][name]}<br>{shares[chosen][name]:.0f} %" for name in names]
        buttons.append({"label": word, "method": "restyle", "args": [{"z": [z], "text": [text]}, [1]]})

    fig.update_layout(
        template=None,
        height=420,
        margin={"l": 70, "r": 10, "t": 60, "b": 10},
        updatemenus=[{"name": "Who asks", "buttons": buttons}],
        xaxis={"side": "top", "title": "is looked at", "fixedrange": True, "showgrid": False},
        yaxis={"autorange": "reversed", "title": "asks", "fixedrange": True, "showgrid": False},
    )
    return fig
