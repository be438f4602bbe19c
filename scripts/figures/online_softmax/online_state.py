"""The state of an online softmax as blocks arrive: the running maximum, and what the running sum is made of."""

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from scripts import records

ALT = (
    "Two charts, one above the other, and a slider: how many of eight blocks have arrived. Above, sixty-four scores as "
    "dots, those of the newest block marked, and a line for the running maximum, which rises in steps. Below, a bar "
    "for each block read: the running sum, made of what was kept of the sum before and of what the block brought. "
    "Where the maximum rises, most of the old sum is lost, and the bar falls; where it stays, the bar grows."
)
SIZE = 8  # scores a block
NOTHING = 0.0


def figure() -> go.Figure:
    blocks = records.table("online_softmax", "arrivals")
    top = max(block["sum"] for block in blocks)
    fig = make_subplots(rows=2, cols=1, row_heights=[0.62, 0.38], vertical_spacing=0.06)
    start = 3
    shown = drawn(blocks, start)
    for trace, (name, role, options) in zip(
        shown,
        [
            ("still to come", "soft", {"mode": "markers", "marker": {"symbol": "circle-open", "size": 5}}),
            ("read", "key", {"mode": "markers", "marker": {"size": 5}}),
            ("new", "accent", {"mode": "markers", "marker": {"size": 8}}),
            ("running maximum", "query", {"mode": "lines", "line": {"shape": "hv", "width": 2}}),
        ],
        strict=False,
    ):
        fig.add_scatter(
            **trace, name=name, meta={"role": role}, hovertemplate="%{y}<extra></extra>", **options, row=1, col=1
        )
    for trace, (name, role) in zip(shown[4:], [("kept", "key"), ("new", "accent")], strict=True):
        fig.add_bar(
            x=trace["x"],
            y=trace["y"],
            name=name,
            showlegend=False,
            meta={"role": role},
            hovertemplate=f"{name} %{{y:.3f}}<extra></extra>",
            row=2,
            col=1,
        )
    fig.update_xaxes(range=[0, SIZE * len(blocks) + 1], showticklabels=False, ticks="", row=1, col=1)
    fig.update_yaxes(title="score", row=1, col=1)
    fig.update_xaxes(title=said(blocks, start), range=[0.4, len(blocks) + 0.6], dtick=1, row=2, col=1)
    fig.update_yaxes(title="sum", range=[0, 1.1 * top], row=2, col=1)
    fig.update_xaxes(fixedrange=True).update_yaxes(fixedrange=True)
    fig.update_layout(
        template=None,
        height=420,
        barmode="stack",
        margin={"l": 55, "r": 10, "t": 30, "b": 65},
        legend={"orientation": "h", "x": 0.5, "xanchor": "center", "y": 1.02, "yanchor": "bottom"},
        sliders=[
            {
                "name": "Blocks read",
                "active": start,
                "steps": [
                    {
                        "label": str(read),
                        "method": "update",
                        "args": [
                            {axis: [trace[axis] for trace in drawn(blocks, read)] for axis in ("x", "y")},
                            {"xaxis2.title.text": said(blocks, read)},
                        ],
                    }
                    for read in range(len(blocks) + 1)
                ],
            }
        ],
    )
    return fig


def scores(block: dict) -> list[float]:
    return [block[f"s{place}"] for place in range(SIZE)]


def points(blocks: list[dict]) -> dict:
    """The scores of some blocks, each at its place in the row."""
    return {
        "x": [SIZE * (block["block"] - 1) + place + 1 for block in blocks for place in range(SIZE)],
        "y": [score for block in blocks for score in scores(block)],
    }


def kept(blocks: list[dict], index: int) -> float:
    """What is left of the sum before a block."""
    return blocks[index - 1]["sum"] * blocks[index]["kept"] if index else NOTHING


def drawn(blocks: list[dict], read: int) -> list[dict]:
    """The six traces when that many blocks were read."""
    before, newest, behind = blocks[: max(read - 1, 0)], blocks[max(read - 1, 0) : read], blocks[read:]
    maximum = {
        "x": [SIZE * (block["block"] - 1) + edge for block in blocks[:read] for edge in (0.5, SIZE + 0.5)],
        "y": [block["max"] for block in blocks[:read] for _ in range(2)],
    }
    bars = [block["block"] for block in blocks[:read]]
    old = [kept(blocks, index) for index in range(read)]
    new = [block["sum"] - part for block, part in zip(blocks[:read], old, strict=True)]
    return [points(behind), points(before), points(newest), maximum, {"x": bars, "y": old}, {"x": bars, "y": new}]


def said(blocks: list[dict], read: int) -> str:
    if not read:
        return "maximum \N{MINUS SIGN}∞<br>sum 0, nothing read"
    block = blocks[read - 1]
    old = kept(blocks, read - 1)
    first = f"{block['kept']:.4g} · {blocks[read - 2]['sum']:.3f} + {block['sum'] - old:.3f} = " if read > 1 else ""
    return f"maximum {block['max']:g}<br>sum {first}{block['sum']:.3f}"
