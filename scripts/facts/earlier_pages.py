"""Which pages wait to be rewritten: they begin with ``records: earlier`` and quote the records of snippets/earlier.

The build doesn't check the numbers that such a page types.
"""

from __future__ import annotations

import re

EARLIER = re.compile(r"\A---\n(?:(?!---).*\n)*?records: earlier\n")


def is_earlier(markdown: str) -> bool:
    """Returns whether a page is one of these, by its front matter."""
    return bool(EARLIER.match(markdown))
