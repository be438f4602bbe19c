"""What each kernel of a form with a square reads from memory and writes to it: predicted, and counted in two ways."""

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from scripts import records
from scripts.figures import plot

ALT = (
    "Two bar charts, one above the other: megabytes read and megabytes written by each kernel, predicted, counted with "
    "caches flushed, and counted with caches kept. For the three lines of PyTorch, scale, softmax and the last matmul "
    "read one square each, and the counts agree with the prediction. The first matmul, scale and softmax write one "
    "square each; flushed, the counts of what is written fall short of it; kept, only that of the first matmul does, "
    "and later kernels make up for it. A menu shows the three Triton kernels instead, whose square is twice as large."
)
FORMS = {"attention": "the three lines of PyTorch", "three_kernel_attention": "three Triton kernels"}
BARS = {
    "predicted": plot.Look("predicted", "soft"),
    "flushed": plot.Look("counted, flushed", "query"),
    "kept": plot.Look("counted, kept", "key"),
}
MOVED = ["read", "written"]


def figure() -> go.Figure:
    steps = {form: [row["step"] for row in rows_of(form, "predicted")] for form in FORMS}
    heights = {form: [[row[moved] for row in rows_of(form, bar)] for moved in MOVED for bar in BARS] for form in FORMS}
    fig = make_subplots(rows=2, cols=1, shared_xaxes=True, vertical_spacing=0.1)
    places = [(panel, moved, bar) for panel, moved in enumerate(MOVED, start=1) for bar in BARS]
    for (panel, moved, bar), height in zip(places, heights["attention"], strict=True):
        fig.add_bar(
            x=steps["attention"],
            y=height,
            legendgroup=bar,
            showlegend=panel == 1,
            row=panel,
            col=1,
            **BARS[bar].trace(f"%{{x}}, {bar}: %{{y:.1f}} MB {moved}"),
        )
        fig.update_yaxes(title=f"{moved}, MB", rangemode="tozero", row=panel, col=1)
    forms = {FORMS[form]: [{"x": [steps[form]] * len(places), "y": heights[form]}] for form in FORMS}
    return plot.page(fig, plot.Frame(height=370, left=70, top=40, bottom=40), plot.menu("Form", forms), barmode="group")


def rows_of(form: str, bar: str) -> list[dict]:
    if bar == "predicted":
        return plot.where(records.table("hbm_traffic", "predicted"), form=form)
    return plot.where(records.table("hbm_traffic", "counted"), form=form, caches=bar)
