"""Spread of the scores, largest share and surviving gradient against d, with and without the division by its root."""

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from scripts import records

ALT = (
    "Three charts, one above the other, against the head dimension d on a logarithmic axis: the spread of the scores, "
    "the largest share of a row, and the median gradient that comes back to the dot products. Divided by the square "
    "root of d, spread and share stay level and the gradient falls slowly. Without the division the spread grows as "
    "the square root of d, the largest share nears the whole row, and the gradient vanishes."
)
PANELS = {  # column of the table -> title and ticks of its axis
    "spread": ("spread", [1, 4, 16, 64]),
    "largest": ("largest, %", [10, 25, 50, 100]),
    "gradient": ("gradient", [1e-30, 1e-20, 1e-10, 1]),
}
NAMES = {1e-30: "10⁻³⁰", 1e-20: "10⁻²⁰", 1e-10: "10⁻¹⁰"}


def figure() -> go.Figure:
    rows = records.table("scaling", "scaling")
    d = [row["d"] for row in rows]
    fig = make_subplots(rows=len(PANELS), cols=1, shared_xaxes=True, vertical_spacing=0.06)
    for panel, (quantity, (title, ticks)) in enumerate(PANELS.items(), start=1):
        for suffix, name, role, dash in [
            ("_raw", "not divided", "accent", "solid"),
            ("", "divided by √d", "soft", "dot"),
        ]:
            fig.add_scatter(
                x=d,
                y=[row[quantity + suffix] for row in rows],
                name=name,
                legendgroup=name,
                showlegend=panel == 1,
                mode="lines+markers",
                line_dash=dash,
                meta={"role": role},
                hovertemplate=f"d = %{{x}}, {name}: %{{y:.3g}}<extra></extra>",
                row=panel,
                col=1,
            )
        fig.update_yaxes(
            title=title,
            type="log",
            tickvals=ticks,
            ticktext=[NAMES.get(tick, tick) for tick in ticks],
            row=panel,
            col=1,
        )
    fig.update_yaxes(fixedrange=True)
    fig.update_xaxes(type="log", tickvals=d, ticktext=d, fixedrange=True)
    fig.update_xaxes(title="d, the numbers of a query", row=len(PANELS), col=1)
    fig.update_layout(
        template=None,
        height=420,
        margin={"l": 70, "r": 10, "t": 30, "b": 50},
        legend={"orientation": "h", "x": 0.5, "xanchor": "center", "y": 1.02, "yanchor": "bottom"},
    )
    return fig
