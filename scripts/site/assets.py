"""What the site serves of other people's work: Plotly, KaTeX, lit-html, copied from node_modules, never committed."""

from __future__ import annotations

import shutil
from pathlib import Path

from mkdocs.exceptions import PluginError

from scripts.records import ROOT

MODULES = ROOT / "node_modules"
PLOTLY = MODULES / "plotly.js-cartesian-dist-min" / "plotly-cartesian.min.js"
KATEX = MODULES / "katex" / "dist"
LIT = MODULES / "lit-html" / "lit-html.js"


def copy(site_dir: str) -> None:
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
