"""How near each scheme comes to what the kernel alone would need: measured points, and the line of the model."""

import plotly.graph_objects as go

from kernels.bench.parallel_cost import Link, Part, ideal, predicted
from scripts import records
from scripts.figures import plot

ALT = (
    "Percent of the ideal against the tokens of a GPU on a logarithmic axis: points for a ring by peer memory, a ring "
    "by messages, an all-gather, an all-to-all and PyTorch, with the interval of their repetitions, and a line for "
    "what the model predicts of the ring by peer memory. All rise with the tokens. A menu chooses the heads and "
    "whether the backward pass is in it."
)
FORMS = {
    "ring, peer memory": plot.Look("ring, peer memory", "accent", None, "circle"),
    "ring, messages": plot.Look("ring, messages", "query", None, "circle-open"),
    "all-gather": plot.Look("all-gather", "key", None, "square-open"),
    "all-to-all": plot.Look("all-to-all", "value", None, "diamond-open"),
    "pytorch": plot.Look("PyTorch", "soft", None, "cross"),
}
LINK = Link(360e9)
HEAD_DIM = 128
PASSES = {"forward": (False,), "both": (False, True)}  # table -> the passes in it, whether backward


def figure() -> go.Figure:
    settings = {}
    for table in PASSES:
        for row in records.table("parallel_speed", table):
            settings.setdefault((setting(row, table), table), []).append(row)
    fig, of_traces = go.Figure(), []
    for (label, table), rows in settings.items():
        for form, look in FORMS.items():
            found = sorted(plot.where(rows, form=form), key=lambda row: row["tokens"])
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
        ring = sorted(plot.where(rows, form="ring, peer memory"), key=lambda row: row["tokens"])
        look = plot.Look("predicted", "accent", "dash")
        y = [model(row, PASSES[table]) for row in ring]
        fig.add_scatter(x=[row["tokens"] for row in ring], y=y, **look.scatter("predicted: %{y:.3g} %", "lines"))
        of_traces += [label] * (len(FORMS) + 1)
    tokens = sorted({row["tokens"] for rows in settings.values() for row in rows})
    return plot.page(
        fig,
        plot.Frame(height=400, top=90),
        plot.switch(fig, "Setting", of_traces, of_traces[0]),
        xaxis=plot.log("tokens a GPU", tokens, [f"{n:,}" for n in tokens]),
        yaxis={"title": "% of the ideal", "range": [0, 120]},
    )


def setting(row: dict, table: str) -> str:
    what = "with backward" if table == "both" else "forward"
    return f"{row['gpus']} GPUs, heads {row['heads']}/{row['kv_heads']}, {what}"


def model(row: dict, passes: tuple[bool, ...]) -> float:
    """Percent of the ideal that the model predicts, at the speed of the kernels that the row's ideal stands for."""
    gpus, part = row["gpus"], Part(row["tokens"], row["heads"], row["kv_heads"], HEAD_DIM)
    needed = sum(ideal(gpus, part, speed=1, causal=True, backward=each) for each in passes)
    how = {"speed": needed / (row["ideal"] / 1e3), "link": LINK, "causal": True}
    return row["ideal"] / 10 / sum(predicted(gpus, part, backward=each, **how) for each in passes)
