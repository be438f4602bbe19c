"""Draws the bars that lead the measurements, our kernels beside others, and says how many times as fast ours are.

The second is over all settings of the same runs. Which runs, and what the forms are called, the page says in its front
matter.

Bars are a table, so that they need no script, can be read aloud and stand on paper. What is compared is of one run.
"""

from __future__ import annotations

from html import escape
from math import exp, log
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from mkdocs.utils.meta import get_data

from scripts.records import Reader, Record
from scripts.site.fences import outputs

HEAD_DIMS = (64, 128, 256)
HEAD_DIM, HEADS, TOKENS = 128, 16, 16384  # of the bars
COST_FUNCTIONS = {"forward": ("attention_flops", "qkvo_bytes"), "backward": ("backward_flops", "backward_bytes")}


class Panel(NamedTuple):
    """One table of bars: a run, one setting of it, and which of our kernels the run is about."""

    title: str
    snippet: str
    direction: str
    n: int
    ours: str


class ChartSettings(NamedTuple):
    """What the page says, in its front matter.

    forms: the name of each form, by what the runs call it   peers: those that ours are divided by, as their columns say
    """

    caption: str
    panels: list[Panel]
    forms: dict[str, str]
    peers: dict[str, str]

    @property
    def ours(self) -> set[str]:
        return {panel.ours for panel in self.panels}


def chart_settings(page: Path) -> ChartSettings:
    front = get_data(page.read_text(encoding="utf-8"))[1]["bars"]
    panels = [Panel(**panel) for panel in front["panels"]]
    return ChartSettings(front["caption"], panels, front["forms"], front["peers"])


def html(chart: ChartSettings, reader: Reader, library: dict[str, ModuleType]) -> str:
    """Returns the figure.

    library: the modules that count and that know the chip, *cost* and *hardware*
    """
    runs = {panel.snippet: reader.read(panel.snippet) for panel in chart.panels}
    tables = "".join(
        bars(
            chart,
            panel,
            rows_of_head_dim(runs[panel.snippet], panel, HEAD_DIM),
            roofline_limit(panel, library, runs[panel.snippet]),
        )
        for panel in chart.panels
    )
    rows_of_panels = [
        [row for d in HEAD_DIMS for row in rows_of_head_dim(runs[panel.snippet], panel, d)] for panel in chart.panels
    ]
    summary = ratio_table(chart, rows_of_panels)
    ran = outputs.ran_html(runs, "../snippets/{}/".format)
    panels = f'<div class="hb-panels" data-search-exclude>{tables}{summary}</div>'
    return f'<figure class="hb-peers" id="peers"><figcaption>{chart.caption}</figcaption>{panels}{ran}</figure>'


def rows_of_head_dim(record: Record, panel: Panel, head_dim: int) -> list[dict]:
    """Returns all rows of a panel's run, of its direction and one head dimension."""
    tables = {table["name"]: table["rows"] for table in record.tables()}
    rows = tables.get(f"{panel.direction}_{head_dim}") or tables[panel.direction]
    return [row for row in rows if row["head_dim"] == head_dim]


def roofline_limit(panel: Panel, library: dict[str, ModuleType], record: Record) -> float:
    """What no form can beat in a panel's setting, in FLOP/s, on the GPU of its run."""
    batch = TOKENS // panel.n
    cost, chip = library["cost"], getattr(library["hardware"], record.chip)
    work, bytes_moved = (getattr(cost, name) for name in COST_FUNCTIONS[panel.direction])
    flops = work(panel.n, HEAD_DIM, HEADS, batch)
    intensity = flops / bytes_moved(panel.n, HEAD_DIM, 2, HEADS, batch)
    return cost.attainable(intensity, chip["bf16 peak"].value, chip["hbm bandwidth"].value)


