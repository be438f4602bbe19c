"""Makes what figures share: styles of traces, axes, menus, ladders, roofs. What's drawn, each figure says itself.

Nothing here sets a colour, a font or a margin: docs/javascripts/charts.js does, when it knows the scheme and the width.
A trace says what it is by its role. ``accent`` is the one highlight, for what the finding is about; ``ink`` is what
it's compared with; ``soft``, ``grey`` (for bars) and ``faint`` (what a bar could still fill) are all else; ``query``,
``key`` and ``value`` are these tensors and nothing else.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import plotly.graph_objects as go

from kernels.bench import hardware
from kernels.bench.cost import attainable, attention_flops, qkvo_bytes
from kernels.bench.hardware import H100
from scripts import records


def rows_with(rows: list[dict], **wanted: object) -> list[dict]:
    """The rows of a table that have these values."""
    return [row for row in rows if wanted.items() <= row.items()]


def recorded_gpu(snippet: str) -> dict[str, hardware.Constant]:
    """The constants of the GPU on which a snippet was recorded."""
    return getattr(hardware, records.read(snippet).chip)


def error_bars(rows: list[dict], value: str) -> dict:
    """Error bars from ``low`` to ``high`` of each row."""
    ends = {
        "array": [row["high"] - row[value] for row in rows],
        "arrayminus": [row[value] - row["low"] for row in rows],
    }
    return ends | {"thickness": 1}


class Style(NamedTuple):
    """What a trace is called, and how it's told apart: a role, hollow or dashed if it's predicted, a symbol."""

    name: str
    role: str = "soft"
    predicted: bool = False
    symbol: str = "circle"

    def trace(self, hover: str, named: str | None = None) -> dict:
        """The keywords of any ``fig.add_...``; ``hover`` is a template of Plotly's, with ``%{name}``.

        named: where the page writes the name: at the ``end`` of a line, ``above`` it, or above its ``start``; or
            ``value``: each bar's own text stands at its end
        """
        template = hover.replace("%{name}", self.name) + "<extra></extra>"
        meta = {"role": self.role, "hollow": self.predicted, "named": named}
        return {"name": self.name, "meta": meta, "hovertemplate": template}

    def scatter(self, hover: str, mode: str = "lines+markers", size: float = 8, named: str | None = "end") -> dict:
        """The keywords of ``fig.add_scatter``, with markers of ``size``."""
        marker = {"symbol": self.symbol + ("-open" if self.predicted else ""), "size": size}
        dash = "dash" if self.predicted else "solid"
        return self.trace(hover, named) | {"mode": mode, "line": {"dash": dash}, "marker": marker, "cliponaxis": False}

    def bars(self, hover: str, named: str | None = None) -> dict:
        """The keywords of ``fig.add_bar`` for bars that lie."""
        return self.trace(hover, named) | {"orientation": "h", "textposition": "none"}


def add_text(fig: go.Figure, x: list, y: list, text: list[str], role: str = "ink", **more: object) -> None:
    """Text in the drawing, which answers no pointer."""
    fig.add_scatter(x=x, y=y, text=text, mode="text", hoverinfo="skip", cliponaxis=False, meta={"role": role}, **more)


def log_axis(title: str | None, values: Iterable[float], texts: Iterable | None = None, **options: object) -> dict:
    """A logarithmic axis with ticks at ``values``, which are written as ``texts`` or with commas."""
    values = list(values)
    texts = [f"{value:,}" for value in values] if texts is None else list(texts)
    return ({"title": title} if title else {}) | {"type": "log", "tickvals": values, "ticktext": texts, **options}


def log_axis_of_bytes(title: str, sizes: Iterable[int], unit: Callable[[int], float], **options: object) -> dict:
    """A logarithmic axis of sizes in bytes, drawn in ``unit`` and each written in its own: 32 MiB, 1 GiB."""
    return log_axis(title, [unit(size) for size in sizes], [bytes_in_words(size) for size in sizes], **options)


def bytes_in_words(size: int) -> str:
    """A size in the largest unit that it holds at least one of: 64 GiB."""
    units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"]
    power = min((size.bit_length() - 1) // 10, len(units) - 1)
    return f"{size / 2 ** (10 * power):g} {units[power]}"


def name_axis(title: str | None = None, **options: object) -> dict:
    """A vertical axis of names, the first on top; only those that are shown, in the order of the traces."""
    return ({"title": title} if title else {}) | {"type": "category", "autorange": "reversed", **options}


def menu(name: str, choices: dict[str, list], shown: str | None = None, method: str = "restyle") -> dict:
    """A menu of ``choices``, label -> what Plotly's ``method`` is called with; the first is shown, or the one named."""
    active = None if shown is None else list(choices).index(shown)
    buttons = [{"label": label, "method": method, "args": args} for label, args in choices.items()]
    return {"name": name, "active": active, "buttons": buttons}


def trace_menu(fig: go.Figure, name: str, labels: Sequence[str], shown: str) -> dict:
    """A menu that shows the traces of one choice and hides those of the others.

    ``labels`` has the choice to which each of the first traces belongs; the traces after these are always shown.
    """
    for trace, label in zip(fig.data[: len(labels)], labels, strict=True):
        trace.visible = label == shown
    indices = list(range(len(labels)))
    visible = {label: [{"visible": [each == label for each in labels]}, indices] for label in dict.fromkeys(labels)}
    return menu(name, visible, shown)


def finish(fig: go.Figure, height: int, *menus: dict, **layout: object) -> go.Figure:
    """The figure as a page gets it, with its menus; its axes don't move under a finger that scrolls."""
    fig.update_layout(template=None, height=height, updatemenus=menus, **layout)
    return fig.update_xaxes(fixedrange=True).update_yaxes(fixedrange=True)


