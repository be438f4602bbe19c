"""The ladder complete: every rung and every backend of SDPA, with the part of the limit that each reaches."""

import plotly.graph_objects as go

from scripts import records
from scripts.figures import plot

ALT = (
    "A ladder of times on a logarithmic axis, slowest on top: one key and key blocks, far to the right; SDPA's math "
    "backend; three kernels; the three lines; then the memory-efficient backend, the flash backend, our "
    "FlashAttention and cuDNN, close together; and the limit. Beside each time stands what part of the limit it "
    "reaches. A menu chooses the number of words. One key and key blocks are there for few words only. With many "
    "words our FlashAttention and cuDNN reach more than half of the limit, the three lines a small part."
)
FORMS = {
    "one_key_attention": "one key",
    "key_blocks_attention": "key blocks",
    "sdpa_math": "SDPA math",
    "three_kernel_attention": "three kernels",
    "attention": "three lines",
    "sdpa_efficient": "SDPA efficient",
    "sdpa_flash": "SDPA flash",
    "flash_attention": "FlashAttention",
    "sdpa_cudnn": "SDPA cuDNN",
}
HEADS, HEAD_DIM, TOKENS = 16, 128, 16384


def figure() -> go.Figure:
    rows = plot.where(records.table("prefill_speed", f"forward_{HEAD_DIM}"), causal=False)
    choices = {}
    for n in dict.fromkeys(row["n"] for row in rows):
        took = {row["form"]: row["median"] for row in plot.where(rows, n=n)}
        rungs = [plot.Rung(name, took[form]) for form, name in FORMS.items() if form in took]
        choices[str(n)] = [*rungs, plot.limit(n, HEAD_DIM, HEADS, TOKENS // n)]
    xaxis = plot.log("milliseconds", [0.1, 1, 10, 100], range=[-1.6, 2.3])
    return plot.ladder(choices, "Words N", "512", xaxis)
