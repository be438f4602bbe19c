"""What a pair was predicted to take after each change of a unit's work, and what it takes."""

import plotly.graph_objects as go

from scripts import records
from scripts.chapters import plot
from scripts.chapters.first_kernel import worked

ALT = (
    "Bars in pairs on one scale that begins at zero: the clocks of a query that meets a key, predicted, hollow, and "
    "measured, filled. There are two for each change: work taken from the ALU, work added for the LSU, a single warp, "
    "and with it work taken from the ALU. The changes come in this order."
)
SETTING = {"n": 512, "warps": 4}
FORMS = (plot.Style("predicted", "soft", predicted=True), plot.Style("measured", "accent"))


def clocks() -> dict[str, tuple[float, float]]:
    """Each change: the predicted clocks of a pair, and the measured ones."""
    (before,) = plot.rows_with(records.table("cheaper_passes", "clocks"), form="as_taught", **SETTING)
    table = records.table("cheaper_passes", "clocks")
    (cheaper,) = plot.rows_with(table, form="cheaper", **SETTING)
    one, one_cheaper = (plot.rows_with(table, n=512, warps=1, form=form)[0] for form in ("as_taught", "cheaper"))
    (more,) = plot.rows_with(records.table("more_loads", "clocks"), more=1)
    return {
        "less for the ALU": (before["all"], cheaper["all"]),
        "more for the LSU": (before["all"] + worked.WARPS * 2, more["all"]),
        "one warp": (worked.alu_clocks(1), one["all"]),
        "and less for the ALU": (worked.cheaper_alu_clocks(1), one_cheaper["all"]),
    }


def figure() -> go.Figure:
    changes = clocks()
    fig = go.Figure()
    for style, values in zip(FORMS, zip(*changes.values(), strict=True), strict=True):
        text = [f"{style.name} <b>{value:.0f}</b>" for value in values]
        bar = style.bars("%{y}, %{name}: %{x:.0f} clocks", "value")
        fig.add_bar(x=list(values), y=list(changes), text=text, **bar)
    axes = {"xaxis": {"visible": False, "rangemode": "tozero"}, "yaxis": plot.name_axis()}
    return plot.finish(fig, 300, bargap=0.35, bargroupgap=0.15, margin={"b": 4, "r": 110}, **axes)
