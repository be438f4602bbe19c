# ruff: noqa: RUF001  (signs as the pages print them)
"""The numbers that are typed on a page, and what vouches for each: an equation, a value, a claim, a mark, or the same
number where one of these vouches for it.

What is looked at: a number with a unit, also one in words, or under a head that has the unit; "n times as fast"; every
other number from 10 on or with a decimal point; and each name that ends in a number, such as H100.
"""

import re
from collections import Counter
from dataclasses import dataclass
from functools import cache

from tests.docs.arithmetic import tokens
from tests.docs.equations import equations
from tests.docs.pages import CLAIM, COUNTS, DOCS, VALUE, blocks

GIVEN = "<!-- given -->"  # a setting, or a figure whose source the page names
GIVEN_HERE = re.compile(rf"(?:[ -]?\w+)?{GIVEN}")  # also behind a unit
MARK = re.compile(r"<!--.*?-->")
FROM = re.compile(r"<!-- = (.*?) -->")
# The names whose number is looked at by nobody else.
NAMES = re.compile(
    r"FP(?:4|8|16|32|64)|BF16|TF32|E2M1|E4M3|E5M2|E8M0|NVFP4|MXFP[48]|L[12]|[Ee]xp2|p[28]0|V100|A100|H[12]00|"
    r"FlashAttention-[234]|DeepSeek-V3|[SO]\d|A4|D7|A0"
)
BYTES = re.compile(r"(?=[\d ]*[A-F])(?:[0-9A-F]{2} ){2,7}[0-9A-F]{2}\b")  # rows of bytes have a test of their own

SIZE = r"[kKMGTP]i?[Bb](?:yte|it)?s?(?:/s|ps)?|(?:kilo|mega|giga|tera|kibi|mebi|gibi)(?:byte|bit)s?"
SPEED = r"[kMGTPE]?(?:FLOP|OP)(?:/s|S)|[kMGTPE]flop/?s|(?:giga|tera|peta|exa)flops?(?:/s)?|[kMGT]?Hz"
TIME = r"[µmnpu]s(?:ec)?|(?:milli|micro|nano)?sec(?:ond)?s?"
RATE = r"(?:[Tt]ok(?:en)?|[Ww]ord|step|request|call|FLOP|byte)s?(?:/(?:s|clock|byte)| (?:a|per) (?:second|clock))"
OTHER = r"(?<=\d )[mk]?[WJ]|(?<=\d)[mk]?[WJ]|(?:kilo|milli)?watts?|joules?|percentage points|per ?cent|pp"
UNIT = rf"(?:(?:{SIZE}|{SPEED}|{TIME}|{RATE}|{OTHER})(?!\w)(?: a second)?|[%‰]|°C)"
COUNT = rf"(?<![\w.√])(?:\d(?:[\d.,]*\d)?{VALUE}?|[½⅓⅔¼¾]|(?:{'|'.join(COUNTS)})\b)(?: and an? (?:half|quarter))?"
NUMBER = re.compile(rf"{COUNT}(?: (?:million|billion))?(?:(?: *|-)[(\[]?{UNIT}| +s(?!\w))")
THAN = "as|the|less|more|fewer|smaller|larger|slower|faster|longer|shorter|higher|lower"
TIMES = re.compile(
    rf"(?!\d\d|\d\.){COUNT}(?:(?: *times| *[×x])(?= *(?:{THAN})\b)|[ -]?fold\b)|\b(?:{'|'.join(COUNTS)})fold\b"
)
NAME = re.compile(r"(?<![\w.])(?:[A-Za-z][A-Za-z-]*\d[A-Za-z\d]*|\d+(?:\.\d+){2,})(?!\w)")  # also 3.6.0, a version
CHAPTER = re.compile(r"(?:[Cc]hapters?|Sheet) (?:\d+(?:, | and | to ))*$")


@dataclass(frozen=True)
class Typed:
    """A number on a page, with its unit.

    line, start: where it stands: the line of its block, and its place in the text of that
    by: what vouches for it there: *computed*, by an equation or a mark; *quoted*, a value or in a claim; *given*; if it
    is only the value of a name, *named*; or nothing
    """

    text: str
    line: int
    start: int
    by: str
    context: str

    @property
    def sure(self):
        return self.by in ("computed", "quoted", "given")

    def __str__(self):
        return f"line {self.line}: {self.context}{self.text}"


