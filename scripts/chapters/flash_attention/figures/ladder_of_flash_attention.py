"""The whole ladder: every rung, and PyTorch's fastest backend, with the part of the limit that each reaches."""

import plotly.graph_objects as go

from scripts import records
from scripts.chapters import plot
from scripts.chapters.prefill_speed import TOKENS, WIDTH

ALT = (
    "A ladder of times on a logarithmic axis, slowest on top: one key and key blocks, far to the right; three kernels; "
    "the three lines; then, far to the left and close together, our FlashAttention and SDPA's cuDNN backend; and the "
    "limit. Beside each time stands what part of the limit it reaches. A menu chooses the number of words. One key and "
    "key blocks are there for few words only. With many words our FlashAttention and cuDNN reach more than half of the "
    "limit, the three lines a small part."
)
RUNGS = {  # form -> its name on the axis
    "one_key_attention": "one key",
    "key_blocks_attention": "key blocks",
    "three_kernel_attention": "three kernels",
    "attention": "three lines",
    "flash_attention": "FlashAttention",
    "sdpa_cudnn": "SDPA cuDNN",
}
HEAD_DIM = 128
HEADS = WIDTH // HEAD_DIM


def figure() -> go.Figure:
    rows = plot.rows_with(records.table("prefill_speed", f"forward_{HEAD_DIM}"), causal=False)
    choices = {}
    for n in dict.fromkeys(row["n"] for row in rows):
        median = {row["form"]: row["median"] for row in plot.rows_with(rows, n=n)}
        rungs = [plot.Rung(name, median[form]) for form, name in RUNGS.items() if form in median]
        choices[str(n)] = [*rungs, plot.limit_rung(n, HEAD_DIM, HEADS, TOKENS // n)]
    return plot.ladder(choices, "Words N", "512", accent="FlashAttention")
