"""What one GPU does in a ring's call, by messages and by peer memory: from a profiler."""

import plotly.graph_objects as go

from scripts import records
from scripts.chapters import plot

ALT = (
    "Bars along a line of time, a row for attention with the own part, one for attention with the part of the other "
    "GPU, one for the small kernels around them and one for what travels. By peer memory the fetch lies under the "
    "first attention, and the second begins before the first ends. By messages what travels is a kernel itself: it "
    "begins as the first attention ends, and the second waits for it. The whole takes longer. A menu chooses who "
    "copies."
)
LINES = {"fetch": "travels", "send and receive": "travels"}  # anything else but attention is a small kernel
ROLES = {"own part": "grey", "other's part": "grey", "small kernels": "grey", "travels": "accent"}
ATTENTION = ("own part", "other's part")  # in the order in which they begin


def figure() -> go.Figure:
    rows = records.table("parallel_timeline", "timeline")
    fig, labels = go.Figure(), []
    for copier in dict.fromkeys(row["how"] for row in rows):
        drawn_rows = rows_with_line(plot.rows_with(rows, how=copier))
        for line, role in ROLES.items():
            line_rows = [row for drawn_on, row in drawn_rows if drawn_on == line]
            fig.add_bar(
                orientation="h",
                base=[row["begin"] for row in line_rows],
                x=[row["end"] - row["begin"] for row in line_rows],
                y=[line] * len(line_rows),
                customdata=[row["what"] for row in line_rows],
                marker={"line": {"width": 1}},
                **plot.Style(line, role).trace("%{customdata}: from %{base:.0f} µs, %{x:.0f} µs"),
            )
            labels.append(copier)
    return plot.finish(
        fig,
        210,
        plot.trace_menu(fig, "Copied by", labels, "peer memory"),
        barmode="overlay",
        bargap=0.3,
        xaxis={"title": "µs since the first began", "range": [0, 1.03 * max(row["end"] for row in rows)]},
        yaxis=plot.name_axis(categoryorder="array", categoryarray=list(ROLES)),
    )


def rows_with_line(rows: list[dict]) -> list[tuple[str, dict]]:
    """(the line on which it is drawn, row), in the order of the rows."""
    attention = iter(ATTENTION)
    return [
        (next(attention) if row["what"] == "attention" else LINES.get(row["what"], "small kernels"), row)
        for row in rows
    ]