Points = dict[str, tuple[float, float]]  # of a roofline: name -> FLOP per byte, TFLOP/s


def roofline(
    points: dict[str, Points],
    styles: dict[str, tuple[Style, str]],
    xaxis: dict,
    yaxis: dict,
    ends: tuple,
    gpu: dict[str, hardware.Constant] = H100,
    reached: bool = False,
) -> go.Figure:
    """The roofs of a GPU, the maker's and, if a copy and a large matmul were measured there, the one ``reached``; and
    points under them, which a menu chooses.

    points: label in the menu -> points
    styles: name of a point -> its style and where its label stands
    ends: from how many to how many FLOP per byte the roofs are drawn
    """
    fig, hover = go.Figure(), "%{name}: %{y:.3g} TFLOP/s at %{x:.3g} FLOP/B"
    roofs = [(Style("the maker's figures", "soft", predicted=True), "bf16 peak", "hbm bandwidth", "above")]
    roofs += [(Style("reached", "soft"), "bf16 matmul", "hbm copy", None)] if reached else []
    for style, peak, bandwidth, named in roofs:
        peak_flops, bytes_per_second = gpu[peak].value, gpu[bandwidth].value
        x = [ends[0], peak_flops / bytes_per_second, ends[1]]
        y = [attainable(at, peak_flops, bytes_per_second) / 1e12 for at in x]
        fig.add_scatter(x=x, y=y, **style.scatter(hover, "lines", named=named))

    places = {label: [chosen.get(name, (None, None)) for name in styles] for label, chosen in points.items()}
    first = next(iter(places.values()))
    for (style, side), (x, y) in zip(styles.values(), first, strict=True):
        point = style.scatter(hover, "markers+text", size=11, named=None)
        fig.add_scatter(x=[x], y=[y], text=[style.name], textposition=side, **point)

    indices = list(range(len(roofs), len(fig.data)))
    moves = {label: [{"x": [[x] for x, _ in at], "y": [[y] for _, y in at]}, indices] for label, at in places.items()}
    return finish(fig, 420, menu("Bytes", moves), xaxis=xaxis, yaxis=yaxis)


class Rung(NamedTuple):
    """A bar of a ladder: its name, its milliseconds, whether they were measured or only predicted, and its limit, if
    that's not the ladder's."""

    name: str
    time: float
    measured: bool = True
    limit: float | None = None


def limit_rung(
    n: int, head_dim: int, heads: int, batch: int, causal: bool = False, snippet: str = "prefill_speed"
) -> Rung:
    """What no form of attention can beat in 16 bits on the GPU where a snippet was recorded: its arithmetic, or the
    least that it must move."""
    flops = attention_flops(n, head_dim, heads, batch, causal)
    intensity = flops / qkvo_bytes(n, head_dim, 2, heads, batch)
    gpu = recorded_gpu(snippet)
    speed = attainable(intensity, gpu["bf16 peak"].value, gpu["hbm bandwidth"].value)
    return Rung("the limit", 1e3 * flops / speed, measured=False)


def fastest_fused(median: dict[str, float]) -> Rung:
    """The fastest of SDPA's fused backends, from the medians of all forms in one setting; its math backend is none."""
    return Rung("PyTorch, fused", min(median[form] for form in ("sdpa_flash", "sdpa_cudnn", "sdpa_efficient")))


def percent(part: float) -> str:
    """A part of the limit: 13 %, and below one per cent 0.3 %."""
    return f"{100 * part:.{0 if part >= 0.0095 else 1 if part >= 0.00095 else 2}f} %"


def ladder(choices: dict[str, list[Rung]], name: str, shown: str, accent: str) -> go.Figure:
    """Bars from the slowest down, each on a track from 0 to 100 % of the limit: the last rung, or its own.

    choices: label in the menu called ``name`` -> rungs
    accent: the rung that the finding is about
    """
    fig, labels = go.Figure(), []
    hover = "%{y}: %{customdata:.3g} ms, %{text}<extra></extra>"
    for choice, (*rungs, least) in choices.items():
        names = [rung.name for rung in rungs]
        limit_text = f"{least.name}, {least.time:.3g} ms" if any(rung.limit is None for rung in rungs) else least.name
        fig.add_bar(x=[100] * len(rungs), y=names, orientation="h", hoverinfo="skip", meta={"role": "faint"})
        for measured, role in ((True, "grey"), (True, "accent"), (False, "soft"), (False, "accent")):
            of_role = [rung for rung in rungs if (rung.measured, rung.name == accent) == (measured, role == "accent")]
            parts = [(rung.limit or least.time) / rung.time for rung in of_role]
            fig.add_bar(
                x=[100 * part for part in parts],
                y=[rung.name for rung in of_role],
                text=[f"<b>{percent(part)}</b>  {rung.time:.3g} ms" for part, rung in zip(parts, of_role, strict=True)],
                customdata=[rung.time for rung in of_role],
                **Style("", role, predicted=not measured).bars(hover, "value"),
            )
        add_text(fig, [100], [" "], [f"{limit_text}\N{NO-BREAK SPACE}"], textposition="middle left")
        labels += [choice] * 6
    most = max(map(len, choices.values()))
    line = {"type": "line", "x0": 100, "x1": 100, "yref": "paper", "y0": 0, "y1": 1}
    bars = {"barmode": "overlay", "bargap": 0.3, "shapes": [line]}
    axes = {
        "xaxis": {"range": [0, 100.2], "visible": False},
        "yaxis": name_axis(categoryorder="array", categoryarray=[" "]),
    }
    return finish(
        fig, 8 + min(400, 34 * most), trace_menu(fig, name, labels, shown), **bars, **axes, margin={"b": 4, "r": 2}
    )
