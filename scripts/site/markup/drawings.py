"""Drawings and icons set into the page itself.

A drawing, ``![what it shows](cards.svg){ .drawing }``, so that it follows the page's colours. A callout's icon, because
Material draws it as the mask of a box, and for each such image the browser makes a document of its own.
"""

from __future__ import annotations

import re
from html import escape
from html.parser import HTMLParser
from pathlib import Path, PurePosixPath

import material
from mkdocs.exceptions import PluginError

from scripts.records import ROOT

IMAGE = re.compile(r"<img\b[^>]*/?>")
TITLE = re.compile(
    r'<div class="admonition (?P<kind>[\w-]+)">\s*<p class="admonition-title">'
    r'|<details class="(?!hb-)(?P<folded>[\w-]+)"[^>]*>\s*<summary>'
)
ICONS = Path(material.__file__).parent / "templates" / ".icons"


def inline(html: str, page: str) -> str:
    """``html`` with each image of the class ``drawing`` replaced by the SVG file that it names.

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
        svg = path.read_text(encoding="utf-8")
        svg = svg[svg.index("<svg") :]
        return svg.replace("<svg", f'<svg class="hb-drawing" role="img" aria-label="{escape(image["alt"])}"', 1)

    return IMAGE.sub(drawing, html)


def icons(html: str, page: str, names: dict[str, str]) -> str:
    """``html`` with the icon of its kind before the title of each callout.

    Raises:
        PluginError: for a kind that has no icon, naming the page.
    """

    def titled(match: re.Match) -> str:
        kind = match["kind"] or match["folded"]
        if kind not in names:
            raise PluginError(f"{page}: a callout of the kind {kind}: mkdocs.yml has icons for {', '.join(names)}")
        svg = (ICONS / f"{names[kind]}.svg").read_text(encoding="utf-8")
        return match[0] + svg.replace("<svg", '<svg class="hb-icon" aria-hidden="true"', 1)

    return TITLE.sub(titled, html)


def attributes(tag: str) -> dict[str, str]:
    found: dict[str, str] = {}
    parser = HTMLParser()
    parser.handle_starttag = lambda name, pairs: found.update(pairs)
    parser.feed(tag)
    return found
