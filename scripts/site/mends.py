"""Small mends to Material's own page, each of which stops the build once Material changes what it mends."""

from __future__ import annotations

from mkdocs.exceptions import PluginError
from mkdocs.utils import get_relative_url

MENDS = {
    # A dialog needs a name to be announced.
    'data-md-component="search" role="dialog"': 'data-md-component="search" role="dialog" aria-label="Search"',
}


def mend(html: str, page) -> str:
    for old, new in MENDS.items():
        if old not in html:
            raise PluginError(
                f"{page.file.src_uri}: Material's page no longer holds {old!r}: look at scripts/site/mends.py"
            )
        html = html.replace(old, new, 1)
    if 'class="katex' in html:
        url = get_relative_url("vendor/katex.min.css", page.url)
        html = html.replace("</head>", f'<link rel="stylesheet" href="{url}"></head>', 1)
    return html
