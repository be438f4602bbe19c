"""What a pair takes beside the clocks of its busiest unit, as the kernel is and after each change."""

import plotly.graph_objects as go

from scripts import records
from scripts.chapters import plot
from scripts.chapters.first_kernel import worked

ALT = (
    "Bars in pairs on one scale that begins at zero: the clocks of the busiest unit, by hand, hollow, and of the time, "
    "measured, filled. There are two for four warps, then for each change: work taken from the ALU, work added for the "
    "LSU, a single warp, with it work taken from the ALU, and two warps. Each filled bar ends behind its hollow one."
)
FOUR, ONE, TWO = ({"n": worked.SHAPE[-1], "warps": warps} for warps in (4, 1, 2))


def clocks() -> dict[str, tuple[str, float, float]]:
    """Each setting: its busiest unit, for how many clocks that works by hand, and the measured time."""

    def time(table: str, **row: object) -> float:
        (found,) = plot.rows_with(records.table(table, "clocks"), **row)
        return found["all"]

    (compiled,) = plot.rows_with(records.table("how_many_warps", "compiled"), **TWO)
    return {
        "four warps": ("LSU", worked.LSU_CLOCKS, time("cheaper_passes", form="as_taught", **FOUR)),
        "less for the ALU": ("LSU", worked.LSU_CLOCKS, time("cheaper_passes", form="cheaper", **FOUR)),
        "more for the LSU": ("LSU", worked.LSU_CLOCKS + 2 * worked.WARPS, time("more_loads", more=1)),
        "one warp": ("ALU", worked.alu_clocks(1), time("cheaper_passes", form="as_taught", **ONE)),
        "and less for the ALU": ("ALU", worked.cheaper_alu_clocks(1), time("cheaper_passes", form="cheaper", **ONE)),
        "two warps": ("schedulers", 2 * compiled["all"] / 4, time("what_limits", head_dim=128, heads=16, **TWO)),
    }


def figure() -> go.Figure:
    fig = go.Figure()
    names, settings = list(clocks()), list(clocks().values())
    busiest = plot.Style("busiest unit", "soft", predicted=True).bars("%{y}, %{text}: by hand", "value")
    text = [f"{unit} <b>{work:.0f}</b>" for unit, work, _ in settings]
    fig.add_bar(x=[work for _, work, _ in settings], y=names, text=text, **busiest)
    measured = plot.Style("time", "accent").bars("%{y}, time: %{x:.0f} clocks", "value")
    times = [time for *_, time in settings]
    fig.add_bar(x=times, y=names, text=[f"time {time:.0f}" for time in times], **measured)
    axes = {"xaxis": {"visible": False, "rangemode": "tozero"}, "yaxis": plot.name_axis()}
    return plot.finish(fig, 390, bargap=0.35, bargroupgap=0.12, margin={"b": 4, "r": 80}, **axes)
