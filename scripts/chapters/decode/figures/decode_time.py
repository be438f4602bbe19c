"""How long one step of decode takes against the bytes that it must read, and the line of HBM's bandwidth."""

import plotly.graph_objects as go

from scripts import records
from scripts.chapters import plot

ALT = (
    "Milliseconds against gigabytes that a step must read, both from zero. Two straight lines rise from the corner: "
    "the bytes by the maker's bandwidth and, a little above it, by what a sum reached. A point is one form of decode: "
    "cuDNN and flash on keys and values of sixteen bits, and two kernels of ours on caches of sixteen, eight and four. "
    "cuDNN and our Hopper kernel on sixteen bits lie close to the lines; on eight bits it lies a little above them, on "
    "four further above, hardly lower than on eight. The portable kernel lies above them in sixteen bits; with fewer "
    "bytes it rises, and with four bits it is highest. A menu chooses one of four settings, or all."
)
FORMS = {
    "cudnn": plot.Style("cuDNN, BF16", "ink", symbol="square"),
    "flash": plot.Style("flash, BF16", symbol="diamond"),
    "portable": plot.Style("portable", symbol="triangle-up"),
    "ours": plot.Style("for Hopper", "accent"),
}
FORMATS = {"bf16": "BF16", "fp8": "FP8", "nvfp4": "NVFP4"}


def figure() -> go.Figure:
    rows = records.table("decode_speed", "decode")
    (sum_row,) = records.table("decode_speed", "sum")
    settings = {}
    for row in rows:
        settings.setdefault(setting(row), []).append(row)
    settings["all four"] = rows

    fig = go.Figure()
    maker_speed = plot.recorded_gpu("decode_speed")["hbm bandwidth"].value / 1e12
    lines = [("the maker's bandwidth", True, maker_speed), ("a sum", False, sum_row["read"])]
    end_gigabytes = 1.2 * max(map(gigabytes, rows))
    for name, predicted, speed in lines:
        style = plot.Style(name, predicted=predicted)
        hover = f"%{{name}}, {speed:.2f} TB/s"
        fig.add_scatter(
            x=[0, end_gigabytes],
            y=[0, end_gigabytes / speed],
            **style.scatter(hover, "lines", named="above" if predicted else None),
        )
    hover = "%{name}, %{customdata[0]}: %{y:.3g} ms for %{x:.3g} GB, error %{customdata[1]:.2g} %"
    first = points(next(iter(settings.values())))
    for index, style in enumerate(FORMS.values()):
        form_values = {attribute: values[index] for attribute, values in first.items()}
        fig.add_scatter(
            textposition="top center",
            **form_values,
            **style.scatter(hover, "markers+text", size=10, named=None if style.role == "accent" else "end"),
        )

    form_traces = list(range(len(lines), len(fig.data)))
    choices = {label: [points(chosen), ranges(chosen), form_traces] for label, chosen in settings.items()}
    fig.update_layout(next(iter(choices.values()))[1])
    return plot.finish(
        fig,
        420,
        plot.menu("Setting", choices, method="update"),
        xaxis={"title": "GB that a step must read"},
        yaxis={"title": "milliseconds"},
    )


def setting(row: dict) -> str:
    return f"{row['batch']} × {row['n']:,} tokens, heads {row['heads']}"  # noqa: RUF001  (a multiplication sign)


def gigabytes(row: dict) -> float:
    return row["read"] * row["median"]  # TB/s times ms


def points(rows: list[dict]) -> dict[str, list[list]]:
    """Of each form: GB, milliseconds, a label where there is room for one, and what the pointer shows."""
    one_setting = len({(row["batch"], row["heads"]) for row in rows}) == 1
    rows_by_form = {form: plot.rows_with(rows, form=form) for form in FORMS}
    return {
        "x": [[gigabytes(row) for row in form_rows] for form_rows in rows_by_form.values()],
        "y": [[row["median"] for row in form_rows] for form_rows in rows_by_form.values()],
        "text": [
            [label(row) if form == "ours" and one_setting else "" for row in form_rows]
            for form, form_rows in rows_by_form.items()
        ],
        "customdata": [[[title(row), row["error"]] for row in form_rows] for form_rows in rows_by_form.values()],
    }


def label(row: dict) -> str:
    """What stands above a point of our kernel: its format, and once its name."""
    return f"for Hopper<br>{FORMATS[row['cache']]}" if row["cache"] == "nvfp4" else "FP8" * (row["cache"] == "fp8")


def title(row: dict) -> str:
    return f"{FORMATS[row['cache']]}, {row['batch']} × {row['n']:,}, heads {row['heads']}"  # noqa: RUF001


def ranges(rows: list[dict]) -> dict[str, list[float]]:
    """The axes, from zero to a little beyond the last point."""
    ends = 1.2 * max(map(gigabytes, rows)), 1.1 * max(row["median"] for row in rows)
    return {"xaxis.range": [0, ends[0]], "yaxis.range": [0, ends[1]]}
