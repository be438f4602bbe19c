"""Copies Plotly, KaTeX and lit-html from node_modules into the site, and puts all stylesheets into one file."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import material
from mkdocs.exceptions import PluginError

from scripts.records import ROOT

MODULES = ROOT / "node_modules"
PLOTLY = MODULES / "plotly.js-cartesian-dist-min" / "plotly-cartesian.min.js"
KATEX = MODULES / "katex" / "dist"
LIT = MODULES / "lit-html" / "lit-html.js"
MATERIAL = Path(material.__file__).parent / "templates" / "assets" / "stylesheets"
NOT_NEEDED = re.compile(r"/\*.*?\*/|^\s+|\n", re.DOTALL | re.MULTILINE)  # of a stylesheet: comments and its layout


def copy_vendor(site_dir: str) -> None:
    """Into ``site_dir/vendor``.

    Raises:
        PluginError: if the packages are not there.
    """
    for path in (PLOTLY, KATEX, LIT):
        if not path.exists():
            raise PluginError(f"{path.relative_to(ROOT)} is missing: `make site` installs it")
    vendor = Path(site_dir, "vendor")
    (vendor / "fonts").mkdir(parents=True, exist_ok=True)
    shutil.copy(PLOTLY, vendor / "plotly.min.js")
    shutil.copy(KATEX / "katex.min.css", vendor)
    shutil.copy(LIT, vendor)
    for font in (KATEX / "fonts").glob("*.woff2"):
        shutil.copy(font, vendor / "fonts")


def bundle_stylesheets(site_dir: str, names: list[str]) -> None:
    """Puts these stylesheets behind Material's own into ``stylesheets/site.css``, and removes their copies.

    A page waits for every stylesheet, so it has one. Material's is a layer, over which each rule of ours wins, whatever
    its selector; Material's palettes are left out, since colours.css has every colour.
    """
    (main,) = MATERIAL.glob("main.*.min.css")
    text = re.sub(r'^@charset "[^"]*";|/\*#.*?\*/', "", main.read_text(encoding="utf-8"), flags=re.DOTALL)
    parts = [Path(site_dir, name) for name in names]
    ours = "".join(NOT_NEEDED.sub("", part.read_text(encoding="utf-8")) for part in parts)
    for part in parts:
        part.unlink()
    Path(site_dir, "stylesheets", "site.css").write_text(f"@layer material{{{text}}}\n{ours}", encoding="utf-8")