def bars(chart: ChartSettings, panel: Panel, rows: list[dict], limit_flops: float) -> str:
    """One setting of a run, slowest first, each with its share of the limit, ``limit_flops`` FLOP/s."""
    rows_of_setting = [row for row in rows if row["n"] == panel.n and not row["causal"] and row["form"] in chart.forms]
    lines = "".join(
        bar(chart, row, 1e12 * row["speed"] / limit_flops)
        for row in sorted(rows_of_setting, key=lambda row: row["speed"])
    )
    heads = "".join(f'<th scope="col">{name}</th>' for name in ("Kernel", "TFLOP/s", "of the limit"))
    n = f"{panel.n:,}" if panel.n >= 10_000 else panel.n
    return (
        f'<table class="hb-bars"><caption>{escape(panel.title)}, N = {n}, d = {HEAD_DIM}</caption>'
        f"<thead><tr>{heads}</tr></thead><tbody>{lines}</tbody></table>"
    )


def bar(chart: ChartSettings, row: dict, share_of_limit: float) -> str:
    return (
        f"<tr{' class=hb-ours' if row['form'] in chart.ours else ''}>"
        f'<th scope="row">{escape(chart.forms[row["form"]])}<i style="--hb-part: {share_of_limit:.4f}"></i></th>'
        f'<td class="hb-number">{row["speed"]:.0f}</td>'
        f'<td class="hb-number">{100 * share_of_limit:.0f}\u00a0%</td></tr>'
    )


class Ratios(NamedTuple):
    """How many times as fast one form is as another, over all settings in which a run has both."""

    settings_count: int
    mean: float
    least: float
    most: float


def ratios(rows: list[dict], ours: str, peer: str) -> Ratios | None:
    """The geometric mean, and the extremes; None where the run does not have both forms."""
    speeds = {form: {} for form in (ours, peer)}
    for row in rows:
        if row["form"] in speeds and row["speed"] is not None:
            speeds[row["form"]][row["head_dim"], row["n"], row["causal"]] = row["speed"]
    shared_settings = speeds[ours].keys() & speeds[peer].keys()
    if not shared_settings:
        return None
    # A run in rounds has the median of its rounds' ratios, to cuDNN; what two forms have of it is divided.
    for row in rows:
        if row["form"] in speeds and "low" in row:
            speeds[row["form"]][row["head_dim"], row["n"], row["causal"]] = row["ratio"]
    pairs = [speeds[ours][setting] / speeds[peer][setting] for setting in shared_settings]
    return Ratios(len(pairs), exp(sum(map(log, pairs)) / len(pairs)), min(pairs), max(pairs))


def ratio_table(chart: ChartSettings, rows_of_panels: list[list[dict]]) -> str:
    """A row a panel: the ratios to each peer over all settings of its run."""
    heads = "".join(f'<th scope="col">{name}</th>' for name in ("Ours", "Settings", *chart.peers.values()))
    lines = ""
    for panel, rows in zip(chart.panels, rows_of_panels, strict=True):
        ratios_to_peers = [ratios(rows, panel.ours, peer) for peer in chart.peers]
        name = escape(f"{panel.title.split(',')[0]}: {chart.forms[panel.ours]}").replace("hAtt", "h<wbr>Att")
        settings_count = next(ratio.settings_count for ratio in ratios_to_peers if ratio)
        lines += f'<tr><th scope="row">{name}</th><td>{settings_count}</td>{"".join(map(cell, ratios_to_peers))}</tr>'
    caption = (
        "All settings of these runs: how many times as fast ours is, by the geometric mean, and the least and the most"
    )
    return (
        f'<table class="hb-overall"><caption>{caption}</caption>'
        f"<thead><tr>{heads}</tr></thead><tbody>{lines}</tbody></table>"
    )


def cell(ratio: Ratios | None) -> str:
    if ratio is None:
        return "<td></td>"
    return f'<td>{ratio.mean:.2f} <span class="hb-unit">{ratio.least:.2f} to {ratio.most:.2f}</span></td>'
