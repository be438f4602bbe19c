"""What the tests of pages share: the text of a page, the three words of chapter 1, and how pages write numbers."""

import re
from math import exp, sqrt
from xml.etree import ElementTree

import pytest

from kernels.bench.hardware import H100
from scripts import records
from scripts.records import ROOT


def words(page):
    """The text of a page or drawing on one line, without bold, hard spaces, addresses of links and markup of SVG."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    if page.endswith(".svg"):
        text = " ".join(ElementTree.fromstring(text).itertext())
    return " ".join(without_addresses(text).replace("**", "").split())


def without_addresses(text):
    """Markdown with the words of each link and not where it leads."""
    return re.sub(r"\[([^\]]*)\]\([^)\s]+\)", r"\1", text)


def minutes(sheet):
    """The minutes of a whiteboard sheet, row by row of its board sequence."""
    text = (ROOT / "docs" / sheet).read_text(encoding="utf-8")
    return [int(found) for found in re.findall(r"^\| (\d+) \|", text, re.MULTILINE)]


def value(name):
    """A constant of the H100 in the registry."""
    return H100[name].value


def table(snippet, name):
    """The rows of a recorded table; the test is skipped, with the reason, while the snippet awaits its run."""
    try:
        return records.read(snippet).table(name)
    except records.Missing as error:
        pytest.skip(str(error))


def row(snippet, name, **wanted):
    """The one row of a recorded table that has these values."""
    found = [row for row in table(snippet, name) if wanted.items() <= row.items()]
    assert len(found) == 1, f"{len(found)} rows of {snippet}.{name} have {wanted}"
    return found[0]


def dot(a, b):
    return sum(x * y for x, y in zip(a, b, strict=True))


def softmax(scores):
    return [exp(score) / sum(map(exp, scores)) for score in scores]


def blend(shares, rows):
    return [dot(shares, column) for column in zip(*rows, strict=True)]


def vector(numbers, digits=0):
    return "[" + ", ".join(f"{number:.{digits}f}" for number in numbers) + "]"


def percent(shares, digits=0, between=" %, "):
    return between.join(f"{100 * share:.{digits}f}" for share in shares) + " %"


# The three words: their scores, their shares undivided, divided by √d and as rounded at the board.
Q = [[1, 0], [1, 1], [0, 1]]
K = [[1, 0], [0, 1], [1, 1]]
V = [[10, 0], [0, 10], [5, 5]]
S = [[dot(q, k) for k in K] for q in Q]
SHARES = [softmax(row) for row in S]
SHARES_DIVIDED = [softmax([score / sqrt(2) for score in row]) for row in S]
AT_THE_BOARD = [[0.4, 0.2, 0.4], [0.25, 0.25, 0.5], [0.2, 0.4, 0.4]]
