"""How figures look: traces, axes, size and legend, controls, roofs.  What is drawn, each figure says itself.

Nothing here sets a colour: a trace has a role, ``query``, ``key``, ``value``, ``accent`` or ``soft``, and the page
colours the roles in both of its schemes.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import plotly.graph_objects as go

from kernels.bench import hardware
from kernels.bench.cost import attainable, attention_flops, qkvo_bytes
from kernels.bench.hardware import H100
from scripts import records

LEGEND = {"orientation": "h", "x": 0.5, "xanchor": "center", "y": 1.02, "yanchor": "bottom"}  # above the drawing
WORDS = {1024: "1024", 4096: "4096", 16384: "16 Ki", 65536: "64 Ki", 262144: "256 Ki", 1048576: "1 Mi"}


def where(rows: list[dict], **wanted: object) -> list[dict]:
    """The rows of a table that have these values."""
    return [row for row in rows if wanted.items() <= row.items()]


def chip(snippet: str) -> dict[str, hardware.Constant]:
    """The constants of the GPU on which a snippet was recorded."""
    return getattr(hardware, records.read(snippet).chip)


def interval(rows: list[dict], value: str) -> dict:
    """Error bars from ``low`` to ``high`` of each row."""
    return {
        "array": [row["high"] - row[value] for row in rows],
        "arrayminus": [row[value] - row["low"] for row in rows],
        "thickness": 1,
    }


class Look(NamedTuple):
    """What a trace is called, its role, and the dash and the symbol by which it is told apart without colour."""

    name: str
    role: str
    dash: str | None = None
    symbol: str | None = None

    def trace(self, hover: str) -> dict:
        """For any ``fig.add_...``; ``hover`` is Plotly's template of a tooltip, with ``%{name}`` for the name."""
        template = hover.replace("%{name}", self.name) + "<extra></extra>"
        return {"name": self.name, "meta": {"role": self.role}, "hovertemplate": template}

    def scatter(self, hover: str, mode: str = "lines+markers", size: float | None = None) -> dict:
        """For ``fig.add_scatter``, with markers of ``size``."""
        marker = {"symbol": self.symbol, "size": size}
        return self.trace(hover) | {"mode": mode, "line": {"dash": self.dash}, "marker": marker}


def labels(fig: go.Figure, x: list, y: list, text: list[str], **more: object) -> None:
    """Text in the drawing, which answers no pointer."""
    fig.add_scatter(x=x, y=y, text=text, mode="text", hoverinfo="skip", **more)


LINE = 15  # pixels from one name to the next
GAP = 2 * "\N{NO-BREAK SPACE}"  # between a point and its name


def beside(curves: list[tuple[list, list]], decades: float, height: int) -> dict[str, list]:
    """Where the name of each curve stands: right of its last point, and names that end together a line apart.

    The vertical axis is logarithmic, ``decades`` on ``height`` pixels.  For Plotly's restyle: x and y of each name.
    """
    ends = [[(x, y) for x, y in zip(*curve, strict=True) if y is not None][-1:] for curve in curves]
    where = {i: math.log10(end[0][1]) / decades * height for i, end in enumerate(ends) if end}
    for last in {end[0][0] for end in ends if end}:
        together = sorted((i for i in where if ends[i][0][0] == last), key=where.get)
        for _ in range(200):  # each pair that is too near moves half of what it lacks
            for below, above in itertools.pairwise(together):
                lacking = max(LINE - (where[above] - where[below]), 0) / 2
                where[below], where[above] = where[below] - lacking, where[above] + lacking
    x = [[end[0][0]] if end else [None] for end in ends]
    return {"x": x, "y": [[10 ** (where[i] / height * decades)] if i in where else [None] for i in range(len(ends))]}


def name_curves(fig: go.Figure, looks: Iterable[Look], places: dict[str, list]) -> None:
    """A name beside each curve, in place of a legend, whose lines the eye would have to go back and forth to."""
    for look, x, y in zip(looks, *places.values(), strict=True):
        name = {"text": [f"{GAP}{look.name}"], "textposition": "middle right", "cliponaxis": False}
        fig.add_scatter(x=x, y=y, mode="text", hoverinfo="skip", meta={"role": look.role}, showlegend=False, **name)
    fig.update_layout(showlegend=False)


