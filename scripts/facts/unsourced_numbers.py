# ruff: noqa: RUF001  (signs as pages print them)
"""The numbers with a measured unit that a page types, and the speeds that it compares, for which nothing vouches.

A value, a fact, the result of an equation, or a link to the references in the same sentence vouches for a number and
for *twice as fast*. A number without such a unit is free, and so is a page that begins with ``numbers: unchecked``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from scripts.facts.equations import Equation
from scripts.facts.paragraphs import Paragraph

UNIT = r"(?:[nmµu]?s|(?:milli|micro|nano)?seconds?|[kMGT]?B/s|[GTP]?FLOP/s|[MG]Hz|W|watts?)(?!\w)"
COUNT = r"(?<![\d.,√])\d[\d.,]*"
WORDS = r"twice|half|(?:a|one|two|three) (?:third|quarter|fifth|sixth|eighth|tenth)s?|(?:\w+|a hundred) times"
MEASURED = re.compile(
    rf"{COUNT}[- \N{{NO-BREAK SPACE}}]?{UNIT}"
    rf"|{COUNT} times (?:as (?:fast|slow|long)|faster|slower|the (?:speed|time))"
    rf"|\b(?:{WORDS}) (?:as (?:fast|slow)|faster|slower|(?:of )?the (?:speed|time)(?= of\b))"
    rf"|\bt(?:akes?|ook) (?:about |nearly |almost )?(?:{WORDS}) as long"
    rf"|{COUNT} ?[×x](?= (?:as\b|faster|slower|the\b|[a-z]{{0,2}}[A-Z][A-Za-z]))"
)
REFERENCES = re.compile(r"\]\([^)]*(?:references\.md|#references)|\]\(https?://")


def unsourced_numbers(paragraph: Paragraph, equations: list[Equation]) -> Iterator[str]:
    """Yields the numbers of a paragraph with a measured unit, and its comparisons, for which nothing vouches.

    equations: those of the paragraph
    """
    computed = [(equation.start, equation.end) for equation in equations if not equation.wrong]
    for match in MEASURED.finditer(paragraph.text):
        inside = any(begin <= match.start() and match.end() <= end + 1 for begin, end in computed)
        before = re.split(r"[.!?] ", paragraph.text[: match.start()])[-1]
        after = re.split(r"[.!?](?: |$)", paragraph.text[match.start() :])[0]
        if not inside and not REFERENCES.search(before + after):
            yield match[0]
