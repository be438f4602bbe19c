"""A ladder for decode, computed: the least time to read a cache in three formats, and in four bits with no scale."""

import plotly.graph_objects as go

from scripts import records
from scripts.chapters import plot

ALT = (
    "A ladder of times on a logarithmic axis, slowest on top: the least time to read a cache of sixteen bits, of eight "
    "and of four with their scales, and the limit, which is that of four bits and no scale. Eight bits take half as "
    "long as sixteen, and four with scales a little more than half as long as eight, close to the limit. Beside each "
    "time stands what part of the limit it reaches. None is measured. A menu chooses the words of the text."
)
FORMATS = {"bf16": "16 bits", "fp8": "FP8", "nvfp4": "NVFP4"}


def figure() -> go.Figure:
    choices = {}
    for row in records.table("kv_cache_size", "model"):
        if row["format"] in FORMATS:
            rung = plot.Rung(FORMATS[row["format"]], row["least_read_time"], measured=False)
            choices.setdefault(f"{row['tokens']:,}", []).append(rung)
    for rungs in choices.values():
        rungs.append(plot.Rung("the limit", rungs[0].time * 4 / 16, measured=False))
    *_, last_choice = choices
    return plot.ladder(choices, "Words", last_choice, accent="NVFP4")
