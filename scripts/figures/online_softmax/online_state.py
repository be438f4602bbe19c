"""The state of an online softmax as blocks arrive: the running maximum, and what the running sum is made of."""

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from scripts import records
from scripts.figures import plot

ALT = (
    "Two charts, one above the other, and a slider: how many of eight blocks have arrived. Above, sixty-four scores as "
    "dots, those of the newest block marked, and a line for the running maximum, which rises in steps. Below, a bar "
    "for each block read: the running sum, made of what was kept of the sum before and of what the block brought. "
    "Where the maximum rises, most of the old sum is lost, and the bar falls; where it stays, the bar grows."
)
SIZE = 8  # scores in a block
START = 3  # blocks that have been read when the page opens
DOTS = [
    plot.Look("still to come", "soft", symbol="circle-open").scatter("%{y}", "markers", size=5),
    plot.Look("read", "key").scatter("%{y}", "markers", size=5),
    plot.Look("new", "accent").scatter("%{y}", "markers", size=8),
]
MAXIMUM = plot.Look("running maximum", "query").trace("%{y}") | {"mode": "lines", "line": {"shape": "hv", "width": 2}}
BARS = [plot.Look(name, role).trace("%{name} %{y:.3f}") for name, role in [("kept", "key"), ("new", "accent")]]


def figure() -> go.Figure:
    blocks = records.table("online_softmax", "arrivals")
    states = [drawn(blocks, read) for read in range(len(blocks) + 1)]
    first = list(zip(states[START]["x"], states[START]["y"], strict=True))
    fig = make_subplots(rows=2, cols=1, row_heights=[0.62, 0.38], vertical_spacing=0.06)
    for look, (x, y) in zip([*DOTS, MAXIMUM], first[:-2], strict=True):
        fig.add_scatter(x=x, y=y, row=1, col=1, **look)
    for look, (x, y) in zip(BARS, first[-2:], strict=True):
        fig.add_bar(x=x, y=y, showlegend=False, row=2, col=1, **look)
    changes = {str(read): [state, {"xaxis2.title.text": said(blocks, read)}] for read, state in enumerate(states)}
    return plot.page(
        fig,
        plot.Frame(height=420, left=55, top=30, bottom=65),
        plot.slider("Blocks read", changes, str(START), method="update"),
        barmode="stack",
        xaxis={"range": [0, SIZE * len(blocks) + 1], "showticklabels": False, "ticks": ""},
        yaxis={"title": "score"},
        xaxis2={"title": said(blocks, START), "range": [0.4, len(blocks) + 0.6], "dtick": 1},
        yaxis2={"title": "sum", "range": [0, 1.1 * max(block["sum"] for block in blocks)]},
    )


def drawn(blocks: list[dict], read: int) -> dict[str, list[list]]:
    """The six traces when that many blocks were read: the scores to come, read and new, the maximum, both bars."""
    done = blocks[:read]
    before, newest, behind = done[:-1], done[-1:], blocks[read:]
    edges = [place(block, edge) for block in done for edge in (0.5, SIZE + 0.5)]
    bars = [block["block"] for block in done]
    old = [kept(blocks, index) for index in range(read)]
    new = [block["sum"] - part for block, part in zip(done, old, strict=True)]
    dots = [behind, before, newest]
    return {
        "x": [[place(block, 1 + i) for block in part for i in range(SIZE)] for part in dots] + [edges, bars, bars],
        "y": [[block[f"s{i}"] for block in part for i in range(SIZE)] for part in dots]
        + [[block["max"] for block in done for _ in range(2)], old, new],
    }


def place(block: dict, within: float) -> float:
    """Where in the row a place within a block lies; both count from one."""
    return SIZE * (block["block"] - 1) + within


def kept(blocks: list[dict], index: int) -> float:
    """What a block leaves of the sum before it; the first block finds none."""
    return blocks[index - 1]["sum"] * blocks[index]["kept"] if index else 0.0


def said(blocks: list[dict], read: int) -> str:
    """The state in words, and how the sum came about."""
    if not read:
        return "maximum \N{MINUS SIGN}∞<br>sum 0, nothing read"
    block = blocks[read - 1]
    old = kept(blocks, read - 1)
    first = f"{block['kept']:.4g} · {blocks[read - 2]['sum']:.3f} + {block['sum'] - old:.3f} = " if read > 1 else ""
    return f"maximum {block['max']:g}<br>sum {first}{block['sum']:.3f}"
