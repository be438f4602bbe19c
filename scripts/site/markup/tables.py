"""Tables as Material's script would leave them, wrapped so that a wide one scrolls.

Material's script wraps each table that has no class, once the page is shown, and the browser then works out every style
and place a second time.
"""

from __future__ import annotations

import re

BARE = re.compile(r"<table(?![^>]*\bclass=)([^>]*)>(.*?)</table>", re.DOTALL)
WRAPPED = (
    r'<div class="md-typeset__scrollwrap"><div class="md-typeset__table">'
    r'<table class="hb-grid"\1>\2</table></div></div>'
)


def wrap(html: str) -> str:
    """``html`` with each table that has no class given ours, which the stylesheet knows."""
    return BARE.sub(WRAPPED, html)
