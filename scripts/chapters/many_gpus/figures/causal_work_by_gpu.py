"""What each of four GPUs computes of a causal text, and with whose keys, in two orders: counted, not measured."""

import plotly.graph_objects as go

from kernels.bench.parallel.cost import pairs
from scripts.chapters import plot

ALT = (
    "Four horizontal bars, one for the queries of each GPU, made of pieces for the keys of each GPU that they see. In "
    "zigzag order every piece is half a square and all bars are equally long. In contiguous order the first GPU sees "
    "half a square of its own keys and nothing else, each further one a whole square more, so that the last bar is by "
    "far the longest. A menu chooses the order."
)
GPUS, TOKENS = 4, 1 << 20
ROLES = ("accent", "soft", "grey", "faint")
ORDERS = ("zigzag", "contiguous")


def squares(order: str, owner: int) -> list[float]:
    """What each GPU's queries see of one GPU's keys, in squares of all with all."""
    return [pairs(rank, owner, GPUS, TOKENS, True, order) / TOKENS**2 for rank in range(GPUS)]


def figure() -> go.Figure:
    fig = go.Figure()
    names = [f"GPU {rank + 1}" for rank in range(GPUS)]
    choices = {order: [{"x": []}] for order in ORDERS}
    for owner, role in enumerate(ROLES):
        for order in ORDERS:
            choices[order][0]["x"].append(squares(order, owner))
        fig.add_bar(
            orientation="h",
            y=names,
            x=squares("zigzag", owner),
            text=[f"{owner + 1}"] * GPUS,
            textposition="inside",
            insidetextanchor="middle",
            textangle=0,
            marker={"line": {"width": 1}},
            **plot.Style(f"keys of GPU {owner + 1}", role).trace("%{y}, %{name}: %{x:.3g} of a square"),
        )
    return plot.finish(
        fig,
        250,
        plot.menu("Order", choices, "zigzag"),
        barmode="stack",
        bargap=0.3,
        xaxis={
            "title": "squares of pairs, numbered by whose keys",
            "range": [0, GPUS],
            "tickvals": list(range(GPUS + 1)),
        },
        yaxis=plot.name_axis(),
    )
