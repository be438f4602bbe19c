"""The times of this chapter's kernel and of those that the next chapters write, for the same work, in one run."""

import plotly.graph_objects as go

from scripts import records
from scripts.chapters import plot
from scripts.chapters.prefill_speed import N

ALT = (
    "Bars of times, each on a track that ends where this chapter's kernel does. Its own bar fills the track. That of "
    "the next chapter, which takes blocks of keys, fills a part of it. The three below, of PyTorch, of FlashAttention "
    "and of cuDNN, look like lines."
)
THIS = "5 · one key"
RUNGS = {  # form -> its chapter, and its name
    "one_key_attention": THIS,
    "key_blocks_attention": "6 · 32 keys",
    "attention": "PyTorch, three lines",
    "flash_attention": "8 · many queries",
    "sdpa_cudnn": "9 · cuDNN",
}


def figure() -> go.Figure:
    rows = plot.rows_with(records.table("prefill_speed", "forward_128"), n=N, causal=False)
    median = {row["form"]: row["median"] for row in rows}
    times = {name: median[form] for form, name in RUNGS.items()}
    fig = go.Figure()
    track = [times[THIS]] * len(times)
    fig.add_bar(x=track, y=list(times), orientation="h", hoverinfo="skip", name="", meta={"role": "faint"})
    for role in ("grey", "accent"):
        some = {name: time for name, time in times.items() if (name == THIS) == (role == "accent")}
        texts = [f"<b>{in_digits(time)}</b> ms" for time in some.values()]
        bars = plot.Style("", role).bars("%{y}: %{x:.3g} ms", "value")
        fig.add_bar(x=list(some.values()), y=list(some), text=texts, **bars)
    axes = {"xaxis": {"range": [0, 1.001 * times[THIS]], "visible": False}, "yaxis": plot.name_axis()}
    return plot.finish(fig, 180, barmode="overlay", bargap=0.3, margin={"b": 4, "r": 2}, **axes)


def in_digits(milliseconds: float) -> str:
    """As many as the text gives: none from ten on, two below one."""
    return f"{milliseconds:.0f}" if milliseconds >= 10 else f"{milliseconds:.2f}"
