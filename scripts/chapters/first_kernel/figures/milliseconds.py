"""Where the milliseconds go: the first kernel, and what the next chapters make of it."""

from math import log10

import plotly.graph_objects as go

from scripts import records
from scripts.chapters import plot

ALT = (
    "A ladder of times with the slowest on top, on a logarithmic axis: one key at a time, blocks of keys, many queries "
    "at a time without a row, and the kernel of cuDNN. Each bar is on a track as long as the axis."
)
N, HEAD_DIM = 512, 128  # as in prefill_speed
FORMS = {  # name -> form
    "one key at a time": "one_key_attention",
    "32 keys": "key_blocks_attention",
    "many queries, no row": "flash_attention",
    "overlap: cuDNN": "sdpa_cudnn",
}
LEAST, MOST, TICKS = 0.02, 200, [0.1, 1, 10, 100]  # ms; where bars begin, and where their tracks end


def figure() -> go.Figure:
    rows = plot.where(records.table("prefill_speed", f"forward_{HEAD_DIM}"), n=N, causal=False)
    median = {row["form"]: row["median"] for row in rows}
    fig = go.Figure()
    fig.add_bar(x=[100] * len(FORMS), y=list(FORMS), orientation="h", hoverinfo="skip", meta={"role": "faint"})
    for name, form in FORMS.items():
        spent = median[form]
        text = [f"<b>{spent:.{0 if spent >= 1 else 2}f} ms</b>"]
        look = plot.Style(name, "accent" if form == "one_key_attention" else "grey")
        bars = look.bars("%{name}: %{customdata:.3g} ms", "value")
        fig.add_bar(x=[place(spent)], y=[name], customdata=[spent], text=text, **bars)
    ticks = {"tickvals": [place(tick) for tick in TICKS], "ticktext": [f"{tick:g}" for tick in TICKS]}
    axes = {"xaxis": {"title": "milliseconds", "range": [0, 100], **ticks}, "yaxis": plot.name_axis()}
    return plot.finish(fig, 220, barmode="overlay", bargap=0.3, **axes)


def place(time: float) -> float:
    """How long the bar of a time is, in percent of its track: each tenfold adds the same."""
    return 100 * log10(time / LEAST) / log10(MOST / LEAST)
