"""How long one step of decode takes against the bytes that it must read, and the line of HBM's bandwidth."""

import plotly.graph_objects as go

from kernels.bench.hardware import H100
from scripts import records

ALT = (
    "Milliseconds against gigabytes that a step must read, both from zero. Two straight lines rise from the corner: "
    "the bytes by the maker's bandwidth and, a little above it, by what a sum reached. A point is one form of decode: "
    "cuDNN and flash on keys and values of sixteen bits, and two kernels of ours on caches of sixteen, eight and four. "
    "cuDNN and our Hopper kernel in all three formats lie close to the lines, a little further off where bytes are "
    "few. The portable kernel lies near the lines in sixteen bits; with fewer bytes it rises, and with four bits it is "
    "highest. A menu chooses one of four settings, or all."
)
FORMS = {  # form -> its name, role and symbol
    "cudnn": ("cuDNN", "key", "square-open"),
    "flash": ("flash", "value", "diamond-open"),
    "portable": ("ours, portable", "soft", "circle-open"),
    "ours": ("ours, Hopper", "accent", "circle"),
}
FORMATS = {"bf16": "BF16", "fp8": "FP8", "nvfp4": "NVFP4"}


def figure() -> go.Figure:
    rows = records.table("decode_speed", "decode")
    (reached,) = records.table("decode_speed", "sum")
    settings = list(dict.fromkeys((row["batch"], row["heads"], row["n"]) for row in rows))
    choices = {}
    for batch, heads, n in settings:
        of_it = [row for row in rows if (row["batch"], row["heads"], row["n"]) == (batch, heads, n)]
        choices[f"{batch} × {n:,} tokens, heads {heads}"] = of_it  # noqa: RUF001  (a multiplication sign)
    shown = next(iter(choices.values()))
    choices["all four"] = rows

    fig = go.Figure()
    lines = [("the maker's bandwidth", "dash", H100["hbm bandwidth"].value / 1e12), ("a sum", "solid", reached["read"])]
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
    for form, (name, role, symbol) in FORMS.items():
        x, y, label, more = points(shown, form)
        fig.add_scatter(
            x=x,
            y=y,
            text=label,
            customdata=more,
            name=name,
            mode="markers+text",
            textposition="top left",
            marker={"symbol": symbol, "size": 10, "line": {"width": 2 if symbol.endswith("open") else 0}},
            meta={"role": role},
            hovertemplate=f"{name}, %{{customdata[0]}}: %{{y:.3g}} ms for %{{x:.3g}} GB, "
            "error %{customdata[1]:.2g} %<extra></extra>",
        )
    which = list(range(len(lines), len(lines) + len(FORMS)))
    buttons = []
    for label, chosen in choices.items():
        x, y, names, more = zip(*(points(chosen, form) for form in FORMS), strict=True)
        ends = [1.2 * max(map(gigabytes, chosen)), 1.1 * max(row["median"] for row in chosen)]
        axes = {"xaxis.range": [0, ends[0]], "yaxis.range": [0, ends[1]]}
        data = {"x": list(x), "y": list(y), "text": list(names), "customdata": list(more)}
        buttons.append({"label": label, "method": "update", "args": [data, axes, which]})
    fig.update_layout(
        template=None,
        height=420,
        margin={"l": 60, "r": 10, "t": 90, "b": 50},
        updatemenus=[{"name": "Setting", "buttons": buttons}],
        legend={"orientation": "h", "x": 0.5, "xanchor": "center", "y": 1.02, "yanchor": "bottom"},
        xaxis={"title": "GB that a step must read", "fixedrange": True, **range_of(buttons[0], "x")},
        yaxis={"title": "ms", "fixedrange": True, **range_of(buttons[0], "y")},
    )
    return fig


def gigabytes(row: dict) -> float:
    return row["read"] * row["median"]  # TB/s by ms


def points(rows: list[dict], form: str) -> tuple[list, list, list, list]:
    """GB, milliseconds, a label where there is room for one, and what the pointer shows, of one form."""
    found = [row for row in rows if row["form"] == form]
    few = len({(row["batch"], row["heads"]) for row in rows}) == 1
    labels = [FORMATS[row["cache"]] if form == "ours" and few else "" for row in found]
    names = [f"{FORMATS[row['cache']]}, {row['batch']} × {row['n']:,}, heads {row['heads']}" for row in found]  # noqa: RUF001
    more = [[name, row["error"]] for name, row in zip(names, found, strict=True)]
    return [gigabytes(row) for row in found], [row["median"] for row in found], labels, more


def range_of(button: dict, axis: str) -> dict:
    return {"range": button["args"][1][f"{axis}axis.range"]}
