"""Small mends to Material's own page, each of which stops the build once Material changes what it mends."""

from __future__ import annotations

import re

from mkdocs.exceptions import PluginError

MENDS = {
    # A dialog needs a name to be announced.
    r'(data-md-component="search" role="dialog")': r'\1 aria-label="Search"',
    # A script that is deferred keeps nobody from reading.
    r'<script (src="[^"]*assets/javascripts/bundle\.)': r"<script defer \1",
}


def mend(html: str, page: str) -> str:
    """Material's page, mended; ``page`` names it in an error."""
    for pattern, replacement in MENDS.items():
        html, times = re.subn(pattern, replacement, html)
        if times != 1:
            raise PluginError(f"{page}: Material's page holds {pattern!r} {times} times: look at scripts/site/mends.py")
    return html
