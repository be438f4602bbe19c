"""Percent of the ideal speed that each scheme reaches, against tokens: measured points, and a predicted line."""

from collections.abc import Iterator

import plotly.graph_objects as go

from kernels.bench.parallel.cost import Link, Part, ideal_seconds, predict_seconds
from scripts import records
from scripts.chapters import plot

ALT = (
    "Percent of the measured ideal against the tokens of a GPU on a logarithmic axis, the forms of a length side by "
    "side: points for a ring by peer memory, a ring by messages, an all-gather, an all-to-all and PyTorch, with the "
    "interval of their repetitions, and a line for the model of the ring by peer memory. With few tokens and few heads "
    "the ring comes near the ideal only as a graph, with many tokens as it is. On two GPUs PyTorch stays below the "
    "ring throughout. A menu has every setting that was measured, each named by its number of GPUs, its heads and "
    "whether the backward pass is in it."
)
FORMS = {
    "ring, peer memory": plot.Style("peer memory", "accent"),
    "ring, peer memory, as a graph": plot.Style("as a graph", "accent", symbol="star"),
    "ring, messages": plot.Style("messages", "ink"),
    "all-gather": plot.Style("all-gather", symbol="square"),
    "all-to-all": plot.Style("all-to-all", symbol="diamond"),
    "pytorch": plot.Style("PyTorch", symbol="cross"),
}
LINK = Link(360e9)
SPACING = 1.07  # from one form to the next, of one length, so that the intervals can be told
HEAD_DIM = 128
PASSES_OF_TABLE = {"forward": "forward", "longest": "forward", "both": "with backward", "longest_both": "with backward"}
IS_BACKWARD = {"forward": (False,), "with backward": (False, True)}  # whether each of these passes is backward


def figure() -> go.Figure:
    settings = {}
    for row, passes in measured_rows():
        settings.setdefault(setting(row, passes), []).append(row)
    fig, labels = go.Figure(), []
    for label, rows in settings.items():
        for index, (form, style) in enumerate(FORMS.items()):
            form_rows = sorted(plot.rows_with(rows, form=form), key=lambda row: row["tokens"])
            form_rows = [row for row in form_rows if row["percent"] is not None]
            if not form_rows:
                continue
            fig.add_scatter(
                x=[row["tokens"] * SPACING ** (index - len(FORMS) // 2) for row in form_rows],
                customdata=[f"{row['tokens']:,}" for row in form_rows],
                y=[row["percent"] for row in form_rows],
                error_y=plot.error_bars(form_rows, "percent"),
                **style.scatter("%{name}, %{customdata} tokens: %{y:.3g} %", "markers", size=9),
            )
            labels.append(label)
        ring = sorted(plot.rows_with(rows, form="ring, peer memory"), key=lambda row: row["tokens"])
        line = {row["tokens"]: row["predicted_percent"] for row in ring if row["predicted_percent"] is not None}
        style = plot.Style("predicted", predicted=True)
        fig.add_scatter(
            x=list(line),
            y=list(line.values()),
            **style.scatter("predicted, %{x} tokens: %{y:.3g} %", named="start"),
        )
        labels.append(label)
    tokens = sorted({row["tokens"] for rows in settings.values() for row in rows})
    return plot.finish(
        fig,
        360,
        plot.trace_menu(fig, "Setting", labels, labels[0]),
        xaxis=plot.log_axis("tokens a GPU", tokens, [f"{n // 1024} Ki" for n in tokens]),
        yaxis={"title": "% of the measured ideal", "range": [20, 120]},
    )


def measured_rows() -> Iterator[tuple[dict, str]]:
    """(row, its passes), each row with ``predicted_percent`` added: two GPUs, then more, if these have run."""
    for table, passes in PASSES_OF_TABLE.items():
        for row in records.table("parallel_speed", table):
            yield row | {"predicted_percent": predicted_percent(row, IS_BACKWARD[passes])}, passes
    for row in rows_of_more_gpus():
        times = row["predicted"], row["ideal"]
        percent = None if None in times else 100 * row["ideal"] / row["predicted"]
        added = {"heads": 16, "kv_heads": 16, "predicted_percent": percent}
        yield row | added, "with backward" if row["backward"] == "yes" else "forward"


def rows_of_more_gpus() -> list[dict]:
    """The rows of more than two GPUs; none while that run is awaited, and the figure is drawn without them."""
    try:
        records.read("more_gpus")
    except records.Missing:
        return []
    return records.table("more_gpus", "measured")


def setting(row: dict, passes: str) -> str:
    """What the menu calls the setting of a row."""
    return f"{row['gpus']} GPUs, heads {row['heads']}/{row['kv_heads']}, {passes}"


def predicted_percent(row: dict, is_backward: tuple[bool, ...]) -> float:
    """Percent of the ideal that the model predicts, at the speed of the kernels that the row's ideal stands for."""
    gpus, part = row["gpus"], Part(row["tokens"], row["heads"], row["kv_heads"], HEAD_DIM)
    work_seconds = sum(ideal_seconds(gpus, part, speed=1, causal=True, backward=each) for each in is_backward)
    options = {"speed": work_seconds / (row["ideal"] / 1e3), "link": LINK, "causal": True}
    return row["ideal"] / 10 / sum(predict_seconds(gpus, part, backward=each, **options) for each in is_backward)
