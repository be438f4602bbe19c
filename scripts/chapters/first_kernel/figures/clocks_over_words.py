"""How many clocks of an SM a pair takes in short texts and in long ones, and for how many each unit works."""

from itertools import pairwise
from math import log2

import plotly.graph_objects as go

from scripts import records
from scripts.chapters import plot
from scripts.chapters.first_kernel import worked

ALT = (
    "A chart with both axes logarithmic: clocks for a pair over the words of a text. The LSU's line stays low. The "
    "ALU's begins below it and rises across it. The line of the time keeps above both: at first it's level, and the "
    "sums set the time. Then it rises with the ALU's, and the passes do. At the right end it is "
    "{fact=a_pair_in_a_long_row} as high."
)
LINES = {  # the column of the table -> its line
    "all": plot.Style("time", "accent"),
    "lsu": plot.Style("LSU: sums", "ink"),
    "alu": plot.Style("ALU: passes", "soft", symbol="square"),
}
WORDS = [256, 512, 1024, 2048, 4096, 8192]
HIGH = 700  # clocks: where it says which of the two leads


def figure() -> go.Figure:
    rows = rows_by_words()
    fig = go.Figure()
    for unit, style in LINES.items():
        hover = "%{x} words, %{name}: %{y:.0f} clocks"
        fig.add_scatter(x=[row["n"] for row in rows], y=[row[unit] for row in rows], **style.scatter(hover))
    meet = meeting(rows)
    plot.add_text(fig, [meet / 2, 2 * meet], [HIGH, HIGH], ["sums lead", "passes lead"], "ink")
    fig.add_vline(meet, line={"dash": "dot", "width": 1})
    axes = plot.log_axis("words in a text", WORDS), plot.log_axis("clocks", [50, 100, 200, 500, 1000])
    return plot.finish(fig, 340, xaxis=axes[0], yaxis=axes[1])


def rows_by_words() -> list[dict]:
    """Returns what was counted with the kernel's four warps, from short texts to long ones."""
    rows = plot.rows_with(records.table("what_limits", "clocks"), warps=worked.WARPS)
    return sorted(rows, key=lambda row: row["n"])


def meeting(rows: list[dict]) -> float:
    """Returns after how many words the ALU's line crosses the LSU's, both drawn on logarithmic axes."""
    lead = {row["n"]: log2(row["alu"] / row["lsu"]) for row in rows}
    before, after = next(pair for pair in pairwise(lead) if lead[pair[0]] < 0 <= lead[pair[1]])
    part = lead[before] / (lead[before] - lead[after])
    return before * (after / before) ** part
