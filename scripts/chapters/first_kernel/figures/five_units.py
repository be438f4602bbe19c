"""Five units that work for the one-key kernel, how long each would need alone, and the kernel's time."""

import plotly.graph_objects as go

from scripts.chapters.first_kernel import worked
from scripts.chapters.first_kernel.unit_bars import draw, unit_times

ALT = (
    "Six bars on one scale that begins at zero. Memory, its cache and the units that multiply have short ones. Those of "
    "the load-store unit and of the ALU, worked out, come near that of one key at a time, which was measured."
)


def figure() -> go.Figure:
    clocks = {"LSU": worked.LSU_CLOCKS, "ALU": worked.alu_clocks(worked.WARPS)}
    return draw(unit_times() | {unit: worked.milliseconds(spent) for unit, spent in clocks.items()}, "one key")
