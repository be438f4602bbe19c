"""How many clocks of an SM a pair takes with more and fewer warps, and for how many the LSU and the ALU work."""

import plotly.graph_objects as go

from scripts.chapters import plot
from scripts.chapters.first_kernel import worked
from scripts.chapters.first_kernel.unit_clocks import draw

ALT = (
    "Clocks for a pair over the warps of a program. The ALU's line rises a little, the LSU's steeply, and they cross. "
    "The line of the time keeps above both: on the left it's near the ALU's, on the right it rises with the LSU's. "
    "Hollow points around those of the units were worked out by hand, and nearly all are where the profiler's are."
)
WARPS = [1, 2, 4, 8]


def figure() -> go.Figure:
    by_hand = {
        "lsu": [worked.load_store_clocks(warps) for warps in WARPS],
        "alu": [worked.alu_clocks(warps) for warps in WARPS],
    }
    axes = plot.log_axis("warps in a program", WARPS), {"title": "clocks", "rangemode": "tozero"}
    return draw("warps", by_hand, *axes, n=512, head_dim=128)
