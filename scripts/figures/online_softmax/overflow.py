"""The scores for which each type holds the sum of a softmax, beside the spread of random dot products."""

import plotly.graph_objects as go

from scripts import records

ALT = (
    "Horizontal bars on an axis of scores: from where the exponential is stored as nought to where the sum of a row is "
    "infinite, for four types. The bar of the sixteen-bit type FP is by far the shortest; those of BF and of "
    "single precision nearly agree; that of double precision leaves the chart on both sides. A menu chooses how many "
    "keys share the score: the more there are, the sooner each bar ends. Two more bars show random dot products: as "
    "they are they leave the shortest bar on both sides, divided by the root of the head dimension they lie inside it."
)
D, SPREADS, EDGE = 64, 3, 125
DOTS = {"spread_raw": f"q·k, d = {D}", "spread": "q·k / √d"}


def figure() -> go.Figure:
    gone = {row["type"]: row["gone"] for row in records.table("overflow", "where")}
    sums = records.table("overflow", "sums")
    highest = {(row["type"], row["keys"]): row["highest"] for row in sums}
    (spread,) = [row for row in records.table("scaling", "scaling") if row["d"] == D]
    counts = sorted({row["keys"] for row in sums})
    ends = {keys: [highest[kind, keys] for kind in gone] for keys in counts}
    dots = {name: SPREADS * spread[column] for column, name in DOTS.items()}

    fig = go.Figure()
    fig.add_bar(
        orientation="h",
        y=list(gone),
        base=list(gone.values()),
        **lengths(gone, ends[1]),
        textposition="none",
        meta={"role": "query"},
        hovertemplate="%{y}: from %{base:.1f} to %{text}<extra></extra>",
    )
    fig.add_bar(
        orientation="h",
        y=list(dots),
        base=[-reach for reach in dots.values()],
        x=[2 * reach for reach in dots.values()],
        meta={"role": "accent"},
        hovertemplate=f"%{{y}}: {SPREADS} spreads to either side, from %{{base:.1f}}<extra></extra>",
    )
    fig.add_scatter(
        mode="text",
        y=list(gone),
        **labels(ends[1]),
        textposition="middle right",
        cliponaxis=False,
        hoverinfo="skip",
    )
    fig.update_xaxes(title="score", range=[-EDGE, EDGE], tickvals=[-100, -50, 0, 50, 100], fixedrange=True)
    fig.update_yaxes(autorange="reversed", fixedrange=True)
    fig.update_layout(
        template=None,
        height=340,
        bargap=0.35,
        barmode="overlay",
        showlegend=False,
        margin={"l": 90, "r": 45, "t": 10, "b": 50},
        updatemenus=[
            {
                "name": "Keys that share the score",
                "active": 0,
                "buttons": [
                    {
                        "label": f"{keys:,}",
                        "method": "restyle",
                        "args": [
                            {key: [lengths(gone, ends[keys])[key], labels(ends[keys])[key]] for key in ("x", "text")},
                            [0, 2],
                        ],
                    }
                    for keys in counts
                ],
            }
        ],
    )
    return fig


def lengths(gone: dict[str, float], ends: list[float]) -> dict:
    pairs = zip(gone.values(), ends, strict=True)
    return {"x": [end - start for start, end in pairs], "text": [f"{end:.2f}" for end in ends]}


def labels(ends: list[float]) -> dict:
    """Where a bar ends, in figures; beyond the edge, at the edge."""
    return {"x": [min(end, EDGE) for end in ends], "text": [f" {end:.1f}" for end in ends]}
