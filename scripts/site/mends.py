"""Small mends to Material's own page and script, each of which stops the build once Material changes what it mends."""

from __future__ import annotations

import re
from pathlib import Path

from mkdocs.exceptions import PluginError

MENDS = {
    # A dialog needs a name to be announced.
    r'(data-md-component="search" role="dialog")': r'\1 aria-label="Search"',
    # A script that is deferred keeps nobody from reading.
    r'<script (src="[^"]*assets/javascripts/bundle\.)': r"<script defer \1",
}

# How Material waits for the search to be opened where pages are files, and how it fetches the index elsewhere: at once.
WAITS = re.compile(r'(\w+)\((\S{1,3})\(location\.protocol!=="file:"\),(\w+\("search"\))\)\.pipe\((\w+)\((\w+)=>\5\),(\w+)\(')
FETCHES = re.compile(r'(,(\w+\(1\))\):)(\w+\(new URL\("search/search_index\.json",\w+\.base\)\))')


def mend(html: str, page: str) -> str:
    """Material's page, mended; ``page`` names it in an error."""
    for pattern, replacement in MENDS.items():
        html, times = re.subn(pattern, replacement, html)
        if times != 1:
            raise PluginError(f"{page}: Material's page holds {pattern!r} {times} times: look at scripts/site/mends.py")
    return html


def mend_script(site_dir: str) -> None:
    """Material's script in the built site: it fetches the search index, larger than a page, once someone searches, or
    has come from a search whose words are to be marked."""
    (bundle,) = Path(site_dir, "assets", "javascripts").glob("bundle.*.min.js")
    bundle.write_text(search_when_asked(bundle.read_text(encoding="utf-8"), bundle.name), encoding="utf-8")


def search_when_asked(script: str, name: str) -> str:
    """Material's script, mended; ``name`` names it in an error."""
    waits, fetches = WAITS.findall(script), FETCHES.findall(script)
    if len(waits) != 1 or len(fetches) != 1:
        raise PluginError(
            f"{name}: Material's script waits for the search {len(waits)} times and fetches its index "
            f"{len(fetches)} times, once each is wanted: look at scripts/site/mends.py"
        )
    ((merge, of, opened, first, _, switch),) = waits  # what the minified names are today
    asked = f'{merge}({of}(new URL(location.href).searchParams.has("h")),{opened}).pipe({first}(o=>o)'
    return FETCHES.sub(lambda found: f"{found[1]}{asked},{switch}(()=>{found[3]}),{found[2]})", script)
