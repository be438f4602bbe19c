"""The ladder of decode: one step in one layer, and how near each kernel and format comes to the limit of its bytes."""

import plotly.graph_objects as go

from scripts import records
from scripts.chapters import plot

ALT = (
    "A ladder of times on a logarithmic axis, slowest on top: the portable kernel on a cache of four bits; the "
    "portable kernel, our kernel for Hopper and cuDNN on one of sixteen; the kernel for Hopper on eight bits and on "
    "four; and below them the limit, which is the bytes of four bits at the maker's bandwidth. Beside each time stands "
    "what part it reaches of the limit of its own bytes. In the first setting cuDNN reaches most of it, the kernel for "
    "Hopper the less the fewer bytes a format has, and the portable kernel on four bits a small part. A menu chooses "
    "one of four settings."
)
RUNGS = {
    "portable, NVFP4": ("portable", "nvfp4"),
    "portable, BF16": ("portable", "bf16"),
    "Hopper, BF16": ("ours", "bf16"),
    "cuDNN, BF16": ("cudnn", "bf16"),
    "Hopper, FP8": ("ours", "fp8"),
    "Hopper, NVFP4": ("ours", "nvfp4"),
}


def figure() -> go.Figure:
    settings = {}
    for row in records.table("decode_speed", "decode"):
        label = f"{row['batch']} × {row['n']:,} tokens, heads {row['heads']}"  # noqa: RUF001  (a multiplication sign)
        settings.setdefault(label, []).append(row)
    choices = {label: rungs(rows) for label, rows in settings.items()}
    return plot.ladder(choices, "Setting", next(iter(choices)), accent="Hopper, NVFP4")


def rungs(rows: list[dict]) -> list[plot.Rung]:
    """The rungs of one setting; the limit of a rung is its bytes at the maker's bandwidth, far above its arithmetic."""
    measured_rungs = []
    for name, (form, cache) in RUNGS.items():
        (row,) = plot.rows_with(rows, form=form, cache=cache)
        read = row["read"] * 1e12 * row["median"]  # bytes a second, times milliseconds
        measured_rungs.append(
            plot.Rung(name, row["median"], limit=read / plot.recorded_gpu("decode_speed")["hbm bandwidth"].value)
        )
    return [*measured_rungs, plot.Rung("the limit of its own bytes", measured_rungs[-1].limit, measured=False)]
