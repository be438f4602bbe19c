"""The ladder complete: peak memory of every form that was measured, a form a line, at one length after the other."""

import plotly.graph_objects as go

from kernels.bench.cost import mib
from scripts import records
from scripts.chapters import plot

ALT = (
    "Peak memory of one head on a logarithmic axis, a form a line: the three lines and the three kernels, equal, and "
    "far to the right wherever the words are many; then SDPA's flash, memory-efficient and cuDNN backends and our "
    "FlashAttention, far to the left and all but equal, except that flash takes more while the words are few. At the "
    "greatest length the forms with the square are marked as out of memory. In training our FlashAttention takes "
    "least. A menu chooses the pass and the number of words."
)
FORMS = {  # form -> its name on the axis
    "attention": "three lines",
    "three_kernel_attention": "three kernels",
    "sdpa_flash": "SDPA flash",
    "sdpa_efficient": "SDPA efficient",
    "sdpa_cudnn": "SDPA cuDNN",
    "flash_attention": "FlashAttention",
}
STYLES = {  # style -> the forms that have it
    plot.Style("with the square", "ink"): ("attention", "three_kernel_attention"),
    plot.Style("PyTorch, fused"): ("sdpa_flash", "sdpa_efficient", "sdpa_cudnn"),
    plot.Style("ours, fused", "accent"): ("flash_attention",),
}
FAILED = plot.Style("out of memory", "ink", symbol="x")
PASSES = {"forward": "forward", "forward and backward": "training"}
SHOWN = "forward, N = 65,536"


def figure() -> go.Figure:
    choices = {
        f"{label}, N = {n:,}": points(records.table("prefill_memory", name), n)
        for label, name in PASSES.items()
        for n in dict.fromkeys(row["n"] for row in records.table("prefill_memory", name))
    }
    fig = go.Figure()
    for style, points_of_style in zip([*STYLES, FAILED], choices[SHOWN], strict=True):
        hover = "%{y}, %{name}" if style is FAILED else "%{y}, %{name}: %{x:,.5g} MiB"
        side = "middle left" if style is FAILED else "middle right"
        fig.add_scatter(**points_of_style, textposition=side, **style.scatter(hover, "markers+text", 11, named=None))
    trace_numbers = list(range(len(fig.data)))
    menu_choices = {
        label: [{key: [each[key] for each in drawn] for key in ("x", "y", "text")}, trace_numbers]
        for label, drawn in choices.items()
    }
    names = list(FORMS.values())
    return plot.finish(
        fig,
        330,
        plot.menu("What is measured", menu_choices, SHOWN),
        xaxis=plot.log_axis_of_bytes("peak memory", [2**20, 2**25, 2**30, 2**35], mib, range=[-0.9, 6.6]),
        yaxis=plot.name_axis(categoryorder="array", categoryarray=names),
    )


def points(rows: list[dict], n: int) -> list[dict]:
    """Peaks at one length, by style, and last the forms that ran out of memory.

    These are drawn at four times the last peak that fitted, since the square grows so with twice the length.
    """
    row_by_form = {row["form"]: row for row in plot.rows_with(rows, n=n)}
    fitted = [
        [form for form in forms if form in row_by_form and not row_by_form[form]["out_of_memory"]]
        for forms in STYLES.values()
    ]
    failed = [form for form, row in row_by_form.items() if row["out_of_memory"]]
    last_peak = max(row["peak"] for row in plot.rows_with(rows, form="attention", out_of_memory=False))
    drawn = [([row_by_form[form]["peak"] for form in forms_drawn], forms_drawn, None) for forms_drawn in fitted]
    drawn.append(([4 * last_peak for _ in failed], failed, "out of memory"))
    return [
        {"x": x, "y": [FORMS[form] for form in forms_drawn], "text": [f" {label or size_text(peak)} " for peak in x]}
        for x, forms_drawn, label in drawn
    ]


def size_text(mebibytes: float) -> str:
    return f"{mebibytes / 1024:.4g} GiB" if mebibytes >= 1024 else f"{mebibytes:.4g} MiB"
