"""The ladder complete: peak memory of every form that was measured, against N."""

import plotly.graph_objects as go

from kernels.bench.cost import mib
from scripts import records
from scripts.figures import plot

ALT = (
    "Peak memory of one head against the number of words, both axes logarithmic. The three lines and the three "
    "kernels lie on one steep line and end in a cross, out of memory. Far below, on a line that rises half as steeply, "
    "lie our FlashAttention and the fused backends of SDPA, on each other but for the flash backend, which lies above "
    "them while the words are few. In training our FlashAttention takes least. A menu chooses forward or training."
)
FORMS = {
    "attention": plot.Look("three lines", "accent", "solid", "circle"),
    "three_kernel_attention": plot.Look("three kernels", "accent", "dot", "square-open"),
    "sdpa_efficient": plot.Look("SDPA efficient", "value", "dot", "triangle-up"),
    "sdpa_flash": plot.Look("SDPA flash", "value", "dash", "diamond"),
    "sdpa_cudnn": plot.Look("SDPA cuDNN", "key", "solid", "diamond-open"),
    "flash_attention": plot.Look("FlashAttention", "query", "solid", "circle"),
}
FAILED = plot.Look("out of memory", "accent", "solid", "x")
PASSES = {"forward only": "forward", "forward and backward": "training"}


FRAME = plot.Frame(height=420, left=64, right=100)
RANGE = [-0.9, 5.6]  # powers of ten


def figure() -> go.Figure:
    passes = {label: drawn(records.table("prefill_memory", name)) for label, name in PASSES.items()}
    first = next(iter(passes.values()))
    looks = [*FORMS.values(), FAILED]
    fig = go.Figure()
    for look, x, y in zip(looks, first["x"], first["y"], strict=False):
        if look is FAILED:
            trace = look.scatter("%{name}, N = %{x:,}", "markers", size=12)
        else:
            trace = look.scatter("%{name}, N = %{x:,}: %{y:,.4g} MiB", size=8)
        fig.add_scatter(x=x, y=y, **trace)
    plot.name_curves(fig, looks, {axis: values[len(looks) :] for axis, values in first.items()})
    every = list(range(len(fig.data)))
    return plot.page(
        fig,
        FRAME,
        plot.menu("What is measured", {label: [filled, every] for label, filled in passes.items()}),
        legend=None,
        xaxis=plot.log_words("words N (Ki = 1024)", 2**18, range=[2.9, 5.55]),
        yaxis=plot.log_sizes("peak memory", [2**20, 2**25, 2**30, 2**35], mib, range=RANGE),
    )


def drawn(rows: list[dict]) -> dict[str, list]:
    """x and y of every curve, and behind these of every name."""
    curves = points(rows)
    names = plot.beside(list(zip(curves["x"], curves["y"], strict=True)), RANGE[1] - RANGE[0], FRAME.inner)
    return {axis: values + names[axis] for axis, values in curves.items()}


def points(rows: list[dict]) -> dict[str, list[list]]:
    """Length and peak of every form, and at last where the three lines ran out of memory.

    That is drawn at four times the last peak that fitted, which is what the square makes of twice the length.
    """
    fitted = {form: plot.where(rows, form=form, out_of_memory=False) for form in FORMS}
    failed = [row["n"] for row in plot.where(rows, form="attention", out_of_memory=True)]
    last = fitted["attention"][-1]["peak"]
    return {
        "x": [[row["n"] for row in own] for own in fitted.values()] + [failed],
        "y": [[row["peak"] for row in own] for own in fitted.values()] + [[4 * last for _ in failed]],
    }
