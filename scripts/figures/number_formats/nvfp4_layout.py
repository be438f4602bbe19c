"""A block of NVFP4 as it lies in memory: eight bytes of two codes each, and the byte of its scale."""

import plotly.graph_objects as go

from scripts import records
from scripts.figures import plot

ALT = (
    "A table of nine rows and two columns: eight bytes of codes, each with its high half on the left and its low half "
    "on the right, and under them the byte of the scale. The numbers of the block run through the low half of a byte "
    "first and then through its high half, so that in each row the earlier number stands on the right. A menu "
    "chooses what is written in the cells: hexadecimal digits, bits, the number as it was, as it comes back, or what "
    "it is off by. Hovering a cell tells all of it."
)
HALVES = ["high half", "low half"]


def figure() -> go.Figure:
    codes = records.table("nvfp4_block", "codes")
    (scale,) = records.table("nvfp4_block", "scale")
    pairs = [(codes[place + 1], codes[place]) for place in range(0, len(codes), 2)]  # the high half first
    bits = scale["bits"].replace(" ", "")
    worth = f"{scale['worth']:g}"
    cells = {
        "hexadecimal": [[row["code"] for row in pair] for pair in pairs] + [list(scale["stored"])],
        "bits": [[row["bits"] for row in pair] for pair in pairs] + [[bits[:4], bits[4:]]],
        "the number as it was": [[number(float(row["number"])) for row in pair] for pair in pairs] + [["", ""]],
        "the number as it comes back": [[number(row["back"]) for row in pair] for pair in pairs] + [[worth, ""]],
        "what it is off by": [[number(row["off"]) for row in pair] for pair in pairs] + [["", ""]],
    }
    hover = [[told(row, scale["unit"]) for row in pair] for pair in pairs]
    hover += [[f"scale {scale['bits']}: {worth}<br>sign, exponent, mantissa"] * 2]
    fig = go.Figure()
    plot.grid(
        fig,
        z=[[0.32, 0.12]] * len(pairs) + [[0.5, 0.5]],
        text=cells["hexadecimal"],
        hover="%{y}, %{x}<br>%{customdata}",
        x=HALVES,
        y=[f"byte {byte}" for byte in range(len(pairs))] + ["scale"],
        customdata=hover,
    )
    return plot.page(
        fig,
        plot.Frame(left=70, top=30, bottom=10),
        plot.menu("In the cells", {label: [{"text": [text]}, [0]] for label, text in cells.items()}),
        legend=None,
        xaxis=plot.COLUMNS,
        yaxis=plot.ROWS,
    )


def number(value: float) -> str:
    return f"{value:.5g}".replace("-", "\N{MINUS SIGN}")


def told(row: dict, unit: float) -> str:
    """A number on its way in and out again."""
    worth = number(row["back"] / unit)
    return (
        f"place {row['place']}: {number(float(row['number']))}<br>"
        f"over {unit:g} is {number(row['quotient'])}<br>"
        f"taken: {worth}, bits {row['bits']}<br>"
        f"comes back as {number(row['back'])}"
    )
