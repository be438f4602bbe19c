"""What waits for what in the Hopper kernel: a schedule worked out from the registry's clocks, not a measurement."""

from typing import NamedTuple

import plotly.graph_objects as go

from kernels.bench.cost import attention_flops
from kernels.bench.hardware import H100
from scripts.chapters import plot

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
BLOCKS = 6  # blocks of keys that a block of queries sees here
SHOWN_CLOCKS = 4096  # of which the work is drawn: what goes on beyond is marked by dots
ROLES = ("accent", "soft", "grey")  # one for each consumer
LINES = {  # line -> what the axis calls it
    "busy": " ",
    "producer": "producer",
    "tensor cores": "tensor cores",
    "consumer 0": "consumer 0",
    "consumer 1": "consumer 1",
    "consumer 2": "consumer 2",
}


class Choice(NamedTuple):
    """consumers, block_k and stages are those of the plan in kernels/hopper/plan.py; a test compares them."""

    label: str
    head_dim: int
    consumers: int
    block_k: int
    stages: int


CHOICES = (
    Choice("d = 128, two consumers", 128, 2, 128, 2),
    Choice("d = 128, one alone", 128, 1, 128, 2),
    Choice("d = 64, two consumers", 64, 2, 128, 4),
    Choice("d = 64, three consumers", 64, 3, 128, 3),
    Choice("d = 256, two consumers", 256, 2, 64, 2),
)


class Bar(NamedTuple):
    line: str
    text: str
    consumer: int
    start: float
    clocks: float

    @property
    def end(self) -> float:
        return self.start + self.clocks


def schedule(choice: Choice) -> tuple[list[Bar], list[tuple[str, float]]]:
    """Bars of products and softmaxes, and when the producer asks for each tile.

    The tensor cores take products in the order in which they were started, and the exp2 units softmaxes.  A consumer
    starts the scores of a block with the values of the block before, and softmax when both are there.  Tiles arrive
    as soon as they are asked for, and exp2 is the only work of softmax that counts.
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
    requests, clock = [], 0.0
    for use in range(BLOCKS):
        for tile in ("K", "V"):
            clock = max(clock, read[tile][use - choice.stages] if use >= choice.stages else 0.0)
            requests.append((f"{tile}{BLOCKS - 1 - use}", clock))
    return bars, requests


def busy_fraction(choice: Choice) -> float:
    """The part of the time in which the tensor cores multiply, once the schedule repeats itself."""
    bars, _ = schedule(choice)
    softmaxes = [bar.start for bar in bars if bar.line == "consumer 0"]
    begin, end = softmaxes[2], softmaxes[4]
    products = [bar for bar in bars if bar.line == "tensor cores"]
    return sum(max(0, min(end, bar.end) - max(begin, bar.start)) for bar in products) / (end - begin)


def figure() -> go.Figure:
    fig, choices = go.Figure(), []
    for choice in CHOICES:
        draw(fig, choice)
        choices += [choice.label] * (len(fig.data) - len(choices))
    clocks = list(range(0, SHOWN_CLOCKS + 1, 1024))
    return plot.finish(
        fig,
        330,
        plot.trace_menu(fig, "Choose", choices, CHOICES[0].label),
        barmode="overlay",
        bargap=0.25,
        xaxis={
            "title": "clocks of one SM",
            "range": [-50, SHOWN_CLOCKS + 150],
            "tickvals": clocks,
            "ticktext": [f"{clock:,}" for clock in clocks],
        },
        yaxis=plot.name_axis(),  # no line for a consumer that is not
    )


def draw(fig: go.Figure, choice: Choice) -> None:
    """The schedule of one choice: how busy the tensor cores are, when tiles are asked for, and the bars."""
    bars, requests = schedule(choice)
    busy_text = f"tensor cores busy, once under way: {100 * busy_fraction(choice):.0f} %"
    plot.add_text(fig, [SHOWN_CLOCKS], [LINES["busy"]], [busy_text], textposition="middle left")
    times = sorted({at for _, at in requests if at <= SHOWN_CLOCKS})
    fig.add_scatter(
        x=times,
        y=["producer"] * len(times),
        mode="markers",
        marker={"symbol": "triangle-right", "size": 11},
        meta={"role": "ink"},
        cliponaxis=False,
        customdata=[" ".join(tile for tile, at in requests if at == time) for time in times],
        hovertemplate="asks for %{customdata} at clock %{x:.0f}<extra></extra>",
    )
    for consumer in range(choice.consumers):
        consumer_bars = [bar for bar in bars if bar.consumer == consumer and bar.end <= SHOWN_CLOCKS]
        fig.add_bar(
            base=[bar.start for bar in consumer_bars],
            x=[bar.clocks for bar in consumer_bars],
            y=[LINES[bar.line] for bar in consumer_bars],
            orientation="h",
            text=[bar.text for bar in consumer_bars],
            textposition="inside",
            insidetextanchor="middle",
            marker={"line": {"width": 1}},
            meta={"role": ROLES[consumer]},
            hovertemplate="%{y}: %{text}, from clock %{base:.0f}, %{x:.0f} clocks<extra></extra>",
        )
    continuing_lines = sorted({LINES[bar.line] for bar in bars if bar.end > SHOWN_CLOCKS})
    plot.add_text(fig, [SHOWN_CLOCKS + 90] * len(continuing_lines), continuing_lines, ["…"] * len(continuing_lines))
