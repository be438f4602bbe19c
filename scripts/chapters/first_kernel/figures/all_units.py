"""Six units that work for the one-key kernel, how long each would need alone, and the kernel's time."""

import plotly.graph_objects as go

from scripts.chapters.first_kernel import worked
from scripts.chapters.first_kernel.unit_bars import ONE_KEY, draw_bars, unit_times
from scripts.chapters.first_kernel.unit_clocks import clocks_by_hand

ALT = (
    "Seven bars on one scale that begins at zero. Memory, its cache and the units that multiply have short ones. Those "
    "of the ALU, the schedulers and the load-store unit, worked out, come near that of one key at a time, which was "
    "measured."
)
NAMES = {"alu": "ALU", "issue": "schedulers", "lsu": "LSU"}


def figure() -> go.Figure:
    clocks = clocks_by_hand(worked.WARPS)
    times = unit_times() | {name: worked.milliseconds_of_clocks(clocks[unit]) for unit, name in NAMES.items()}
    return draw_bars(times, ONE_KEY)
