"""Six units that work for the one-key kernel, how long each would need alone, and the kernel's time."""

import plotly.graph_objects as go

from scripts import records
from scripts.chapters import plot
from scripts.chapters.first_kernel import worked
from scripts.chapters.first_kernel.unit_bars import ONE_KEY, PRODUCTS, draw_bars, unit_times

ALT = (
    "Seven bars on one scale that begins at zero. Memory, its cache and the units that multiply have short ones. That "
    "of the ALU, worked out, reaches to the middle, and those of the schedulers and the load-store unit come near that "
    "of one key at a time, which was measured."
)
NAMES = {"alu": "ALU", "issue": "schedulers", "lsu": "LSU"}


def figure() -> go.Figure:
    clocks = clocks_by_hand(worked.WARPS)
    times = unit_times()
    del times[PRODUCTS]
    times["FP32 units"] = fp32_milliseconds()
    times |= {name: worked.milliseconds_of_clocks(clocks[unit]) for unit, name in NAMES.items()}
    return draw_bars(times, ONE_KEY)


def fp32_milliseconds() -> float:
    """Returns how long the FP32 units work, products and all else, as the profiler counts it."""
    setting = {"n": worked.SHAPE[-1], "head_dim": worked.HEAD_DIM, "warps": worked.WARPS}
    (row,) = plot.rows_with(records.table("what_limits", "busy"), **setting)
    return row["time"] * row["fma"] / 100


def clocks_by_hand(warps: int) -> dict[str, float]:
    """Returns what each unit has to do for a pair, in texts of 512 words: by the column of the table."""
    (compiled,) = plot.rows_with(records.table("how_many_warps", "compiled"), n=512, warps=warps)
    issue = compiled["all"] * warps / worked.ISSUED_PER_CLOCK
    return {"lsu": worked.load_store_clocks(warps), "alu": worked.alu_clocks(warps), "issue": issue}
