"""How often the maximum of a row moves while the row arrives, in rows of a real model and in random ones."""

import plotly.graph_objects as go

from scripts import records
from scripts.chapters import plot

ALT = (
    "Two bars of equally many rows, one of a real model and one random, cut by how often each row moved its maximum, "
    "the first block counted. It moved with the first block alone in {fact=the_first_block_settles}."
)
KINDS = {"real": ("rows of a real model", 1.0, "accent"), "random": ("random rows", 0.0, "grey")}
THICK, GAP, NAMED = 0.34, 0.8, 7  # a bar, the gap behind a part in rows, and the rows that have room for a name


def figure() -> go.Figure:
    rows = records.table("real_rows", "moves")
    fig = go.Figure()
    total = sum(row["real"] for row in rows)
    for kind, (name, y, role) in KINDS.items():
        start = 0
        for row in rows:
            moved, count = row["moved"], row[kind]
            look = plot.Look(name, role if moved == 1 else "track")
            hover = f"%{{name}}: {count} moved it {moved} times"
            fig.add_bar(x=[max(count - GAP, 0)], y=[y], base=[start], width=[THICK], **look.bars(hover))
            if count >= NAMED:
                plot.labels(fig, [start + count / 2], [y - 0.32], [str(moved)], "soft", textposition="middle center")
            start += count
        words = f"<b>{rows[0][kind]} of {total}</b> {name} never moved it again"
        plot.labels(fig, [0], [y + 0.34], [words], textposition="middle right")
    hidden = {"visible": False}
    gaps = {"bargap": 0, "barmode": "overlay", "margin": {"l": 0, "r": 0, "t": 0, "b": 4}}
    return plot.page(fig, 232, **gaps, xaxis=hidden | {"range": [0, total]}, yaxis=hidden | {"range": [-0.55, 1.6]})
