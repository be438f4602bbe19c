# ruff: noqa: RUF001  (signs as a formula has them)
"""Puts no-break spaces into a list of numbers, between a sign and its number, and between a number and its unit."""

from __future__ import annotations

import re

SPACE = "\N{NO-BREAK SPACE}"
TEXT = re.compile(r"(<(?:pre|code|svg|script|style)\b.*?</(?:pre|code|svg|script|style)>|<[^>]*>)", re.DOTALL)
LIST = re.compile(r"[\[(][\d.,−∞ ]{3,24}[\])]")  # a step on paper is 58 mm wide
BIT_CODE = re.compile(r"\b[01] [01]{4} [01]{3}\b|(?<![\d.])\d(?:\.\d\d)?(?: \d(?:\.\d\d)?){2,9}\b")
PARENTHESES = re.compile(r"\([^\s()]{1,5} [−+·÷/] [^\s()]{1,5}\)")
PRODUCT = re.compile(r"(?<![\d.·÷=+] )(?<![\d.])\d{1,4} [·÷] \d{1,4}\b(?! ·)")
LETTER = re.compile(r"\b([A-Za-z][₁₂₃]?) (?==)")
SIGN = re.compile(r"([=÷·×→+−]) (?=[\d−√\[(½])")
NUMBERED = re.compile(r"\b([Ll]ines?|[Rr]ows?|[Ss]teps?|[Cc]hapter|[Ww]ords?|[Qq]uery|[Pp]rogram|[Bb]oard) (?=\d)")
UNIT = re.compile(r"(?<=\d) (?=(?:%|(?:[µm]?s|[KMGT]iB|[kMGT]?B|[GT]B/s|[GT]?FLOP(?:/s)?|bits?|bytes?)\b))")


def add_no_breaks(html: str) -> str:
    """The page's HTML with spaces that no line breaks at, outside tags and code."""
    parts = TEXT.split(html)
    return "".join(part if i % 2 else with_no_break_spaces(part) for i, part in enumerate(parts))


def with_no_break_spaces(text: str) -> str:
    for pattern in (LIST, BIT_CODE, PARENTHESES, PRODUCT):
        text = pattern.sub(lambda match: match[0].replace(" ", SPACE), text)
    for pattern in (LETTER, SIGN, NUMBERED):
        text = pattern.sub(rf"\1{SPACE}", text)
    return UNIT.sub(SPACE, text)
