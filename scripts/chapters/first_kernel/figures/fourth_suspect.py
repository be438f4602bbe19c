"""The units that need little time for the one-key kernel's work, the load-store unit, and the kernel's time."""

import plotly.graph_objects as go

from scripts.chapters.first_kernel import worked
from scripts.chapters.first_kernel.unit_bars import draw, unit_times

ALT = (
    "Five bars on one scale that begins at zero. Memory, its cache and the units that multiply have short ones. That "
    "of the load-store unit, worked out, comes near that of one key at a time, which was measured."
)


def figure() -> go.Figure:
    return draw(unit_times() | {"LSU": worked.lsu_milliseconds()}, "one key")
