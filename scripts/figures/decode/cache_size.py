"""How large the KV cache of one sequence is against the length of its context, in three formats."""

import plotly.graph_objects as go

from kernels.bench.cost import gib
from kernels.bench.hardware import H100
from scripts import records

ALT = (
    "Size of a cache against the tokens of its context, both axes logarithmic. Three parallel lines rise in "
    "proportion to the context: the cache of sixteen bits highest, that of eight at half of it, that of four lowest. "
    "A dashed line across is all the memory of the GPU. A menu chooses the heads of keys and values: with more of them "
    "all three lines rise, and the highest meets the dashed line at a shorter context."
)
LAYERS, COUNTED_HEADS = 32, 8  # the second as in the snippet
HEADS = [8, 32, 1]
CONTEXT = [1024 * 2**doubled for doubled in range(11)]
FORMATS = {
    "bf16": ("BF16", "query", "circle"),
    "fp8": ("FP8", "key", "square"),
    "nvfp4": ("NVFP4", "value", "diamond"),
}


def figure() -> go.Figure:
    token = {row["format"]: row["token"] for row in records.table("kv_cache_size", "formats")}

    def sizes(format: str, heads: int) -> list[float]:
        return [gib(token[format] * heads / COUNTED_HEADS * LAYERS * n) for n in CONTEXT]

    def least(format: str, heads: int) -> list[float]:
        return [1e3 * size * 2**30 / H100["hbm bandwidth"].value for size in sizes(format, heads)]

    fig = go.Figure()
    for format, (name, role, symbol) in FORMATS.items():
        fig.add_scatter(
            x=CONTEXT,
            y=sizes(format, HEADS[0]),
            customdata=least(format, HEADS[0]),
            name=name,
            mode="lines+markers",
            marker={"symbol": symbol, "size": 8},
            meta={"role": role},
            hovertemplate=f"{name}, %{{x:,}} tokens: %{{y:.3g}} GiB, at least %{{customdata:.3g}} ms to read"
            "<extra></extra>",
        )
    fig.add_scatter(
        x=[CONTEXT[0], CONTEXT[-1]],
        y=[gib(H100["hbm"].value)] * 2,
        name="all of an H100's memory",
        mode="lines",
        line_dash="dash",
        meta={"role": "accent"},
        hovertemplate="all of an H100's memory: %{y:.3g} GiB<extra></extra>",
    )
    buttons = [
        {
            "label": f"{heads} head{'s' * (heads > 1)}",
            "method": "restyle",
            "args": [
                {
                    "y": [sizes(format, heads) for format in FORMATS],
                    "customdata": [least(format, heads) for format in FORMATS],
                },
                list(range(len(FORMATS))),
            ],
        }
        for heads in HEADS
    ]
    words = {1024: "1024", 4096: "4096", 16384: "16 Ki", 65536: "64 Ki", 262144: "256 Ki", 1048576: "1 Mi"}
    ticks = {4 / 1024: "4 MiB", 32 / 1024: "32 MiB", 256 / 1024: "256 MiB", 2: "2 GiB", 16: "16 GiB", 128: "128 GiB"}
    fig.update_layout(
        template=None,
        height=420,
        margin={"l": 70, "r": 10, "t": 70, "b": 50},
        updatemenus=[{"name": "Heads of keys and values", "buttons": buttons}],
        legend={"orientation": "h", "x": 0.5, "xanchor": "center", "y": 1.02, "yanchor": "bottom"},
        xaxis={
            "type": "log",
            "title": "tokens of context (Ki = 1024)",
            "range": [2.93, 6.1],
            "tickvals": list(words),
            "ticktext": list(words.values()),
            "fixedrange": True,
        },
        yaxis={
            "type": "log",
            "title": "cache of one sequence",
            "range": [-2.6, 2.9],
            "tickvals": list(ticks),
            "ticktext": list(ticks.values()),
            "fixedrange": True,
        },
    )
    return fig
