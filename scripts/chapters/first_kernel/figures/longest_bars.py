"""What a pair takes beside the clocks of its busiest unit, as the kernel is and after each change."""

import plotly.graph_objects as go

from scripts import records
from scripts.chapters import plot
from scripts.chapters.first_kernel import worked

ALT = (
    "Bars in pairs on one scale that begins at zero: the clocks of the busiest unit, grey, and of the time, violet. "
    "There are two for four warps, then for each change: work taken from the ALU, work added for the LSU, a single "
    "warp, and with it work taken from the ALU. Each violet bar ends behind its grey one."
)
NAMES = {"data_path": "LSU", "alu": "ALU", "issue": "schedulers"}


def settings() -> dict[str, dict]:
    """Each setting, and its row of clocks."""
    table = plot.rows_with(records.table("cheaper_passes", "clocks"), n=worked.SHAPE[-1])
    rows = {(row["warps"], row["form"]): row for row in table}
    (more,) = plot.rows_with(records.table("more_loads", "clocks"), more=1)
    return {
        "four warps": rows[4, "as_taught"],
        "less for the ALU": rows[4, "cheaper"],
        "and more for the LSU": more,
        "one warp": rows[1, "as_taught"],
        "and less for the ALU": rows[1, "cheaper"],
    }


def figure() -> go.Figure:
    rows = settings()
    busiest = [max(NAMES, key=row.get) for row in rows.values()]
    clocks = [row[unit] for unit, row in zip(busiest, rows.values(), strict=True)]
    times = [row["all"] for row in rows.values()]
    units = [f"{NAMES[unit]} <b>{work:.0f}</b>" for unit, work in zip(busiest, clocks, strict=True)]
    fig = go.Figure()
    fig.add_bar(x=clocks, y=list(rows), text=units, **plot.Style("busiest unit", "grey").bars("%{y}: %{text}", "value"))
    time = plot.Style("time", "accent").bars("%{y}, time: %{x:.0f} clocks", "value")
    fig.add_bar(x=times, y=list(rows), text=[f"time {each:.0f}" for each in times], **time)
    axes = {"xaxis": {"visible": False, "rangemode": "tozero"}, "yaxis": plot.name_axis()}
    return plot.finish(fig, 330, bargap=0.35, bargroupgap=0.12, margin={"b": 4, "r": 80}, **axes)
