"""The ladder before the trick is put to use: four rungs at one N, what the bytes of one of them cost, the limit."""

import plotly.graph_objects as go

from kernels.bench.cost import three_kernels_traffic
from scripts import records
from scripts.chapters import plot

ALT = (
    "A ladder of times on a logarithmic axis, slowest on top: one key at a time, blocks of keys, three Triton kernels, "
    "what their bytes would take at the full speed of memory, the three lines of PyTorch, and "
    "the limit. Beside each time stands what part of the limit it reaches. Blocks of keys, which hold a row on the "
    "chip, take {fact=key_blocks_beside_three_lines} the three lines, which write the square; three kernels take "
    "{fact=three_kernels_beside_three_lines} them. A menu chooses the head dimension."
)
RUNGS = {
    "one_key_attention": "one key",
    "key_blocks_attention": "key blocks",
    "three_kernel_attention": "three kernels",
}
HEAD_DIMS = (64, 128, 256)
WIDTH, TOKENS, N = 2048, 16384, 512  # numbers a word, words, and words a sentence: where the record has every rung


def figure() -> go.Figure:
    choices = {str(head_dim): rungs(head_dim) for head_dim in HEAD_DIMS}
    return plot.ladder(choices, "Head dimension d", "128", accent="three lines")


def rungs(head_dim: int) -> list[plot.Rung]:
    """From the medians at N words, every query seeing every key; the bytes at the maker's bandwidth."""
    rows = plot.where(records.table("prefill_speed", f"forward_{head_dim}"), n=N, causal=False)
    median = {row["form"]: row["median"] for row in rows}
    heads, batch = WIDTH // head_dim, TOKENS // N
    bandwidth = plot.recorded_gpu("prefill_speed")["hbm bandwidth"].value
    moved = sum(step.read + step.written for step in three_kernels_traffic(N, head_dim, 2, 4, heads, batch))
    return [
        *(plot.Rung(name, median[form]) for form, name in RUNGS.items()),
        plot.Rung("their bytes", 1e3 * moved / bandwidth, measured=False),
        plot.Rung("three lines", median["attention"]),
        plot.limit_rung(N, head_dim, heads, batch),
    ]
