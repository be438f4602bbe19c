"""Drawings, ``![what it shows](cards.svg){ .drawing }``, set into the page itself, so that they follow its colours."""

from __future__ import annotations

import re
from html import escape
from html.parser import HTMLParser
from pathlib import Path, PurePosixPath

from mkdocs.exceptions import PluginError

from scripts.records import ROOT

IMAGE = re.compile(r"<img\b[^>]*/?>")
CALLOUT = re.compile(r'<div class="admonition (?P<kind>[\w-]+)">|<details class="(?!hb-)(?P<folded>[\w-]+)"')


def inline(html: str, page: str) -> str:
    """``html`` with each image of the class ``drawing`` replaced by the SVG file that it names.

    Where ``cards-wide.svg`` is beside ``cards.svg``, both are set in: phones show the latter, all else the wide one.

    Raises:
        PluginError: if the drawing has no file or no text alternative, naming the page.
    """

    def drawing(match: re.Match) -> str:
        image = attributes(match[0])
        if "drawing" not in image.get("class", "").split():
            return match[0]
        path = ROOT / "docs" / "assets" / "drawings" / PurePosixPath(image.get("src", "")).name
        if not path.is_file() or not image.get("alt"):
            raise PluginError(f"{page}: {match[0]}: a drawing needs its file, {path.name}, and a text alternative")
        wide = path.with_stem(f"{path.stem}-wide")
        if not wide.is_file():
            return svg_html(path, "hb-drawing", image["alt"])
        narrow = svg_html(path, "hb-drawing hb-drawing--narrow", image["alt"])
        return narrow + svg_html(wide, "hb-drawing hb-drawing--wide", image["alt"])

    return IMAGE.sub(drawing, html)


def svg_html(path: Path, classes: str, alternative: str) -> str:
    svg = path.read_text(encoding="utf-8")
    svg = svg[svg.index("<svg") :]
    return svg.replace("<svg", f'<svg class="{classes}" role="img" aria-label="{escape(alternative)}"', 1)


def check_callouts(html: str, page: str, kinds: list[str]) -> None:
    """Looks at what kinds of callouts a page has.

    Raises:
        PluginError: for one that the stylesheet doesn't know, naming the page.
    """
    for callout in CALLOUT.finditer(html):
        kind = callout["kind"] or callout["folded"]
        if kind not in kinds:
            raise PluginError(f"{page}: a callout of the kind {kind}: mkdocs.yml has {', '.join(kinds)}")


def attributes(tag: str) -> dict[str, str]:
    values: dict[str, str] = {}
    parser = HTMLParser()
    parser.handle_starttag = lambda name, pairs: values.update(pairs)
    parser.feed(tag)
    return values
