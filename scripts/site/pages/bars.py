"""What leads the measurements: our kernels beside others, as bars; and, over all settings of the same runs, how many
times as fast ours are. Which runs, and what the forms are called, the page says in its front matter.

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
COUNTS = {"forward": ("attention_flops", "qkvo_bytes"), "backward": ("backward_flops", "backward_bytes")}


class Panel(NamedTuple):
    """One table of bars: a run, one setting of it, and which of our kernels the run is about."""

    title: str
    snippet: str
    direction: str
    n: int
    ours: str


class Said(NamedTuple):
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


def said(page: Path) -> Said:
    front = get_data(page.read_text(encoding="utf-8"))[1]["bars"]
    panels = [Panel(**panel) for panel in front["panels"]]
    return Said(front["caption"], panels, front["forms"], front["peers"])


def html(page: Said, reader: Reader, library: dict[str, ModuleType]) -> str:
    """Returns the figure.

    library: the modules that count and that know the chip, *cost* and *hardware*
    """
    found = {panel.snippet: reader.read(panel.snippet) for panel in page.panels}
    tables = "".join(
        bars(page, panel, rows(found[panel.snippet], panel, HEAD_DIM), limit(panel, library, found[panel.snippet]))
        for panel in page.panels
    )
    settings = [[row for d in HEAD_DIMS for row in rows(found[panel.snippet], panel, d)] for panel in page.panels]
    summary = overall(page, settings)
    ran = "".join(outputs.ran_html(record, name, f"../snippets/{name}/") for name, record in found.items())
    panels = f'<div class="hb-panels" data-search-exclude>{tables}{summary}</div>'
    return f'<figure class="hb-peers" id="peers"><figcaption>{page.caption}</figcaption>{panels}{ran}</figure>'


def rows(record: Record, panel: Panel, head_dim: int) -> list[dict]:
    """Returns all rows of a panel's run, of its direction and one head dimension."""
    tables = {table["name"]: table["rows"] for table in record.tables()}
    found = tables.get(f"{panel.direction}_{head_dim}") or tables[panel.direction]
    return [row for row in found if row["head_dim"] == head_dim]


def limit(panel: Panel, library: dict[str, ModuleType], record: Record) -> float:
    """What no form can beat in a panel's setting, in FLOP/s, on the GPU of its run."""
    batch = TOKENS // panel.n
    cost, chip = library["cost"], getattr(library["hardware"], record.chip)
    work, bytes_moved = (getattr(cost, name) for name in COUNTS[panel.direction])
    flops = work(panel.n, HEAD_DIM, HEADS, batch)
    intensity = flops / bytes_moved(panel.n, HEAD_DIM, 2, HEADS, batch)
    return cost.attainable(intensity, chip["bf16 peak"].value, chip["hbm bandwidth"].value)


def bars(page: Said, panel: Panel, found: list[dict], most: float) -> str:
    """One setting of a run, slowest first, each with its part of the limit, ``most`` FLOP/s."""
    setting = [row for row in found if row["n"] == panel.n and not row["causal"] and row["form"] in page.forms]
    lines = "".join(bar(page, row, 1e12 * row["speed"] / most) for row in sorted(setting, key=lambda row: row["speed"]))
    heads = "".join(f'<th scope="col">{name}</th>' for name in ("Kernel", "TFLOP/s", "of the limit"))
    n = f"{panel.n:,}" if panel.n >= 10_000 else panel.n
    return (
        f'<table class="hb-bars"><caption>{escape(panel.title)}, N = {n}, d = {HEAD_DIM}</caption>'
        f"<thead><tr>{heads}</tr></thead><tbody>{lines}</tbody></table>"
    )


def bar(page: Said, row: dict, part: float) -> str:
    return (
        f"<tr{' class=hb-ours' if row['form'] in page.ours else ''}>"
        f'<th scope="row">{escape(page.forms[row["form"]])}<i style="--hb-part: {part:.4f}"></i></th>'
        f'<td class="hb-number">{row["speed"]:.0f}</td><td class="hb-number">{100 * part:.0f}\u00a0%</td></tr>'
    )


class Ratios(NamedTuple):
    """How many times as fast one form is as another, over all settings in which a run has both."""

    settings: int
    mean: float
    least: float
    most: float


def ratios(found: list[dict], ours: str, peer: str) -> Ratios | None:
    """The geometric mean, and the extremes; None where the run does not have both forms."""
    speeds = {form: {} for form in (ours, peer)}
    for row in found:
        if row["form"] in speeds and row["speed"] is not None:
            speeds[row["form"]][row["head_dim"], row["n"], row["causal"]] = row["speed"]
    both = speeds[ours].keys() & speeds[peer].keys()
    if not both:
        return None
    # A run in rounds has the median of its rounds' ratios, to cuDNN; what two forms have of it is divided.
    for row in found:
        if row["form"] in speeds and "low" in row:
            speeds[row["form"]][row["head_dim"], row["n"], row["causal"]] = row["ratio"]
    pairs = [speeds[ours][setting] / speeds[peer][setting] for setting in both]
    return Ratios(len(pairs), exp(sum(map(log, pairs)) / len(pairs)), min(pairs), max(pairs))


def overall(page: Said, settings: list[list[dict]]) -> str:
    """A row a panel: the ratios to each peer over all settings of its run."""
    heads = "".join(f'<th scope="col">{name}</th>' for name in ("Ours", "Settings", *page.peers.values()))
    lines = ""
    for panel, found in zip(page.panels, settings, strict=True):
        against = [ratios(found, panel.ours, peer) for peer in page.peers]
        name = escape(f"{panel.title.split(',')[0]}: {page.forms[panel.ours]}").replace("hAtt", "h<wbr>Att")
        many = next(each.settings for each in against if each)
        lines += f'<tr><th scope="row">{name}</th><td>{many}</td>{"".join(map(cell, against))}</tr>'
    caption = (
        "All settings of these runs: how many times as fast ours is, by the geometric mean, and the least and the most"
    )
    return (
        f'<table class="hb-overall"><caption>{caption}</caption>'
        f"<thead><tr>{heads}</tr></thead><tbody>{lines}</tbody></table>"
    )


def cell(found: Ratios | None) -> str:
    if found is None:
        return "<td></td>"
    return f'<td>{found.mean:.2f} <span class="hb-unit">{found.least:.2f} to {found.most:.2f}</span></td>'
