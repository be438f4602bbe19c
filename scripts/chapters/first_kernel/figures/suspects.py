"""What three units need for the first kernel's work, HBM, L2 and FP32, beside its time and that of the three lines."""

import plotly.graph_objects as go

from scripts.chapters.first_kernel.unit_bars import draw, unit_times

ALT = (
    "Five bars on one scale that begins at zero: what memory, its cache and the units that multiply would take, each "
    "alone, then what our kernel takes, and three lines of PyTorch. The cache's bar is a short piece, the kernel's is "
    "the long one, and the others are slivers."
)


def figure() -> go.Figure:
    return draw(unit_times(), "our kernel", "three lines")
