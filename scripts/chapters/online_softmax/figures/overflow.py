"""The scores for which each type holds the sum of a softmax, beside the spread of random dot products."""

import plotly.graph_objects as go

from scripts import records
from scripts.chapters import plot

ALT = (
    "Horizontal bars on an axis of scores: from where the exponential is stored as zero to where the sum of a row is "
    "infinite, for four types. {fact=where_types_end}. The bar of double precision leaves the chart on both sides, "
    "with arrowheads. A menu chooses how many keys share the score and end each bar. Two other bars show random dot "
    "products, as they are and divided by the root of the head dimension."
)
D, SPREADS = 64, 3  # the dot products reach three spreads to either side
EDGE_X, ARROWHEAD = 125, 6  # where a bar that goes on is cut, and how long its arrowhead is, in scores
FIRST = "FP16"  # the type that ends first
DOTS = {f"q·k, d = {D}": "spread_raw", "q·k / √d": "spread"}  # name on the axis -> column


def figure() -> go.Figure:
    gone = {row["type"]: row["gone"] for row in records.table("overflow", "where")}
    sums = records.table("overflow", "sums")
    highest = {(row["type"], row["keys"]): row["highest"] for row in sums}
    (spread,) = plot.rows_with(records.table("scaling", "scaling"), d=D)
    reach = [SPREADS * spread[column] for column in DOTS.values()]

    groups = [[FIRST], [kind for kind in gone if kind != FIRST]]  # the highlighted type, and all others

    def change(keys: int) -> dict[str, list[list]]:
        """Where the bars end, and the labels there; of those beyond the edge the label stands behind an arrowhead."""
        ends = {kind: highest[kind, keys] for kind in gone}
        lengths = {kind: min(end, EDGE_X) - max(gone[kind], -EDGE_X) for kind, end in ends.items()}
        places = [end if end < EDGE_X else EDGE_X + ARROWHEAD for end in ends.values()]
        whole = {kind: f"from {gone[kind]:.1f} to {end:.2f}" for kind, end in ends.items()}
        drawn, labels = ([[of[kind] for kind in group] for group in groups] for of in (lengths, whole))
        return {"x": [*drawn, places], "text": [*labels, [f" {end:.1f}" for end in ends.values()]]}

    choices = {f"{keys:,}": [change(keys), [0, 1, 3]] for keys in sorted({row["keys"] for row in sums})}
    first = choices["1"][0]
    fig = go.Figure()
    for group, role, x, text in zip(groups, ("accent", "grey"), first["x"][:2], first["text"][:2], strict=True):
        base = [max(gone[kind], -EDGE_X) for kind in group]
        fig.add_bar(y=group, base=base, x=x, text=text, **plot.Style("", role).bars("%{y}: %{text}"))
    hover = f"%{{y}}: {SPREADS} spreads to either side, from %{{base:.1f}}"
    spans = {"base": [-half for half in reach], "x": [2 * half for half in reach]}
    fig.add_bar(y=list(DOTS), **spans, **plot.Style("", "soft").bars(hover))
    plot.add_text(fig, first["x"][2], list(gone), first["text"][2], textposition="middle right")
    beyond = [kind for kind in gone if gone[kind] < -EDGE_X]
    for symbol, side in (("triangle-left", -EDGE_X - ARROWHEAD / 3), ("triangle-right", EDGE_X + ARROWHEAD / 3)):
        style = {"marker": {"symbol": symbol, "size": 16}, "meta": {"role": "grey"}}
        fig.add_scatter(x=[side] * len(beyond), y=beyond, mode="markers", hoverinfo="skip", **style)
    return plot.finish(
        fig,
        300,
        plot.menu("Keys that share the score", choices, "1"),
        bargap=0.35,
        barmode="overlay",
        margin={"r": 64},
        xaxis={
            "title": "score",
            "range": [-EDGE_X - ARROWHEAD, EDGE_X + ARROWHEAD],
            "tickvals": [-100, -50, 0, 50, 100],
        },
        yaxis=plot.name_axis(categoryorder="array", categoryarray=[*gone, *DOTS]),
    )
