"""Small mends to Material's own page, each of which stops the build once Material changes what it mends."""

from __future__ import annotations

import re

from mkdocs.exceptions import PluginError
from mkdocs.utils import get_relative_url

MENDS = {
    # A dialog needs a name to be announced.
    r'(data-md-component="search" role="dialog")': r'\1 aria-label="Search"',
    # A script that is deferred keeps nobody from reading.
    r'<script (src="[^"]*assets/javascripts/bundle\.)': r"<script defer \1",
}


def mend(html: str, page) -> str:
    for pattern, replacement in MENDS.items():
        html, times = re.subn(pattern, replacement, html)
        if times != 1:
            raise PluginError(
                f"{page.file.src_uri}: Material's page holds {pattern!r} {times} times: look at scripts/site/mends.py"
            )
    if 'class="katex' in html:
        url = get_relative_url("vendor/katex.min.css", page.url)
        html = html.replace("</head>", f'<link rel="stylesheet" href="{url}"></head>', 1)
    return html
