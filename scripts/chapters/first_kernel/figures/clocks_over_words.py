"""How many clocks of an SM a pair takes in short texts and in long ones, and for how many each unit works."""

import plotly.graph_objects as go

from scripts.chapters import plot
from scripts.chapters.first_kernel.unit_clocks import draw_lines

ALT = (
    "A chart with both axes logarithmic: clocks for a pair over the words of a text. The LSU's line stays low. Those "
    "of the ALU and of the schedulers begin below it and rise across it. The line of the time keeps above all: it's "
    "level at first, then it rises with the ALU's, and at the right end it is {fact=a_pair_in_a_long_row} as high."
)
TICKS = [256, 1024, 4096]  # few enough for a phone


def figure() -> go.Figure:
    axes = plot.log_axis("words in a text", TICKS), plot.log_axis("clocks", [50, 100, 200, 500, 1000])
    return draw_lines("n", *axes, head_dim=64)
