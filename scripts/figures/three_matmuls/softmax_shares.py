"""One row of scores as a pie: how a word divides its attention, and how sharply."""

import plotly.graph_objects as go

from scripts import records

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
    shown = names.index("sat")

    fig = go.Figure()
    for index, name in enumerate(names):
        fig.add_pie(
            labels=words,
            values=shares[name, 1],
            name=words[index],
            visible=index == shown,
            sort=False,
            direction="clockwise",
            texttemplate="%{label}<br>%{percent:.0%}",
            textposition="inside",
            insidetextorientation="horizontal",
            hovertemplate=f"{words[index]} gives %{{label}} %{{percent:.0%}}<extra></extra>",
        )
    everyone = list(range(len(names)))
    fig.update_layout(
        template=None,
        height=400,
        margin={"l": 10, "r": 10, "t": 10, "b": 60},
        legend={"orientation": "h", "x": 0.5, "xanchor": "center", "y": -0.05},
        uniformtext={"mode": "hide", "minsize": 12},
        updatemenus=[
            {
                "name": "Whose pie",
                "active": shown,
                "buttons": [
                    {
                        "label": word,
                        "method": "restyle",
                        "args": [{"visible": [i == index for i in everyone]}, everyone],
                    }
                    for index, word in enumerate(words)
                ],
            }
        ],
        sliders=[
            {
                "name": "Scores multiplied by",
                "active": factors.index(1),
                "steps": [
                    {
                        "label": f"{factor:g}",
                        "method": "restyle",
                        "args": [{"values": [shares[name, factor] for name in names]}, everyone],
                    }
                    for factor in factors
                ],
            }
        ],
    )
    return fig
