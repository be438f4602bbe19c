"""What HBM, L2 and the FP32 units need for the one-key kernel's work, beside its time and that of the three lines."""

import plotly.graph_objects as go

from scripts.chapters.first_kernel.unit_bars import ONE_KEY, THREE_LINES, draw_bars, unit_times

ALT = (
    "Five bars on one scale that begins at zero: what memory, its cache and the units that multiply would take, "
    "each alone, then what one key at a time takes, and three lines of PyTorch. The cache's bar is a short piece, one "
    "key's is the long one, and the others are slivers."
)


def figure() -> go.Figure:
    return draw_bars(unit_times(), ONE_KEY, THREE_LINES)
