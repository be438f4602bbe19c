"""How near each scheme comes to what the kernel alone would need: measured points, and the line of the model."""

import plotly.graph_objects as go

from kernels.bench.parallel_cost import Link, Part, ideal, predicted
from scripts import records
from scripts.figures import plot

ALT = (
    "Percent of the ideal against the tokens of a GPU on a logarithmic axis: points for a ring by peer memory, a ring "
    "by messages, an all-gather, an all-to-all and PyTorch, with the interval of their repetitions, and a line for "
    "what the model predicts of the ring by peer memory. All rise with the tokens. A menu chooses the number of GPUs "
    "and whether the backward pass is in it."
)
FORMS = {
    "ring, peer memory": plot.Look("ring, peer memory", "accent", None, "circle"),
    "ring, messages": plot.Look("ring, messages", "query", None, "circle-open"),
    "all-gather": plot.Look("all-gather", "key", None, "square-open"),
    "all-to-all": plot.Look("all-to-all", "value", None, "diamond-open"),
    "pytorch": plot.Look("PyTorch", "soft", None, "cross"),
}
LINK = Link(360e9)


def figure() -> go.Figure:
    rows = records.table("parallel_speed", "speed")
    settings = {}
    for row in rows:
        settings.setdefault(setting(row), []).append(row)
    fig, of_traces = go.Figure(), []
    for label, own in settings.items():
        for form, look in FORMS.items():
            found = sorted(plot.where(own, form=form), key=lambda row: row["tokens"])
            fig.add_scatter(
                x=[row["tokens"] for row in found],
                y=[row["percent"] for row in found],
                error_y={
                    "array": [row["high"] - row["percent"] for row in found],
                    "arrayminus": [row["percent"] - row["low"] for row in found],
                    "thickness": 1,
                },
                **look.scatter("%{name}, %{x} tokens: %{y:.3g} %", size=9),
            )
        ring = sorted(plot.where(own, form="ring, peer memory"), key=lambda row: row["tokens"])
        look = plot.Look("predicted", "accent", "dash")
        y = [model(row) for row in ring]
        fig.add_scatter(x=[row["tokens"] for row in ring], y=y, **look.scatter("predicted: %{y:.3g} %", "lines"))
        of_traces += [label] * (len(FORMS) + 1)
    tokens = sorted({row["tokens"] for row in rows})
    return plot.page(
        fig,
        plot.Frame(height=400, top=90),
        plot.switch(fig, "Setting", of_traces, next(iter(settings))),
        xaxis=plot.log("tokens a GPU", tokens, [f"{n:,}" for n in tokens]),
        yaxis={"title": "% of the ideal", "range": [0, 110]},
    )


def setting(row: dict) -> str:
    what = "with backward" if row["backward"] == "yes" else "forward"
    return f"{row['gpus']} GPUs, {what}, heads {row['heads']}/{row['kv_heads']}"


def model(row: dict) -> float:
    """Percent of the ideal that the model predicts, at the speed of the kernel that the row's ideal stands for."""
    part = Part(row["tokens"], row["heads"], row["kv_heads"], head_dim=128)
    passes = (False, True) if row["backward"] == "yes" else (False,)
    needed = sum(ideal(row["gpus"], part, speed=1, causal=True, backward=each) for each in passes)
    speed = needed / (row["ideal_ms"] / 1e3)
    how = {"speed": speed, "link": LINK, "causal": True}
    return 100 * (needed / speed) / sum(predicted(row["gpus"], part, backward=each, **how) for each in passes)