def log(title: str | None, values: Iterable[float], texts: Iterable | None = None, **options: object) -> dict:
    """A logarithmic axis with ticks at ``values``, which are written as ``texts``."""
    values = list(values)
    ticks = {"tickvals": values, "ticktext": values if texts is None else list(texts)}
    return ({"title": title} if title else {}) | {"type": "log", **ticks, **options}


def log_words(title: str, most: int, **options: object) -> dict:
    """A logarithmic axis of words: 1024, 4096, 16 Ki and so on."""
    ticks = {n: text for n, text in WORDS.items() if n <= most}
    return log(title, ticks, ticks.values(), **options)


def log_sizes(title: str, sizes: Iterable[int], unit: Callable[[int], float], **options: object) -> dict:
    """A logarithmic axis of sizes in bytes, drawn in ``unit`` and each written in its own: 32 MiB, 1 GiB."""
    return log(title, [unit(size) for size in sizes], [binary(size) for size in sizes], **options)


def binary(size: int) -> str:
    """A size in the largest unit that it holds at least one of: 64 GiB."""
    units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"]
    power = min((size.bit_length() - 1) // 10, len(units) - 1)
    return f"{size / 2 ** (10 * power):g} {units[power]}"


def menu(name: str, choices: dict[str, list], shown: str | None = None, method: str = "restyle") -> dict:
    """``choices``: label -> what Plotly's ``method`` is called with; the first is shown unless another is named."""
    active = None if shown is None else list(choices).index(shown)
    buttons = [{"label": label, "method": method, "args": args} for label, args in choices.items()]
    return {"name": name, "active": active, "buttons": buttons}


def switch(fig: go.Figure, name: str, of_traces: Sequence[str], shown: str) -> dict:
    """A menu that shows the traces of one choice and hides those of the others.

    ``of_traces`` has the choice to which each of the first traces belongs; the traces after these are always shown.
    """
    for trace, choice in zip(fig.data, of_traces, strict=False):
        trace.visible = choice == shown
    every = list(range(len(of_traces)))
    visible = {label: [{"visible": [of == label for of in of_traces]}, every] for label in dict.fromkeys(of_traces)}
    return menu(name, visible, shown)


class Frame(NamedTuple):
    """The height of a figure and its margins, in pixels; its width is the page's."""

    height: int = 400
    left: int = 60
    right: int = 10
    top: int = 10
    bottom: int = 50

    @property
    def inner(self) -> int:
        """The height of what the axes enclose."""
        return self.height - self.top - self.bottom


def page(fig: go.Figure, frame: Frame, *menus: dict, legend: dict | None = LEGEND, **layout: object) -> go.Figure:
    """The figure as it stands on a page, with its menus; its axes do not move under a finger that scrolls."""
    if legend:
        fig.update_layout(legend=legend)
    fig.update_layout(
        template=None,
        height=frame.height,
        margin={"l": frame.left, "r": frame.right, "t": frame.top, "b": frame.bottom},
        updatemenus=menus,
        **layout,
    )
    return fig.update_xaxes(fixedrange=True).update_yaxes(fixedrange=True)


Points = dict[str, tuple[float, float]]  # of a roofline: name -> FLOP per byte, TFLOP/s


def roofline(
    points: dict[str, Points],
    looks: dict[str, tuple[Look, str]],
    reached: Look | None,
    xaxis: dict,
    yaxis: dict,
    ends: tuple,
    gpu: dict[str, hardware.Constant] = H100,
) -> go.Figure:
    """The roofs of a GPU, the maker's and the one ``reached``, and points under them; a menu chooses the points.

    ``points``: label in the menu -> points;  ``looks``: name of a point -> its look and where its label stands;
    ``reached``: None where neither a copy nor a large matmul was measured on that GPU;
    ``ends``: from how many to how many FLOP per byte the roofs are drawn
    """
    fig, hover = go.Figure(), "%{name}: %{y:.3g} TFLOP/s at %{x:.3g} FLOP/B"
    roofs = [(Look("the maker's figures", "soft", "dash"), "bf16 peak", "hbm bandwidth")]
    roofs += [(reached, "bf16 matmul", "hbm copy")] if reached else []
    for look, peak, bandwidth in roofs:
        pi, beta = gpu[peak].value, gpu[bandwidth].value
        x = [ends[0], pi / beta, ends[1]]
        fig.add_scatter(x=x, y=[attainable(at, pi, beta) / 1e12 for at in x], **look.scatter(hover, "lines"))

    places = {label: [chosen.get(name, (None, None)) for name in looks] for label, chosen in points.items()}
    first = next(iter(places.values()))
    for (look, side), (x, y) in zip(looks.values(), first, strict=True):
        label = {"text": [look.name], "textposition": side, "showlegend": False}
        fig.add_scatter(x=[x], y=[y], **label, **look.scatter(hover, "markers+text", size=11))

    which = list(range(len(roofs), len(fig.data)))
    moves = {label: [{"x": [[x] for x, _ in at], "y": [[y] for _, y in at]}, which] for label, at in places.items()}
    return page(fig, Frame(height=420, top=40), menu("Bytes", moves), xaxis=xaxis, yaxis=yaxis)


class Rung(NamedTuple):
    """One line of a ladder: what it is called, its milliseconds, whether these were measured or only reckoned, and its
    own limit, if that is not the ladder's."""

    name: str
    time: float
    measured: bool = True
    limit: float | None = None


def limit(n: int, head_dim: int, heads: int, batch: int, causal: bool = False, snippet: str = "prefill_speed") -> Rung:
    """What no form of attention can beat in 16 bits on the GPU where a snippet was recorded: its arithmetic, or the
    least that it must move."""
    flops = attention_flops(n, head_dim, heads, batch, causal)
    intensity = flops / qkvo_bytes(n, head_dim, 2, heads, batch)
    gpu = chip(snippet)
    speed = attainable(intensity, gpu["bf16 peak"].value, gpu["hbm bandwidth"].value)
    return Rung("the limit", 1e3 * flops / speed, measured=False)


def fused(median: dict[str, float]) -> Rung:
    """The fastest of SDPA's fused backends, from the medians of all forms in one setting; its math backend is none."""
    return Rung("PyTorch, fused", min(median[form] for form in ("sdpa_flash", "sdpa_cudnn", "sdpa_efficient")))


def _side(time: float, ends: list[float]) -> str:
    """On which side of a point of a ladder its text stands, so that it does not cross the frame of a narrow screen.

    ``ends``: of the logarithmic axis
    """
    part = (math.log10(time) - ends[0]) / (ends[1] - ends[0])
    return "top right" if part < 0.22 else "top left" if part > 0.8 else "top center"


def ladder(choices: dict[str, list[Rung]], name: str, shown: str, xaxis: dict) -> go.Figure:
    """Rungs from the slowest down to the limit, which is the last, each with its part of that or of its own limit.

    ``choices``: label in the menu called ``name`` -> rungs, of the same names in the same order
    """
    fig, of_traces = go.Figure(), []
    looks = {True: Look("measured", "accent", symbol="circle"), False: Look("reckoned", "key", symbol="circle-open")}
    for choice, rungs in choices.items():
        least = rungs[-1].time
        for measured, look in looks.items():
            own = [rung for rung in rungs if rung.measured == measured]
            parts = [f"{100 * (rung.limit or least) / rung.time:.3g} %" for rung in own]
            fig.add_scatter(
                x=[rung.time for rung in own],
                y=[rung.name for rung in own],
                text=[f"{rung.time:.3g} ms, {part}" for rung, part in zip(own, parts, strict=True)],
                textposition=[_side(rung.time, xaxis["range"]) for rung in own],
                cliponaxis=False,
                customdata=parts,
                **look.scatter("%{y}, %{name}: %{x:.3g} ms, %{customdata} of the limit", "markers+text", size=11),
            )
            of_traces.append(choice)
    names = [rung.name for rung in choices[shown]]
    return page(
        fig,
        Frame(height=90 + 44 * len(names), left=105, right=20, top=45),
        switch(fig, name, of_traces, shown),
        xaxis=xaxis,
        yaxis={"categoryorder": "array", "categoryarray": names, "range": [len(names) - 0.6, -0.8]},
    )
