"""How many clocks of an SM a pair takes with more and fewer warps, and for how many each unit works."""

import plotly.graph_objects as go

from scripts.chapters import plot
from scripts.chapters.first_kernel.unit_clocks import clocks_by_hand, draw

ALT = (
    "Clocks for a pair over the warps of a program. The ALU's line rises a little, that of the schedulers more, the "
    "LSU's most, and they cross. The line of the time keeps above all three: on the left it's near the ALU's, on the "
    "right it rises with the LSU's. Hollow points were worked out by hand, and nearly all are where the profiler's are."
)
WARPS = [1, 2, 4, 8]


def figure() -> go.Figure:
    axes = plot.log_axis("warps in a program", WARPS), {"title": "clocks", "rangemode": "tozero"}
    return draw("warps", [clocks_by_hand(warps) for warps in WARPS], *axes, n=512, head_dim=128)
