"""How much of its speed a ring keeps on more and more GPUs: predicted from a model, not measured."""

import plotly.graph_objects as go

from kernels.bench.parallel.cost import Link, Part, ideal_seconds, predict_seconds
from scripts.chapters import plot

ALT = (
    "Percent of the ideal against the number of GPUs on a logarithmic axis, a curve for each length of a GPU's part. "
    "All curves begin at the top. With the longest parts the curve stays there up to the last point. The shorter the "
    "parts, the deeper a curve falls where the GPUs no longer fit into one machine and the network begins. With few "
    "heads of keys, and in the backward pass, they fall less. A menu chooses the pass and the heads of keys."
)
FLOP_PER_SECOND, LINK, NETWORK, GPUS_PER_HOST = 640e12, Link(360e9), Link(50e9), 8
GPU_COUNTS = [2**doubled for doubled in range(11)]
PARTS = {
    2048: plot.Style("2,048 tokens", predicted=True),
    8192: plot.Style("8,192 tokens", predicted=True),
    16384: plot.Style("16,384 tokens", predicted=True),
    32768: plot.Style("32,768 tokens", "accent", predicted=True),
}
CHOICES = {
    "forward, 16 heads of keys": (False, 16),
    "forward, 2 heads of keys": (False, 2),
    "backward, 16 heads of keys": (True, 16),
    "backward, 2 heads of keys": (True, 2),
}


def percents(tokens: int, kv_heads: int, backward: bool) -> list[float]:
    """Of the ideal, for each number of GPUs; causal."""
    part = Part(tokens, heads=16, kv_heads=kv_heads, head_dim=128)
    options = {"speed": FLOP_PER_SECOND, "causal": True, "backward": backward}
    links = {"link": LINK, "gpus_per_host": GPUS_PER_HOST, "inter_host_link": NETWORK}
    return [
        100 * ideal_seconds(gpus, part, **options) / predict_seconds(gpus, part, **links, **options)
        for gpus in GPU_COUNTS
    ]


def figure() -> go.Figure:
    fig = go.Figure()
    choices = {
        label: [{"y": [percents(tokens, kv_heads, backward) for tokens in PARTS]}]
        for label, (backward, kv_heads) in CHOICES.items()
    }
    first = next(iter(choices.values()))[0]["y"]
    for style, y in zip(PARTS.values(), first, strict=True):
        fig.add_scatter(x=GPU_COUNTS, y=y, **style.scatter("%{name}: %{y:.0f} % on %{x} GPUs, predicted"))
    return plot.finish(
        fig,
        320,
        plot.menu("Pass and heads", choices),
        xaxis=plot.log_axis("GPUs", GPU_COUNTS[::2]),
        yaxis={"title": "% of the ideal", "range": [0, 105]},
    )
