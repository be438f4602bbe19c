"""What each kernel of a form with a square reads from memory and writes to it: predicted, and counted in two ways."""

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from scripts import records

ALT = (
    "Two bar charts, one above the other: megabytes read and megabytes written by each kernel, predicted, counted with "
    "caches flushed, and counted with caches kept. For the three lines of PyTorch, scale, softmax and the last matmul "
    "read one square each, and the counts agree with the prediction. The first matmul, scale and softmax write one "
    "square each; flushed, the counts of what is written fall short of it, kept they do not. A menu shows the three "
    "Triton kernels instead, whose square is twice as large."
)
FORMS = {"attention": "the three lines of PyTorch", "three_kernel_attention": "three Triton kernels"}
BARS = [("predicted", "soft"), ("flushed", "query"), ("kept", "key")]
MOVED = ["read", "written"]


def rows_of(form: str, bar: str) -> list[dict]:
    if bar == "predicted":
        return [row for row in records.table("hbm_traffic", "predicted") if row["form"] == form]
    counted = records.table("hbm_traffic", "counted")
    return [row for row in counted if row["form"] == form and row["caches"] == bar]


def figure() -> go.Figure:
    fig = make_subplots(rows=2, cols=1, shared_xaxes=True, vertical_spacing=0.1)
    heights = {form: [] for form in FORMS}
    for panel, moved in enumerate(MOVED, start=1):
        for bar, role in BARS:
            for form in FORMS:
                heights[form].append([row[moved] for row in rows_of(form, bar)])
            fig.add_bar(
                x=[row["step"] for row in rows_of("attention", "predicted")],
                y=heights["attention"][-1],
                name=bar if bar == "predicted" else f"counted, {bar}",
                legendgroup=bar,
                showlegend=panel == 1,
                meta={"role": role},
                hovertemplate=f"%{{x}}, {bar}: %{{y:.1f}} MB {moved}<extra></extra>",
                row=panel,
                col=1,
            )
        fig.update_yaxes(title=f"{moved}, MB", rangemode="tozero", fixedrange=True, row=panel, col=1)
    buttons = []
    for form, label in FORMS.items():
        steps = [row["step"] for row in rows_of(form, "predicted")]
        args = [{"x": [steps] * len(heights[form]), "y": heights[form]}]
        buttons.append({"label": label, "method": "restyle", "args": args})
    fig.update_xaxes(fixedrange=True)
    fig.update_layout(
        template=None,
        height=420,
        barmode="group",
        margin={"l": 70, "r": 10, "t": 40, "b": 40},
        updatemenus=[{"name": "Form", "buttons": buttons}],
        legend={"orientation": "h", "x": 0.5, "xanchor": "center", "y": 1.02, "yanchor": "bottom"},
    )
    return fig
