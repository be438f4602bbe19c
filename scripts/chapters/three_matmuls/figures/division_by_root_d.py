"""Spread of the scores, largest share and surviving gradient against d, with and without the division by its root."""

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from scripts import records
from scripts.chapters import plot

ALT = (
    "Three charts, one above the other, against the head dimension d on a logarithmic axis: the spread of the scores, "
    "the largest share of a row, and the median gradient that comes back to the dot products. Divided by the square "
    "root of d, spread and share stay level and the gradient falls slowly. Without the division the spread grows as "
    "the square root of d, the largest share nears the whole row, and the gradient vanishes."
)
PANELS = {  # column of the table -> title and ticks of its axis, and what is written there
    "spread": ("spread of the scores", [1, 4, 16, 64], None),
    "largest": ("largest share, %", [10, 25, 50, 100], None),
    "gradient": ("gradient", [1e-30, 1e-20, 1e-10, 1], ["10⁻³⁰", "10⁻²⁰", "10⁻¹⁰", 1]),
}
STYLES = {  # end of the column's name -> style
    "_raw": plot.Style("not divided", "accent"),
    "": plot.Style("divided by √d", "ink"),
}


def figure() -> go.Figure:
    rows = records.table("scaling", "scaling")
    d = [row["d"] for row in rows]
    fig = make_subplots(rows=len(PANELS), cols=1, shared_xaxes=True, vertical_spacing=0.13)
    for panel, (quantity, axis) in enumerate(PANELS.items(), start=1):
        for suffix, style in STYLES.items():
            fig.add_scatter(
                x=d,
                y=[row[quantity + suffix] for row in rows],
                row=panel,
                col=1,
                **style.scatter("d = %{x}, %{name}: %{y:.3g}", size=7, named="end" if panel == 1 else None),
            )
        fig.update_yaxes(plot.log_axis(*axis), row=panel, col=1)
    fig.update_xaxes(plot.log_axis(None, d))
    fig.update_xaxes(title="d, the numbers of a query", row=len(PANELS), col=1)
    return plot.finish(fig, 420)
