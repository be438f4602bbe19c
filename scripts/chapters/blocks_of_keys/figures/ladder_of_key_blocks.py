"""The ladder after chapter 6: each rung so far for the same work, all in one run, a fused kernel and the limit."""

import plotly.graph_objects as go

from scripts import records
from scripts.chapters import plot
from scripts.chapters.prefill_speed import HEAD_DIMS, TOKENS, WIDTH, N

ALT = (
    "A ladder of times on a logarithmic axis, slowest on top: one key at a time, blocks of keys, three Triton kernels, "
    "the three lines of PyTorch, the fastest fused kernel that PyTorch has, and the limit of the chip. Beside each "
    "time stands what part of the limit it reaches. Blocks of keys are faster than one key at a time. Both forms that "
    "write the square of scores are faster than either by an order of magnitude, and the fused kernel alone comes near "
    "the limit. A menu chooses the head dimension; the larger it is, the smaller the lead of the blocks over the "
    "single key."
)
RUNGS = {  # form -> its name on the axis
    "one_key_attention": "one key",
    "key_blocks_attention": "key blocks",
    "three_kernel_attention": "three kernels",
    "attention": "three lines",
}


def figure() -> go.Figure:
    choices = {str(head_dim): rungs(head_dim) for head_dim in HEAD_DIMS}
    return plot.ladder(choices, "Head dimension d", "128", accent="key blocks")


def rungs(head_dim: int) -> list[plot.Rung]:
    """Every query sees every key."""
    rows = plot.rows_with(records.table("prefill_speed", f"forward_{head_dim}"), n=N, causal=False)
    median = {row["form"]: row["median"] for row in rows}
    return [
        *(plot.Rung(name, median[form]) for form, name in RUNGS.items()),
        plot.fastest_fused(median),
        plot.limit_rung(N, head_dim, WIDTH // head_dim, TOKENS // N),
    ]