def unvouched(page, found):
    """The numbers in these blocks of a page for which nothing vouches, here or where the same number stands."""
    found = tuple(found)
    there = known(page, found)
    missing = [each for each in typed(found) if not each.sure and each.text not in there]
    of_works = page == "references.md"  # its numbers are those of works, but for what has a unit
    return [each for each in missing if not of_works or NUMBER.fullmatch(each.text)]


def known(page, found):
    """The numbers that are vouched for in these blocks of a page, or on the chapters of which it is the sheet."""
    return vouched(found).union(*(vouched(tuple(blocks(chapter))) for chapter in chapters(page)))


def chapters(page):
    """The chapters of which a page is the sheet, or that it corrects."""
    text = (DOCS / page).read_text(encoding="utf-8") if page.startswith(("whiteboard/", "corrections")) else ""
    return sorted(set(re.findall(r"\((?:\.\./)?(chapters/[\w-]+\.md)", text)))


@cache
def vouched(found):
    """The numbers for which something vouches in these blocks; two names of one value vouch for each other."""
    marks = {token.text for block in found for mark in FROM.findall(block.text) for token in tokens(mark)}
    named = Counter(each.text for each in typed(found) if each.by == "named")
    sure = {each.text for each in typed(found) if each.sure}
    return sure | marks | {text for text, times in named.items() if times > 1}


@cache
def typed(found):
    """The numbers of these blocks that are looked at."""
    verdicts = {(each.line, start): each.verdict for each in equations(found) for start in each.numbers}
    return [each for block, head in with_head(found) for each in in_block(block, head, verdicts)]


def with_head(found):
    """Each block; and if it is a row of a table, the unit in the head of each of its columns."""
    head, last = [], None
    for block in found:
        row = block.text.startswith("|")
        if row and (last is None or block.line > last + 1):
            cells = MARK.sub("", block.text).split("|")
            head = [re.search(rf"(?<![\w.]){UNIT}(?=\W*$)|(?<!\w)s(?=\W*$)", cell) for cell in cells]
        last = block.line if row else last
        yield block, head if row else []


def in_block(block, head, verdicts):
    text = MARK.sub(lambda mark: " " * len(mark[0]), block.text)
    if text.startswith("#") and '"' in text:
        return  # a heading may quote what is wrong

    def found(words, start, end):
        before = block.text[:start]
        by = {"holds": "computed", "marked": "computed", "given": "named"}.get(verdicts.get((block.line, start)), "")
        if GIVEN_HERE.match(block.text, end) or GIVEN in block.text[start:end]:
            by = "given"
        elif before.count(CLAIM) % 2 or before.count(VALUE) % 2 or VALUE in block.text[start:end]:
            by = "quoted"
        return Typed(" ".join(words.replace(VALUE, "").split()), block.line, start, by, before[-40:])

    for pattern in (NUMBER, TIMES):
        for match in pattern.finditer(text):
            yield found(match.group(), *match.span())
    rows = [match.span() for match in BYTES.finditer(text)]
    for match in NAME.finditer(text):
        if not NAMES.fullmatch(match.group()) and not any(a <= match.start() < b for a, b in rows):
            yield found(match.group(), *match.span())
    for token in tokens(block.text):
        before, behind = block.text[: token.start], block.text[token.end :]
        part = re.search(r"[A-Za-z][-_]?\d*$", before) or re.match(r"\.\d", behind) or CHAPTER.search(before)
        part = part or re.fullmatch(r"0\d+", token.text) or any(a <= token.start < b for a, b in rows)
        if token.kind == "number" and not part and ("." in token.text or len(token.text) > 1):
            yield found(token.text, token.start, token.end)
    start = 0
    for cell, unit in zip(text.split("|"), head, strict=False):
        if unit and (lone := re.fullmatch(rf" *[−-]?({COUNT}) *", cell)):
            yield found(f"{lone[1]} {unit[0]}", start + lone.start(1), start + lone.end(1))
        start += len(cell) + 1


def results(found):
    """(line, place) of each number that stands behind a sign of equality or before a mark, and holds."""
    text = {block.line: block.text for block in found}
    for each in equations(found):
        if each.verdict in ("holds", "marked", "given") and each.numbers:
            first, last = min(each.numbers), max(each.numbers)
            sign = max(text[each.line].rfind(sign, first, last) for sign in "=≈")
            yield from ((each.line, at) for at in each.numbers if at > sign or "<!--" in each.text)
