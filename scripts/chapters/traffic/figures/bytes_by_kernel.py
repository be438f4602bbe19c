"""What each kernel of a form with a square reads from memory and writes to it: predicted, and counted in two ways."""

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from scripts import records
from scripts.chapters import plot

ALT = (
    "Two bar charts, one above the other: megabytes read and megabytes written by each kernel, predicted, counted with "
    "caches flushed, and counted with caches kept. For the three lines of PyTorch, scale, softmax and the last matmul "
    "read one square each, and the counts agree with the prediction. The first matmul, scale and softmax write one "
    "square each; flushed, the counts of what is written fall short of it; kept, only that of the first matmul does, "
    "and later kernels make up for it. A menu shows the three Triton kernels instead, whose square is twice as large."
)
FORMS = {"attention": "the three lines of PyTorch", "three_kernel_attention": "three Triton kernels"}
STYLES = {
    "predicted": plot.Style("predicted", "ink", predicted=True),
    "flushed": plot.Style("counted, flushed", "accent"),
    "kept": plot.Style("counted, kept", symbol="diamond"),
}
DIRECTIONS = ["read", "written"]


def figure() -> go.Figure:
    steps = {form: [row["step"] for row in rows_of(form, "predicted")] for form in FORMS}
    sizes = {
        form: [[row[direction] for row in rows_of(form, how)] for direction in DIRECTIONS for how in STYLES]
        for form in FORMS
    }
    fig = make_subplots(rows=2, cols=1, shared_xaxes=True, vertical_spacing=0.16)
    places = [(panel, direction, how) for panel, direction in enumerate(DIRECTIONS, start=1) for how in STYLES]
    for (panel, direction, how), size in zip(places, sizes["attention"], strict=True):
        style, hover = STYLES[how], f"%{{y}}, {how}: %{{x:.1f}} MB {direction}"
        bars = {"x": size, "y": steps["attention"], "row": panel, "col": 1}
        if style.predicted:
            fig.add_bar(**bars, **style.bars(hover))
        else:
            fig.add_scatter(**bars, **style.scatter(hover, "markers", size=11, named="end" if panel == 1 else None))
        fig.update_yaxes(plot.name_axis(f"MB {direction}"), row=panel, col=1)
    fig.update_xaxes(rangemode="tozero")
    forms = {FORMS[form]: [{"x": sizes[form], "y": [steps[form]] * len(places)}] for form in FORMS}
    return plot.finish(fig, 400, plot.menu("Form", forms), bargap=0.35)


def rows_of(form: str, how: str) -> list[dict]:
    """A row for each kernel of a form: predicted, or counted with caches flushed or kept."""
    if how == "predicted":
        return plot.rows_with(records.table("hbm_traffic", "predicted"), form=form)
    return plot.rows_with(records.table("hbm_traffic", "counted"), form=form, caches=how)
