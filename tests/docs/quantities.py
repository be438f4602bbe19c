"""The numbers with a unit on a page, and what vouches for them: an equation, a value, a claim, a mark."""

import re
from functools import cache

from tests.docs.equations import equations
from tests.docs.pages import CLAIM, DOCS, VALUE, blocks

UNITS = "[TGM]?FLOP/s|[KMGT]i?B(?:/s)?|TB a second|bytes a clock|FLOP a clock|[µmn]?s|seconds|[kMG]Hz|%|percent"
NUMBER = re.compile(rf"\d(?:[\d.,]*\d)?{VALUE}?(?: million| billion)? (?:{UNITS})(?!\w)")
MARK = re.compile(r"<!--.*?-->")
GIVEN = "<!-- given -->"  # a setting, or a figure whose source the page names


def quantities(found):
    """(number and unit, whether something vouches for it here) of each number with a unit in these blocks."""
    sure = {
        (each.line, start) for each in equations(found) if each.verdict in ("holds", "marked") for start in each.numbers
    }
    for block in (block for block in found if not block.text.startswith("#")):  # a heading may quote what is wrong
        for match in NUMBER.finditer(MARK.sub(lambda mark: " " * len(mark[0]), block.text)):
            before = block.text[: match.start()]
            vouched = (
                (block.line, match.start()) in sure
                or VALUE in match.group()
                or before.count(CLAIM) % 2 == 1
                or block.text.startswith(GIVEN, match.end())
            )
            yield match.group().replace(VALUE, ""), vouched, before[-40:]


@cache
def vouched(page):
    return {quantity for quantity, sure, _ in quantities(blocks(page)) if sure}


def known(page):
    """The quantities that are computed on this page, and on the chapters of which it is the sheet."""
    text = (DOCS / page).read_text(encoding="utf-8")
    chapters = re.findall(r"\((?:\.\./)?(chapters/[\w-]+\.md)", text) if page.startswith("whiteboard/") else []
    return vouched(page).union(*map(vouched, chapters))


def results(found):
    """(line, place) of each number that stands behind a sign of equality or before a mark, and holds."""
    text = {block.line: block.text for block in found}
    for each in equations(found):
        if each.verdict in ("holds", "marked", "given") and each.numbers:
            first, last = min(each.numbers), max(each.numbers)
            sign = max(text[each.line].rfind(sign, first, last) for sign in "=≈")
            yield from ((each.line, at) for at in each.numbers if at > sign or "<!--" in each.text)
