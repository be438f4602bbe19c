"""Peak memory of the three lines and of FlashAttention against N, predicted and measured, and where it runs out."""

import plotly.graph_objects as go

from kernels.bench.cost import eager_peak_bytes, fused_peak_bytes, mib
from scripts import records

ALT = (
    "Peak memory of one head against the number of words, both axes logarithmic. Two predicted lines: that of the "
    "three lines of code rises fourfold at each doubling of the words, that of FlashAttention twofold. The measured "
    "points of both forms lie on their lines. Close beyond the last point of the three lines of code stands a cross: "
    "there they ran out of memory. FlashAttention ran at the same length, far below, and at lengths beyond it. "
    "PyTorch's flash backend lies above the line of FlashAttention while the words are few, and joins it later."
)
HEAD_DIM, ELEMENT_BYTES = 128, 2  # of the snippet
WORDS = [1024 * 2**doubled for doubled in range(11)]
MEASURED = [("attention", "three lines", "accent", "circle"), ("flash_attention", "FlashAttention", "query", "square")]
LIBRARY = ("sdpa_flash", "PyTorch's flash backend", "value", "diamond-open")


def figure() -> go.Figure:
    rows = records.table("prefill_memory", "forward")
    tried = records.table("balloon", "limit")
    longest = tried[-1]["longest"]
    at_the_limit = {row["n"]: row for row in tried if row["n"] in (longest, longest + tried[-1]["gap"])}
    fig = go.Figure()
    for count, name, role in [
        (eager_peak_bytes, "three lines, predicted", "accent"),
        (fused_peak_bytes, "FlashAttention, predicted", "query"),
    ]:
        fig.add_scatter(
            x=WORDS,
            y=[mib(count(n, HEAD_DIM, ELEMENT_BYTES)) for n in WORDS],
            name=name,
            mode="lines",
            line_dash="dot",
            meta={"role": role},
            hovertemplate="N = %{x:,}, predicted: %{y:,.4g} MiB<extra></extra>",
        )
    for form, name, role, symbol in [*MEASURED, LIBRARY]:
        measured = {row["n"]: row["peak"] for row in rows if row["form"] == form}
        column = {"attention": "peak", "flash_attention": "fused"}.get(form)
        measured |= {n: row[column] for n, row in at_the_limit.items() if column}
        fig.add_scatter(
            x=[n for n in sorted(measured) if measured[n]],
            y=[measured[n] for n in sorted(measured) if measured[n]],
            name=f"{name}, measured",
            mode="markers",
            marker={"symbol": symbol, "size": 9},
            meta={"role": role},
            hovertemplate=f"N = %{{x:,}}, {name}: %{{y:,.4g}} MiB<extra></extra>",
        )
    failed = at_the_limit[max(at_the_limit)]
    fig.add_scatter(
        x=[failed["n"]],
        y=[failed["expected"]],
        name="three lines, out of memory",
        mode="markers",
        marker={"symbol": "x", "size": 13},
        meta={"role": "accent"},
        hovertemplate="N = %{x:,}: out of memory; %{y:,.4g} MiB would be needed<extra></extra>",
    )
    words = {1024: "1024", 4096: "4096", 16384: "16 Ki", 65536: "64 Ki", 262144: "256 Ki", 1048576: "1 Mi"}
    sizes = {1: "1 MiB", 32: "32 MiB", 2**10: "1 GiB", 2**15: "32 GiB", 2**20: "1 TiB"}
    fig.update_layout(
        template=None,
        height=420,
        margin={"l": 64, "r": 10, "t": 10, "b": 50},
        xaxis={
            "type": "log",
            "title": "words N (Ki = 1024)",
            "range": [2.9, 6.15],
            "tickvals": list(words),
            "ticktext": list(words.values()),
        },
        yaxis={"type": "log", "title": "peak memory", "tickvals": list(sizes), "ticktext": list(sizes.values())},
        legend={"orientation": "h", "x": 0.5, "xanchor": "center", "y": 1.02, "yanchor": "bottom"},
    )
    fig.update_xaxes(fixedrange=True)
    fig.update_yaxes(fixedrange=True)
    return fig
