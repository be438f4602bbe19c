"""How large the KV cache of one sequence is against the length of its context, in three formats."""

import plotly.graph_objects as go

from kernels.bench.cost import gib
from kernels.bench.hardware import H100
from scripts import records
from scripts.chapters import plot

ALT = (
    "Size of a cache against the tokens of its context, both axes logarithmic. Three parallel lines rise in "
    "proportion to the context: the cache of sixteen bits highest, that of eight at half of it, that of four lowest. "
    "A dashed line across is all the memory of the GPU. A menu chooses the heads of keys and values: with more of them "
    "all three lines rise, and the highest meets the dashed line at a shorter context."
)
LAYERS, COUNTED_HEADS = 32, 8  # the snippet counts 8 heads
HEADS = {"8 heads": 8, "32 heads": 32, "1 head": 1}
CONTEXT = [1024 * 2**doubled for doubled in range(11)]
FORMATS = {
    "bf16": plot.Style("BF16", predicted=True),
    "fp8": plot.Style("FP8", predicted=True),
    "nvfp4": plot.Style("NVFP4", "accent", predicted=True),
}
GPU_MEMORY = plot.Style("all of an H100's memory", "ink")


def figure() -> go.Figure:
    bytes_per_token = {row["format"]: row["token"] for row in records.table("kv_cache_size", "formats")}

    def sizes(format: str, heads: int) -> list[float]:
        """In bytes, at each context."""
        return [bytes_per_token[format] * heads / COUNTED_HEADS * LAYERS * n for n in CONTEXT]

    def series(heads: int) -> dict:
        """The cache in GiB, and the milliseconds that reading it takes at the least."""
        sizes_by_format = [sizes(format, heads) for format in FORMATS]
        bandwidth = H100["hbm bandwidth"].value
        return {
            "y": [[gib(size) for size in sizes_of_format] for sizes_of_format in sizes_by_format],
            "customdata": [[1e3 * size / bandwidth for size in sizes_of_format] for sizes_of_format in sizes_by_format],
        }

    fig = go.Figure()
    first = series(COUNTED_HEADS)
    hover = "%{name}, %{x:,} tokens: %{y:.3g} GiB, at least %{customdata:.3g} ms to read"
    for style, y, read_ms in zip(FORMATS.values(), first["y"], first["customdata"], strict=True):
        fig.add_scatter(x=CONTEXT, y=y, customdata=read_ms, **style.scatter(hover))
    memory = gib(H100["hbm"].value)
    fig.add_scatter(
        x=[CONTEXT[0], CONTEXT[-1]],
        y=[memory] * 2,
        **GPU_MEMORY.scatter("%{name}: %{y:.3g} GiB", "lines", named="start"),
    )
    choices = {label: [series(heads), list(range(len(FORMATS)))] for label, heads in HEADS.items()}
    return plot.finish(
        fig,
        420,
        plot.menu("Heads of keys and values", choices),
        xaxis=plot.log_axis("tokens of context", CONTEXT[::2]),
        yaxis=plot.log_axis_of_bytes(
            "cache of one sequence", [2**22, 2**25, 2**28, 2**31, 2**34, 2**37], gib, range=[-2.6, 2.9]
        ),
    )
