"""Shape and bytes of what attention writes down, step by step, for a chosen N, number of heads and type."""

import plotly.graph_objects as go

from kernels.cost import qkvo_bytes, square_bytes

ALT = (
    "Four bars, one under the other, each centred and as wide as what it stands for has bytes: each of Q, K and V, "
    "then the scores, then the shares, then the output. The first and the last are slivers, the two in the middle fill "
    "the width, which makes the outline a balloon's. Above each bar stand its shape and its size. A slider chooses "
    "the number of words, one menu the number of heads and another the type. With as many words as a head has numbers "
    "the four bars are equal; the more words, the thinner the slivers beside the squares."
)
HEAD_DIM = 64
WORDS = [64, 256, 1024, 4096, 16384, 65536, 262144, 1048576]
HEADS = {"1 head": 1, "32 heads": 32, "32 heads, batch of 32": 1024}
TYPES = {"FP32": 4, "FP16 or BF16": 2}
SHOWN = 4096, "32 heads, batch of 32", "FP32"
STEPS = ["Q, K, V, each", "scores", "shares", "output"]
PLACES = [3, 2, 1, 0]  # from the top


def figure() -> go.Figure:
    fig = go.Figure()
    words, heads, kind = SHOWN
    for n in WORDS:
        row, square = sizes(n, 1, 1)
        for role, places, width in [("query", [3, 0], row / square), ("accent", [2, 1], 1)]:
            fig.add_bar(
                x=[width, width],
                base=[-width / 2] * 2,
                y=places,
                width=0.42,
                orientation="h",
                visible=n == words,
                meta={"role": role},
                hoverinfo="skip",
                showlegend=False,
            )
    labels = [(n, name) for n in WORDS for name in TYPES]
    for n, name in labels:
        fig.add_scatter(
            x=[0] * 4,
            y=[place + 0.36 for place in PLACES],
            mode="text",
            text=texts(n, HEADS[heads], TYPES[name]),
            textfont={"size": 12},
            visible=n == words,
            opacity=float(name == kind),
            hoverinfo="skip",
            showlegend=False,
        )

    bars = 2 * len(WORDS)
    traces = list(range(bars, bars + len(labels)))
    of_words = [n for n in WORDS for _ in range(2)] + [n for n, _ in labels]  # of each trace
    fig.update_layout(
        template=None,
        height=400,
        margin={"l": 5, "r": 5, "t": 5, "b": 5},
        barmode="overlay",
        xaxis={"range": [-0.53, 0.53], "visible": False, "fixedrange": True},
        yaxis={"range": [-0.4, 3.65], "visible": False, "fixedrange": True},
        updatemenus=[
            {
                "name": "Heads",
                "active": list(HEADS).index(heads),
                "buttons": [
                    {
                        "label": label,
                        "method": "restyle",
                        "args": [{"text": [texts(n, count, TYPES[name]) for n, name in labels]}, traces],
                    }
                    for label, count in HEADS.items()
                ],
            },
            {
                "name": "Type",
                "active": list(TYPES).index(kind),
                "buttons": [
                    {
                        "label": label,
                        "method": "restyle",
                        "args": [{"opacity": [float(name == label) for _, name in labels]}, traces],
                    }
                    for label in TYPES
                ],
            },
        ],
        sliders=[
            {
                "name": "Words N",
                "active": WORDS.index(words),
                "steps": [
                    {
                        "label": f"{chosen:,}",
                        "method": "restyle",
                        "args": [
                            {"visible": [n == chosen for n in of_words]},
                            list(range(len(of_words))),
                        ],
                    }
                    for chosen in WORDS
                ],
            }
        ],
    )
    return fig


def sizes(n: int, heads: int, element_bytes: int) -> tuple[int, int]:
    """Bytes of one of Q, K, V and the output, and of one square, of all heads together."""
    return qkvo_bytes(n, HEAD_DIM, element_bytes, heads) // 4, square_bytes(n, element_bytes, heads)


def texts(n: int, heads: int, element_bytes: int) -> list[str]:
    row, square = sizes(n, heads, element_bytes)
    times = f"{heads} of " if heads > 1 else ""
    tables = [(HEAD_DIM, row), (n, square), (n, square), (HEAD_DIM, row)]
    return [
        f"{step}: {times}{n}\N{MULTIPLICATION SIGN}{width}, <b>{binary(size)}</b>"
        for step, (width, size) in zip(STEPS, tables, strict=True)
    ]


def binary(size: int) -> str:
    """A size in the largest unit of which it is at least one: 64 GiB."""
    units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"]
    power = min((size.bit_length() - 1) // 10, len(units) - 1)
    return f"{size / 2 ** (10 * power):g} {units[power]}"
