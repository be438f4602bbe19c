"""For how many of a pair's clocks each unit of an SM is busy: counted by hand, and by Nsight Compute."""

from collections.abc import Iterable

import plotly.graph_objects as go

from scripts import records
from scripts.chapters import plot
from scripts.chapters.first_kernel import worked

ALT = (
    "Bars of clocks, one for each unit, on tracks that end where a pair ends. What the hand counted is an outline, "
    "what the profiler counted is filled. For the ALU, the schedulers and the LSU the two coincide. A menu has the "
    "number of warps, and the unit that is busy for the greatest part of a pair is highlighted."
)
N, WARPS = worked.SHAPE[-1], (1, 2, 4, 8)
LSU, DATA_PATH = "LSU", "its data path"
HEAD = " "  # the row above the bars


def by_hand(warps: int) -> dict[str, float]:
    """Returns the clocks of a pair for which each unit is busy, worked out."""
    (compiled,) = plot.rows_with(records.table("how_many_warps", "compiled"), n=N, warps=warps)
    (l2,) = plot.rows_with(records.table("l2_speed", "sizes"), size=16)
    return {
        "FP32 units": worked.FP32_CLOCKS,
        "L2": worked.PAIR_BYTES / round(worked.bytes_in_a_clock(1e12 * l2["speed"])),
        "ALU": worked.alu_clocks(warps),
        "schedulers": compiled["all"] * warps / 4,
        LSU: worked.load_store_clocks(warps),
    }


def counted(warps: int) -> tuple[dict[str, float], float]:
    """Returns the same as counted, and how many clocks a pair takes in all."""
    (clocks,) = plot.rows_with(records.table("what_limits", "clocks"), n=N, warps=warps)
    (busy,) = plot.rows_with(records.table("what_limits", "busy"), n=N, warps=warps)
    units = {"ALU": "alu", "schedulers": "issue", LSU: "lsu", DATA_PATH: "data_path"}
    clocks_of_units = {name: clocks[column] for name, column in units.items()}
    return {"FP32 units": clocks["all"] * busy["fma"] / 100, **clocks_of_units}, clocks["all"]


def figure() -> go.Figure:
    fig, labels = go.Figure(), []
    names = [*dict.fromkeys([*by_hand(WARPS[0]), *counted(WARPS[0])[0]])]
    for warps in WARPS:
        (filled, whole), hollow = counted(warps), by_hand(warps)
        busiest = max(filled, key=filled.get)
        accent = {LSU, DATA_PATH} if busiest == DATA_PATH else {busiest}
        track = {"orientation": "h", "hoverinfo": "skip", "meta": {"role": "faint"}, "name": ""}
        fig.add_bar(x=[whole] * len(names), y=names, **track)
        for role in ("grey", "accent"):
            shown = {name: clocks for name, clocks in filled.items() if (name in accent) == (role == "accent")}
            style = plot.Style("counted", role).bars("%{y}, %{name}: %{x:.1f} clocks", "value")
            fig.add_bar(x=list(shown.values()), y=list(shown), text=texts(shown.values()), **style)
        style = plot.Style("by hand", "ink", predicted=True).bars("%{y}, %{name}: %{x:.0f} clocks", "value")
        alone = [None if name in filled else text for name, text in zip(hollow, texts(hollow.values()), strict=True)]
        fig.add_bar(x=list(hollow.values()), y=list(hollow), text=alone, **style)
        plot.add_text(fig, [whole], [HEAD], [f"a pair: {whole:.0f} clocks"], textposition="middle left")
        labels += [str(warps)] * 5
    menu = plot.trace_menu(fig, "Warps", labels, "4")
    axes = {
        "xaxis": {"visible": False, "rangemode": "tozero"},
        "yaxis": plot.name_axis(categoryorder="array", categoryarray=[HEAD, *names]),
    }
    return plot.finish(fig, 260, menu, barmode="overlay", bargap=0.3, margin={"b": 4, "r": 2}, **axes)


def texts(clocks: Iterable[float]) -> list[str]:
    return [f"<b>{each:.0f}</b>" for each in clocks]
