"""How often the maximum of a row moves while the row arrives, in rows of a real model and in random ones."""

import plotly.graph_objects as go

from scripts import records
from scripts.chapters import plot

ALT = (
    "How many rows moved their maximum how often, the first block counted: bars upward for rows of a real "
    "model, downward for random ones. It moved with the first block alone in {fact=the_first_block_settles}."
)
NUMBERS_HEIGHT = 13  # rows, as high as the line of numbers is on each side of the middle
SIDES = {"real": ("of a real model", 1), "random": ("random", -1)}  # name, up or down


def figure() -> go.Figure:
    rows = records.table("real_rows", "moves")
    total = records.table("real_rows", "summary")[0]["rows"]
    moved = [row["moved"] for row in rows]
    fig = go.Figure()
    for kind, (name, sign) in SIDES.items():
        for role, role_rows in (("accent", rows[:1]), ("grey", rows[1:])):
            fig.add_bar(
                x=[row["moved"] for row in role_rows],
                y=[sign * row[kind] for row in role_rows],
                base=sign * NUMBERS_HEIGHT,
                customdata=[row[kind] for row in role_rows],
                width=0.8,
                **plot.Style(name, role).trace(f"%{{customdata}} of {total} rows, %{{name}}, moved it %{{x}} times"),
            )
    plot.add_text(fig, moved, [0] * len(moved), [str(times) for times in moved], "soft")
    plot.add_text(fig, moved[-1:], [40], ["times the maximum moved"], "soft", textposition="middle left")
    words = [f"<b>{rows[0]['real']} of {total}</b> rows of a real model", "settle in the first block"]
    plot.add_text(fig, [1.5, 1.5], [180, 160], words, textposition="middle right")
    words = [f"<b>{rows[0]['random']} of {total}</b>", "random"]
    plot.add_text(fig, [0.6, 0.6], [-82, -102], words, textposition="middle right")
    return plot.finish(
        fig,
        300,
        barmode="overlay",
        margin={"l": 0, "r": 0, "t": 4, "b": 4},
        xaxis={"visible": False, "range": [0.6, moved[-1] + 0.5]},
        yaxis={"visible": False, "range": [-114, 200]},
    )
