"""Shape and bytes of what attention writes down, step by step, for a chosen N, number of heads and type."""

import plotly.graph_objects as go

from kernels.bench.cost import qkvo_bytes, square_bytes
from scripts.figures import plot

ALT = (
    "Four bars, one under the other, each centred and as wide as what it stands for has bytes: each of Q, K and V, "
    "then the scores, then the shares, then the output. The first and the last are slivers, the two in the middle fill "
    "the width, which makes the outline a balloon's. Above each bar stand its shape and its size. A slider chooses "
    "the number of words N; menus choose the numbers d of a head, the heads and the type. With as many words as a "
    "head has numbers the four bars are equal; the more words, the thinner the slivers beside the squares."
)
WORDS = [64, 256, 1024, 4096, 16384, 65536, 262144, 1048576]
HEADS = {"1 head": 1, "32 heads": 32, "32 heads, batch of 32": 1024}
HEAD_DIMS = [64, 128, 256]
TYPES = {"FP32": 4, "FP16 or BF16": 2}
SHOWN = 4096, 64, "32 heads, batch of 32", "FP32"
STEPS = ["Q, K, V, each", "scores", "shares", "output"]
PLACES = [3, 2, 1, 0]  # heights at which the bars lie


def figure() -> go.Figure:
    """Bars for each N, and labels for each N, d and type; each control changes an attribute of its own."""
    words, head_dim, heads, kind = SHOWN
    labels = [(n, dim, name) for n in WORDS for dim in HEAD_DIMS for name in TYPES]
    fig = go.Figure()
    for n in WORDS:
        for role, places in [("query", [3, 0]), ("accent", [2, 1])]:
            fig.add_bar(
                x=bars(n, head_dim)[role],
                y=places * 2,
                width=0.42,
                orientation="h",
                meta={"role": role},
                hoverinfo="skip",
                showlegend=False,
            )
    for n, dim, name in labels:
        plot.labels(
            fig,
            x=middle(dim == head_dim),
            y=[place + 0.36 for place in PLACES],
            text=texts(n, dim, HEADS[heads], TYPES[name]),
            textfont={"size": 12},
            opacity=float(name == kind),
            showlegend=False,
        )
    every = list(range(len(fig.data)))
    labelled = every[-len(labels) :]
    of_words = [f"{n:,}" for n in WORDS for _ in range(2)] + [f"{n:,}" for n, _, _ in labels]

    def of_dim(chosen: int) -> dict:
        drawn = [bars(n, chosen)[role] for n in WORDS for role in ("query", "accent")]
        return {"x": drawn + [middle(dim == chosen) for _, dim, _ in labels]}

    def of_heads(count: int) -> dict:
        return {"text": [texts(n, dim, count, TYPES[name]) for n, dim, name in labels]}

    def of_type(chosen: str) -> dict:
        return {"opacity": [float(name == chosen) for *_, name in labels]}

    return plot.page(
        fig,
        plot.Frame(left=5, right=5, top=5, bottom=5),
        plot.menu("d", {str(dim): [of_dim(dim), every] for dim in HEAD_DIMS}, str(head_dim)),
        plot.menu("Heads", {label: [of_heads(count), labelled] for label, count in HEADS.items()}, heads),
        plot.menu("Type", {label: [of_type(label), labelled] for label in TYPES}, kind),
        plot.switch(fig, "Words N", of_words, f"{words:,}", plot.slider),
        legend=None,
        barmode="overlay",
        xaxis={"range": [-0.53, 0.53], "visible": False},
        yaxis={"range": [-0.4, 3.65], "visible": False},
    )


def bars(n: int, head_dim: int) -> dict[str, list[float]]:
    """A right and a left half of each bar: two tables like Q, two squares, the wider as wide as the figure."""
    row, square = sizes(n, head_dim, 1, 1)
    widths = {"query": row / max(row, square), "accent": square / max(row, square)}
    return {role: [width / 2] * 2 + [-width / 2] * 2 for role, width in widths.items()}


def middle(chosen: bool) -> list[int]:
    """Where the four labels stand: in the middle, or outside the figure."""
    return [0 if chosen else 9] * 4


def sizes(n: int, head_dim: int, heads: int, element_bytes: int) -> tuple[int, int]:
    """Bytes of one of Q, K, V and the output, and of one square, of all heads together."""
    return qkvo_bytes(n, head_dim, element_bytes, heads) // 4, square_bytes(n, element_bytes, heads)


def texts(n: int, head_dim: int, heads: int, element_bytes: int) -> list[str]:
    row, square = sizes(n, head_dim, heads, element_bytes)
    times = f"{heads} of " if heads > 1 else ""
    tables = [(head_dim, row), (n, square), (n, square), (head_dim, row)]
    return [
        f"{step}: {times}{n}\N{MULTIPLICATION SIGN}{width}, <b>{plot.binary(size)}</b>"
        for step, (width, size) in zip(STEPS, tables, strict=True)
    ]
