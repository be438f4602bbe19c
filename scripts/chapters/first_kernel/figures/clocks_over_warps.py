"""How many clocks of an SM a pair takes with more and fewer warps, and for how many each unit works."""

import plotly.graph_objects as go

from scripts.chapters import plot
from scripts.chapters.first_kernel.unit_clocks import draw_lines

ALT = (
    "Clocks for a pair over the warps of a program: a line for the ALU that rises a little, a steeper one for the "
    "schedulers, a steep one for the LSU, and they cross. The line of the time is above all three: on the left just "
    "above the ALU's, on the right above the LSU's, with which it rises."
)
WARPS = [1, 2, 4, 8]


def figure() -> go.Figure:
    axes = plot.log_axis("warps in a program", WARPS), {"title": "clocks", "rangemode": "tozero"}
    return draw_lines("warps", *axes, n=512, head_dim=128)
