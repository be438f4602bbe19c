"""One row of scores as a pie: how a word divides its attention, and how sharply."""

import plotly.graph_objects as go

from scripts import records
from scripts.figures import plot

ALT = (
    "A pie that shows how one word of the sentence divides its attention among all six words. A menu chooses the word "
    "whose row is drawn. A slider multiplies that row's scores: at nought all slices are equal, and the larger the "
    "factor, the more of the pie goes to the words with the highest score."
)


def figure() -> go.Figure:
    rows = records.table("sentence", "sharpness")
    names = list(dict.fromkeys(row["word"] for row in rows))
    factors = sorted({row["times"] for row in rows})
    words = [name.replace("_", " ") for name in names]
    shares = {(row["word"], row["times"]): [row[name] for name in names] for row in rows}

    fig = go.Figure()
    for name, word in zip(names, words, strict=True):
        fig.add_pie(
            labels=words,
            values=shares[name, 1],
            name=word,
            sort=False,
            direction="clockwise",
            texttemplate="%{label}<br>%{percent:.0%}",
            textposition="inside",
            insidetextorientation="horizontal",
            hovertemplate=f"{word} gives %{{label}} %{{percent:.0%}}<extra></extra>",
        )
    every = list(range(len(names)))
    times = {f"{factor:g}": [{"values": [shares[name, factor] for name in names]}, every] for factor in factors}
    return plot.page(
        fig,
        plot.Frame(left=10, bottom=60),
        plot.switch(fig, "Whose pie", words, "sat"),
        plot.slider("Scores multiplied by", times, "1"),
        legend={"orientation": "h", "x": 0.5, "xanchor": "center", "y": -0.05},
        uniformtext={"mode": "hide", "minsize": 12},
    )
