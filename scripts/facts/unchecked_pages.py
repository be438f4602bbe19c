"""Which pages wait to be rewritten: they begin with ``numbers: unchecked``.

Such a page quotes the records of snippets/earlier, and the build doesn't check the numbers that it types.
"""

from __future__ import annotations

import re

MARK = re.compile(r"\A---\n(?:(?!---).*\n)*?numbers: unchecked\n")


def is_unchecked(markdown: str) -> bool:
    """Returns whether a page is one of these, by its front matter."""
    return bool(MARK.match(markdown))
