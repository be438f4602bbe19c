"""How often the maximum of a row moves while the row arrives, in rows of a real model and in random ones."""

import plotly.graph_objects as go

from scripts import records
from scripts.chapters import plot

ALT = (
    "Two bars of equally many rows, one of a real model and one random, cut by how often each row moved its maximum, "
    "the first block counted. It moved with the first block alone in {fact=the_first_block_settles}."
)
KINDS = {"real": ("rows of a real model", "accent", 2), "random": ("random rows", "grey", 0)}  # name, role, line
NAMED = 7  # rows, from which on a part has room for its digit


def figure() -> go.Figure:
    rows = records.table("real_rows", "moves")
    fig = go.Figure()
    total = records.table("real_rows", "summary")[0]["rows"]
    for kind, (name, role, line) in KINDS.items():
        for row in rows:
            moved, count = row["moved"], row[kind]
            style = plot.Style(name, role if moved == 1 else "faint").bars(f"%{{name}}: {count} moved it {moved} times")
            inside = {"textposition": "inside", "insidetextanchor": "middle", "textangle": 0, "constraintext": "none"}
            text = [str(moved) if count >= NAMED else ""]
            fig.add_bar(x=[count], y=[line], width=[1], text=text, marker={"line": {"width": 2}}, **style | inside)
        words = f"<b>{rows[0][kind]} of {total}</b> {name} never moved it again"
        plot.add_text(fig, [0], [line + 1], [words], textposition="middle right")
    return plot.finish(
        fig,
        184,
        barmode="stack",
        bargap=0,
        margin={"l": 0, "r": 0, "t": 0, "b": 4},
        xaxis={"visible": False, "range": [0, total]},
        yaxis={"visible": False},
    )
