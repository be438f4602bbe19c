"""How long one step of decode takes against the bytes that it must read, and the line of HBM's bandwidth."""

import plotly.graph_objects as go

from scripts import records
from scripts.figures import plot

ALT = (
    "Milliseconds against gigabytes that a step must read, both from zero. Two straight lines rise from the corner: "
    "the bytes by the maker's bandwidth and, a little above it, by what a sum reached. A point is one form of decode: "
    "cuDNN and flash on keys and values of sixteen bits, and two kernels of ours on caches of sixteen, eight and four. "
    "cuDNN and our Hopper kernel on sixteen bits lie close to the lines; on eight bits it lies a little above them, on "
    "four further above, hardly lower than on eight. The portable kernel lies above them in sixteen bits; with fewer "
    "bytes it rises, and with four bits it is highest. A menu chooses one of four settings, or all."
)
FORMS = {
    "cudnn": plot.Look("cuDNN", "key", symbol="square-open"),
    "flash": plot.Look("flash", "value", symbol="diamond-open"),
    "portable": plot.Look("ours, portable", "soft", symbol="circle-open"),
    "ours": plot.Look("ours, Hopper", "accent", symbol="circle"),
}
FORMATS = {"bf16": "BF16", "fp8": "FP8", "nvfp4": "NVFP4"}


def figure() -> go.Figure:
    rows = records.table("decode_speed", "decode")
    (reached,) = records.table("decode_speed", "sum")
    settings = {}
    for row in rows:
        settings.setdefault(setting(row), []).append(row)
    settings["all four"] = rows

    fig = go.Figure()
    maker = plot.chip("decode_speed")["hbm bandwidth"].value / 1e12
    lines = [("the maker's bandwidth", "dash", maker), ("a sum", "solid", reached["read"])]
    far = 1.2 * max(map(gigabytes, rows))
    for name, dash, speed in lines:
        fig.add_scatter(
            x=[0, far],
            y=[0, far / speed],
            name=f"{name}, {speed:.2f} TB/s",
            mode="lines",
            line_dash=dash,
            meta={"role": "query"},
            hoverinfo="skip",
        )
    hover = "%{name}, %{customdata[0]}: %{y:.3g} ms for %{x:.3g} GB, error %{customdata[1]:.2g} %"
    first = points(next(iter(settings.values())))
    for place, look in enumerate(FORMS.values()):
        own = {attribute: values[place] for attribute, values in first.items()}
        fig.add_scatter(textposition="top left", **own, **look.scatter(hover, "markers+text", size=10))
        fig.data[-1].marker.line.width = 2 if look.symbol.endswith("open") else 0

    which = list(range(len(lines), len(fig.data)))
    choices = {label: [points(chosen), ranges(chosen), which] for label, chosen in settings.items()}
    fig.update_layout(next(iter(choices.values()))[1])
    return plot.page(
        fig,
        plot.Frame(height=420, top=90),
        plot.menu("Setting", choices, method="update"),
        xaxis_title="GB that a step must read",
        yaxis_title="ms",
    )


def setting(row: dict) -> str:
    return f"{row['batch']} × {row['n']:,} tokens, heads {row['heads']}"  # noqa: RUF001  (a multiplication sign)


def gigabytes(row: dict) -> float:
    return row["read"] * row["median"]  # TB/s times ms


def points(rows: list[dict]) -> dict[str, list[list]]:
    """Of each form: GB, milliseconds, a label where there is room for one, and what the pointer shows."""
    few = len({(row["batch"], row["heads"]) for row in rows}) == 1
    own = {form: plot.where(rows, form=form) for form in FORMS}
    return {
        "x": [[gigabytes(row) for row in found] for found in own.values()],
        "y": [[row["median"] for row in found] for found in own.values()],
        "text": [
            [FORMATS[row["cache"]] if form == "ours" and few else "" for row in found] for form, found in own.items()
        ],
        "customdata": [[[title(row), row["error"]] for row in found] for found in own.values()],
    }


def title(row: dict) -> str:
    return f"{FORMATS[row['cache']]}, {row['batch']} × {row['n']:,}, heads {row['heads']}"  # noqa: RUF001


def ranges(rows: list[dict]) -> dict[str, list[float]]:
    """The axes, from nought to a little beyond the last point."""
    ends = 1.2 * max(map(gigabytes, rows)), 1.1 * max(row["median"] for row in rows)
    return {"xaxis.range": [0, ends[0]], "yaxis.range": [0, ends[1]]}
