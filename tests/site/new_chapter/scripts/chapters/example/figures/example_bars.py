"""The mean error of each order in which a sum can be taken."""

from __future__ import annotations

import plotly.graph_objects as go

from scripts import records
from scripts.chapters import plot

ALT = "Bars, one for each order in which a sum can be taken. The length of a bar is the mean error of that order."


def figure() -> go.Figure:
    rows = records.table("softmax_order", "ways")
    bars = plot.Style("the mean error", "accent").bars("%{y}: %{x:.2g}")
    return plot.finish(go.Figure(go.Bar(x=[row["mean"] for row in rows], y=[row["way"] for row in rows], **bars)), 300)
