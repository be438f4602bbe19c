"""Every value of E2M1, E4M3 and E5M2 on an axis, with its bit fields on hover."""

import plotly.graph_objects as go

from scripts import records
from scripts.chapters import plot

ALT = (
    "Three rows of marks, one for each small format, at the numbers it has; hovering a mark shows its bits. A menu "
    "chooses the axis. Near zero, on an even axis, the four-bit format has fifteen marks that end at six, and the "
    "two eight-bit formats crowd towards zero and thin out away from it, with one more mantissa bit making twice as "
    "many marks. With each power of two as wide as the next, the marks of each format are evenly spaced from its "
    "smallest normal number to its largest, and the five-bit exponent reaches twice as far as the four-bit one."
)
FORMATS = {name: plot.Style(name, role) for name, role in [("E5M2", "soft"), ("E4M3", "soft"), ("E2M1", "accent")]}
POWERS = [-16, -8, 0, 8, 16]
AXES = {
    "evenly, up to 7": {
        "type": "linear",
        "range": [-7, 7],
        "tickvals": [-6, -4, -2, 0, 2, 4, 6],
        "ticktext": None,
    },
    "evenly, all of them": {
        "type": "linear",
        "range": [-6.2e4, 6.2e4],
        "tickvals": [-57344, 0, 57344],
        "ticktext": ["\N{MINUS SIGN}57,344", "0", "57,344"],
    },
    "by powers of two": {
        "type": "log",
        "range": [-5.1, 5.1],
        "tickvals": [2.0**power for power in POWERS],
        "ticktext": [f"2<sup>{power}</sup>".replace("-", "\N{MINUS SIGN}") for power in POWERS],
    },
}


def figure() -> go.Figure:
    fig = go.Figure()
    for height, (name, style) in enumerate(FORMATS.items()):
        marks = values(name)
        fig.add_scatter(
            x=[value for value, _ in marks],
            y=[height] * len(marks),
            customdata=[[f"{value:.10g}", bits] for value, bits in marks],
            mode="markers",
            marker={"symbol": "line-ns-open", "size": 26, "line": {"width": 1.5}},
            **style.trace("%{name}: %{customdata[0]}<br>%{customdata[1]}"),
        )
    choices = {label: [{f"xaxis.{key}": value for key, value in axis.items()}] for label, axis in AXES.items()}
    bare = {"showgrid": False, "zeroline": False}
    return plot.finish(
        fig,
        260,
        plot.menu("Numbers drawn", choices, method="relayout"),
        hovermode="closest",
        xaxis=next(iter(AXES.values())) | bare,
        yaxis={"range": [-0.6, 2.6], "tickvals": list(range(len(FORMATS))), "ticktext": list(FORMATS), **bare},
    )


def values(name: str) -> list[tuple[float, str]]:
    """Every finite number of a format, -0 left out, and its sign, exponent and mantissa, in order."""
    marks = []
    for row in records.table("number_formats", name):
        for mantissa, value in row.items():
            if mantissa != "exponent" and not isinstance(value, str):
                marks += [(sign * value, f"{int(sign < 0)} {row['exponent']} {mantissa}") for sign in (1, -1)]
    return sorted((value, bits) for value, bits in marks if value or bits[0] == "0")
