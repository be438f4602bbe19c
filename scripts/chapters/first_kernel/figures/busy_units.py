"""For how many of a pair's clocks each unit of an SM is busy: counted by hand, and by Nsight Compute."""

import plotly.graph_objects as go

from scripts import records
from scripts.chapters import plot
from scripts.chapters.first_kernel import worked

ALT = (
    "Bars of clocks, one for each unit, on tracks that end where a pair ends. What the hand counted is an outline, "
    "what the profiler counted is filled. For the ALU, the schedulers and the LSU the two coincide. The bars of the "
    "LSU and of its data path are highlighted."
)
DATA_PATH = "its data path"
N, WARPS = worked.SHAPE[-1], worked.WARPS


def figure() -> go.Figure:
    (clocks,) = plot.rows_with(records.table("what_limits", "clocks"), n=N, warps=WARPS)
    (busy,) = plot.rows_with(records.table("what_limits", "busy"), n=N, warps=WARPS)
    (compiled,) = plot.rows_with(records.table("how_many_warps", "compiled"), n=N, warps=WARPS)
    (l2,) = plot.rows_with(records.table("l2_speed", "sizes"), size=16)
    by_hand = {
        "FP32 units": worked.FP32_CLOCKS,
        "L2": worked.PAIR_BYTES / round(worked.bytes_in_a_clock(1e12 * l2["speed"])),
        "ALU": worked.alu_clocks(WARPS),
        "schedulers": compiled["all"] * WARPS / 4,
        "LSU": worked.load_store_clocks(WARPS),
    }
    counted = {
        "FP32 units": clocks["all"] * busy["fma"] / 100,
        "ALU": clocks["alu"],
        "schedulers": clocks["issue"],
        "LSU": clocks["lsu"],
        DATA_PATH: clocks["data_path"],
    }
    names = [*dict.fromkeys([*by_hand, *counted])]
    fig = go.Figure()
    fig.add_bar(
        x=[clocks["all"]] * len(names), y=names, orientation="h", hoverinfo="skip", meta={"role": "faint"}, name=""
    )
    for values, role in ((counted, "grey"), (counted, "accent")):
        shown = {name: value for name, value in values.items() if (name in ("LSU", DATA_PATH)) == (role == "accent")}
        style = plot.Style("counted", role).bars("%{y}, %{name}: %{x:.1f} clocks", "value")
        labels = [f"<b>{value:.0f}</b>" for value in shown.values()]
        fig.add_bar(x=list(shown.values()), y=list(shown), text=labels, **style)
    style = plot.Style("by hand", "ink", predicted=True).bars("%{y}, %{name}: %{x:.0f} clocks", "value")
    labels = [None if name in counted else f"<b>{value:.0f}</b>" for name, value in by_hand.items()]
    fig.add_bar(x=list(by_hand.values()), y=list(by_hand), text=labels, **style)
    end = f"a pair, {clocks['all']:.0f} clocks\N{NO-BREAK SPACE}"
    plot.add_text(fig, [clocks["all"]], [" "], [end], textposition="middle left")
    line = {"type": "line", "x0": clocks["all"], "x1": clocks["all"], "yref": "paper", "y0": 0, "y1": 1}
    axes = {
        "xaxis": {"range": [0, clocks["all"] * 1.002], "visible": False},
        "yaxis": plot.name_axis(categoryorder="array", categoryarray=[" ", *names]),
    }
    return plot.finish(fig, 260, barmode="overlay", bargap=0.3, shapes=[line], margin={"b": 4, "r": 2}, **axes)
