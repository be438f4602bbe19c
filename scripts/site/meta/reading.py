"""Counts a page's words, and says how long it takes to read."""

from __future__ import annotations

import re
from math import ceil

WORDS_PER_MINUTE = 200
NOT_COUNTED = re.compile(
    r"^( *)```.*?^\1```$"  # what a fence brings: code, outputs, figures
    r"|\$\$.*?\$\$|<!--.*?-->|<[^>]+>|`#!value [^`]*`|\]\([^)]*\)|\{fact=[\w.]+\}|^---\n.*?^---$",
    re.DOTALL | re.MULTILINE,
)
WORD = re.compile(r"[^\W_]+(?:['’.-][^\W_]+)*")  # noqa: RUF001
BACK_MATTER = re.compile(r"^## (?:Questions|References)\n.*?(?=^## |\Z)", re.DOTALL | re.MULTILINE)


def minutes(markdown: str) -> int:
    """Of a page's words, without its questions, references, code and outputs; in steps of five."""
    return 5 * ceil(count_words(markdown) / WORDS_PER_MINUTE / 5)


def count_words(markdown: str) -> int:
    return len(WORD.findall(NOT_COUNTED.sub(" ", BACK_MATTER.sub("", markdown))))
