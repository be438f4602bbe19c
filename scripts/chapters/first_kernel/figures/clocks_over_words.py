"""How many clocks of an SM a pair takes in short texts and in long ones, and for how many each unit works."""

from itertools import pairwise
from math import exp, log

import plotly.graph_objects as go

from scripts import records
from scripts.chapters import plot
from scripts.chapters.first_kernel.unit_clocks import LINES

ALT = (
    "A chart with both axes logarithmic: clocks for a pair over the words of a text. The LSU's line stays low. Those "
    "of the ALU and of the schedulers begin below it and rise across it. The line of the time keeps above all: it's "
    "level at first, then it rises with the ALU's, and at the right end it is {fact=a_pair_in_a_long_row} as high. A "
    "dotted line stands where the ALU's crosses the LSU's: left of it the sums set the time, right of it the passes."
)
WORDS = [256, 512, 1024, 2048, 4096, 8192]
HEAD_DIM = 64


def crossing(rows: list[dict]) -> float:
    """The words of a text at which the ALU begins to work longer than the LSU, where their drawn lines cross."""
    gaps = [(log(row["n"]), log(row["alu"] / row["data_path"])) for row in rows]
    ((x, gap), (next_x, next_gap)) = next((one, other) for one, other in pairwise(gaps) if one[1] < 0 <= other[1])
    return exp(x + (next_x - x) * gap / (gap - next_gap))


def figure() -> go.Figure:
    rows = plot.rows_with(records.table("what_limits", "clocks"), head_dim=HEAD_DIM)
    fig = go.Figure()
    for unit, style in LINES.items():
        hover = "%{x} words, %{name}: %{y:.0f} clocks"
        fig.add_scatter(x=[row["n"] for row in rows], y=[row[unit] for row in rows], **style.scatter(hover))
    axes = plot.log_axis("words in a text", WORDS), plot.log_axis("clocks", [50, 100, 200, 500, 1000])
    plot.finish(fig, 340, xaxis=axes[0], yaxis=axes[1])
    x = crossing(rows)
    fig.add_vline(x, line={"width": 1, "dash": "dot"})
    gap = "\N{EN SPACE}"  # from the dotted line
    sums, passes = f"the sums{gap}<br>set the time{gap}", f"{gap}the passes<br>{gap}set the time"
    for words, side in [(sums, "left"), (passes, "right")]:
        plot.add_text(fig, [x], [700], [words], "soft", textposition=f"middle {side}")
    return fig
