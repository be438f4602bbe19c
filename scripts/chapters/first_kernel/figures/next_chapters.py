"""What the next chapters win: the same work by four kernels of ours and PyTorch's, as bars to scale."""

import plotly.graph_objects as go

from scripts import records
from scripts.chapters import plot
from scripts.chapters.prefill_speed import N

ALT = (
    "Five bars on tracks of one length, each as long as its time: one key at a time, many keys, three lines of "
    "PyTorch, many queries, and PyTorch's fastest. The last three are slivers."
)
NAMES = {
    "one_key_attention": "one key at a time",
    "key_blocks_attention": "chapter 6",
    "attention": "three lines of PyTorch",
    "flash_attention": "chapter 8",
    "sdpa_cudnn": "cuDNN",
}


def figure() -> go.Figure:
    rows = plot.rows_with(records.table("prefill_speed", "forward_128"), n=N, causal=False)
    medians = {row["form"]: row["median"] for row in rows}
    fig = go.Figure()
    track = {"x": [max(medians.values())] * len(NAMES), "y": [*NAMES.values()]}
    fig.add_bar(**track, orientation="h", hoverinfo="skip", meta={"role": "faint"})
    for form, name in NAMES.items():
        ms = medians[form]
        bar = plot.Style(name, "accent" if form == "one_key_attention" else "grey").bars("%{y}: %{x:.3g} ms", "value")
        fig.add_bar(x=[ms], y=[name], text=[f"<b>{ms:.{0 if ms > 10 else 2}f} ms</b>"], **bar)
    axes = {"xaxis": {"visible": False}, "yaxis": plot.name_axis()}
    return plot.finish(fig, 210, barmode="overlay", bargap=0.3, margin={"b": 4}, **axes)
