"""What waits for what in the Hopper kernel: a schedule worked out from the registry's clocks, not a measurement."""

from typing import NamedTuple

import plotly.graph_objects as go

from kernels.bench.cost import attention_flops
from kernels.bench.hardware import H100

ALT = (
    "A schedule with a line for the producer, one for the tensor cores and one for each consumer, against clocks. The "
    "producer asks for tiles of keys and values, the last block first. On the line of the tensor cores stand the "
    "products, each with its block's number and in the colour of the consumer that started it: scores of a block, "
    "values of the block before. On a consumer's line stands the softmax of each block. With two consumers and the "
    "heads shown first the products follow each other without a gap, and each softmax of one consumer lies under "
    "products of the other. A menu chooses the head dimension and the number of consumers; with a single consumer the "
    "tensor cores stand still during each softmax."
)
ROWS = int(H100["wgmma rows"].value)
BLOCKS = 6  # of keys, that a block of queries sees here
SHOWN = 4200  # clocks
COLOURS = ("query", "accent", "key")  # of the consumers


class Choice(NamedTuple):
    """consumers, block_k, stages: of the plan in kernels/hopper.py; a test compares them."""

    label: str
    head_dim: int
    consumers: int
    block_k: int
    stages: int


CHOICES = (
    Choice("d = 128, two consumers", 128, 2, 128, 2),
    Choice("d = 128, one alone", 128, 1, 128, 2),
    Choice("d = 64, two consumers", 64, 2, 128, 3),
    Choice("d = 64, three consumers", 64, 3, 128, 3),
    Choice("d = 256, two consumers", 256, 2, 64, 2),
)


class Bar(NamedTuple):
    line: str
    text: str
    consumer: int
    start: float
    clocks: float


def schedule(choice: Choice) -> tuple[list[Bar], list[tuple[str, float]]]:
    """Bars of products and softmaxes, and when the producer asks for each tile.

    The tensor cores take products in the order in which they were started, and the exp2 units softmaxes.  A consumer
    starts the scores of a block with the values of the block before, and softmax when both are there.  Tiles arrive
    as soon as they are asked for, and of softmax only exp2 is counted.
    """
    scores = ROWS * choice.block_k
    product = scores * attention_flops(1, choice.head_dim) / 2 / H100["bf16 tensor core"].value
    softmax = scores / H100["exp2"].value
    bars, read = [], {"K": [0.0] * BLOCKS, "V": [0.0] * BLOCKS}
    ready, step = [0.0] * choice.consumers, [0] * choice.consumers
    tensor_free = exp2_free = 0.0
    while min(step) <= BLOCKS:
        consumer = min((c for c in range(choice.consumers) if step[c] <= BLOCKS), key=lambda c: (ready[c], c))
        at, block = ready[consumer], step[consumer]
        for tile, use in (("K", block), ("V", block - 1)):
            if 0 <= use < BLOCKS:
                at = max(at, tensor_free)
                tensor_free = at + product
                text = f"{'S' if tile == 'K' else 'O'}{BLOCKS - 1 - use}"
                bars.append(Bar("tensor cores", text, consumer, at, product))
                read[tile][use] = max(read[tile][use], tensor_free)
                at = tensor_free
        if block < BLOCKS:
            at = max(at, exp2_free)
            exp2_free = at + softmax
            bars.append(Bar(f"consumer {consumer}", f"{BLOCKS - 1 - block}", consumer, at, softmax))
            at = exp2_free
        ready[consumer], step[consumer] = at, block + 1
    asked, now = [], 0.0
    for use in range(BLOCKS):
        for tile in ("K", "V"):
            now = max(now, read[tile][use - choice.stages] if use >= choice.stages else 0.0)
            asked.append((f"{tile}{BLOCKS - 1 - use}", now))
    return bars, asked


def busy(choice: Choice) -> float:
    """The share of time that the tensor cores multiply, once the schedule repeats itself."""
    clocks = {name: [bar for bar in schedule(choice)[0] if bar.line == name] for name in ("tensor cores", "consumer 0")}
    starts = [bar.start for bar in clocks["consumer 0"]]
    from_, to = starts[2], starts[4]
    return sum(max(0, min(to, bar.start + bar.clocks) - max(from_, bar.start)) for bar in clocks["tensor cores"]) / (
        to - from_
    )


def figure() -> go.Figure:
    fig, owner = go.Figure(), []
    for index, choice in enumerate(CHOICES):
        bars, asked = schedule(choice)
        times = sorted({at for _, at in asked})
        together = [" ".join(tile for tile, at in asked if at == time) for time in times]
        fig.add_scatter(
            x=times,
            y=["producer"] * len(times),
            mode="markers",
            marker_symbol="triangle-right",
            marker_size=11,
            meta={"role": "soft"},
            cliponaxis=False,
            customdata=together,
            hovertemplate="asks for %{customdata} at clock %{x:.0f}<extra></extra>",
        )
        owner.append(index)
        for consumer in range(choice.consumers):
            own = [bar for bar in bars if bar.consumer == consumer and bar.start < SHOWN]
            fig.add_bar(
                base=[bar.start for bar in own],
                x=[bar.clocks for bar in own],
                y=[bar.line for bar in own],
                orientation="h",
                customdata=[bar.text for bar in own],
                marker={"opacity": 0.35, "line": {"width": 1}},
                meta={"role": COLOURS[consumer]},
                hovertemplate="%{y}: %{customdata}, from clock %{base:.0f}, %{x:.0f} clocks<extra></extra>",
            )
            owner.append(index)
        labelled = [bar for bar in bars if bar.start + bar.clocks <= SHOWN]
        fig.add_scatter(
            x=[bar.start + bar.clocks / 2 for bar in labelled],
            y=[bar.line for bar in labelled],
            mode="text",
            text=[bar.text for bar in labelled],
            textfont_size=10,
            hoverinfo="skip",
        )
        owner.append(index)
        fig.add_scatter(
            x=[SHOWN],
            y=["busy"],
            mode="text",
            text=[f"tensor cores busy, once under way: {100 * busy(choice):.0f} %"],
            textposition="middle left",
            hoverinfo="skip",
        )
        owner.append(index)
    everyone = list(range(len(owner)))
    for trace, index in zip(fig.data, owner, strict=True):
        trace.visible = index == 0
    lines = ["busy", "producer", "tensor cores", *(f"consumer {consumer}" for consumer in range(3))]
    fig.update_yaxes(
        categoryorder="array",
        categoryarray=lines,
        range=[len(lines) - 0.5, -0.5],
        tickvals=lines[1:],
        ticktext=["producer", "tensor<br>cores", "consumer 0", "consumer 1", "consumer 2"],
        fixedrange=True,
        showgrid=False,
    )
    fig.update_xaxes(title="clocks of one SM", range=[-50, SHOWN], dtick=1000, fixedrange=True)
    fig.update_layout(
        template=None,
        height=330,
        barmode="overlay",
        bargap=0.25,
        showlegend=False,
        margin={"l": 85, "r": 10, "t": 10, "b": 50},
        updatemenus=[
            {
                "name": "Choose",
                "active": 0,
                "buttons": [
                    {
                        "label": choice.label,
                        "method": "restyle",
                        "args": [{"visible": [index == chosen for index in owner]}, everyone],
                    }
                    for chosen, choice in enumerate(CHOICES)
                ],
            }
        ],
    )
    return fig
