# ruff: noqa: RUF001  (signs as the pages print them)
"""A page's Markdown as plain text, block by block, with its formulas in the words of ``arithmetic`` and its values."""

import re
from dataclasses import dataclass
from functools import cache
from html import unescape
from xml.etree import ElementTree

from scripts.records import ROOT, Reader
from scripts.site.fences import Fences

DOCS = ROOT / "docs"
DRAWINGS = DOCS / "assets" / "drawings"
EARLIER = Reader(earlier=True)  # as the pages have it that still have claims and marks
FENCES = Fences(EARLIER, EARLIER, {"hardware": "kernels.bench.hardware", "cost": "kernels.bench.cost"})
FENCE = re.compile(r"^( *)```.*?^\1```$", re.DOTALL | re.MULTILINE)
FRONT_MATTER = re.compile(r"\A---\n.*?^---\n", re.DOTALL | re.MULTILINE)
BOX = re.compile(r'^( *)(?:!!!|\?\?\?\+?) ([\w-]+)(?: "(.*)")?')
SAYS = re.compile(r"""(?:caption|note|title|alt|label) *= *("[^"]*"|'[^']*')""")  # an option that a reader sees
CODE = "\N{WHITE SQUARE}"  # stands for code in a sentence, and for a value whose snippet has never run
CLAIM = "\N{INVISIBLE SEPARATOR}"  # on both sides of the words of a claim
VALUE = "\N{INVISIBLE PLUS}"  # on both sides of a number that is quoted
PICTURE = re.compile(r"!\[([^\]]*)\]\(([^)\s]+)\)")
COUNTS = {"two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10}
COUNTS |= {"eleven": 11, "twelve": 12}
MEASURED = re.compile(r"[\d.,½⅓⅔¼¾]+ ?[µ\w%/°×-]+")
WORDS = r"\text", r"\mathrm", r"\operatorname", r"\textstyle"
SIGNS = {
    r"\cdot": "·",
    r"\times": "×",
    r"\approx": "≈",
    r"\ln": "ln ",
    r"\log_2": "log₂ ",
    r"\sqrt": "√",
    r"\lVert": "",
}
SIGNS |= {r"\left": "", r"\right": "", r"\,": " ", r"\;": " ", r"\ ": " ", r"\%": "%", r"\bigl": "", r"\bigr": ""}
SIGNS |= {r"\!": "", "{,}": ",", r"\infty": "∞", r"\pi": "π", r"\beta": "β", r"\ell": "ℓ", "&": " "}


@dataclass(frozen=True)
class Block:
    """A paragraph, a row of a table or an item of a list."""

    text: str
    line: int
    box: int | None  # the line of the by-hand box around it


@cache
def blocks(page):
    """The blocks of a page in ``docs``."""
    return read((DOCS / page).read_text(encoding="utf-8"))


def read(markdown):
    """The blocks of a text in Markdown, of fences the captions alone, without front matter and references."""
    markdown = FRONT_MATTER.sub(lambda match: "\n" * match.group().count("\n"), markdown)
    text = FENCE.sub(lambda match: options(match.group()) + "\n" * match.group().count("\n"), markdown)
    text = re.sub(r"^## References.*", "", text, flags=re.DOTALL | re.MULTILINE)
    found, lines, box, indent = [], [], None, 0

    def end():
        if lines:
            found.append(Block(plain(" ".join(line.strip() for _, line in lines)), lines[0][0], box))
            lines.clear()

    for number, line in enumerate(text.splitlines(), 1):
        opening = BOX.match(line)
        ends_box = box is not None and line.strip() and len(line) - len(line.lstrip()) < indent
        if not line.strip() or opening or ends_box or re.match(r" *(\||[-*] |\d+\. |#)", line):
            end()
        if ends_box:
            box = None
        if opening:
            if opening[2] == "by-hand":
                box, indent = number, len(opening[1]) + 4
            found.append(Block(plain(opening[3] or ""), number, None))
            continue
        if line.strip():
            lines.append((number, line))
            if line.startswith("#"):
                end()
    end()
    return found


def options(element):
    """What a reader sees of the options of a fence, or of the attributes of an element of HTML."""
    return "".join(f"{said[1:-1]} " for said in SAYS.findall(element.partition("\n")[0]))


def drawn(path):
    """The words of a drawing on one line."""
    return " ".join(" ".join(ElementTree.parse(path).getroot().itertext()).split())


def plain(text):
    """One block of Markdown as text: links are their words, values their numbers, formulas are read aloud."""
    text = re.sub(r"`([\d.,]+)`(?= ?[a-zA-Zµ%])", r"\1", text)
    text = re.sub(r"`([^`]*)`", lambda match: code(match[1]), text)
    text = unescape(text).replace("\N{GREEK SMALL LETTER MU}", "\N{MICRO SIGN}")
    text = re.sub("[\u200b-\u200d\u2060\u00ad]", "", re.sub("[\u00a0\u2000-\u200a\u202f]", " ", text))
    text = re.sub(rf"\b(?:{'|'.join(COUNTS)})(?=(?:fold| times)?<!-- =)", lambda word: str(COUNTS[word[0]]), text)
    text = re.sub(r"\$\$(.+?)\$\$|\$(.+?)\$", lambda match: spoken(match[1] or match[2]), text)
    text = re.sub(r"\[((?:[^\[\]]|\[[^\]]*\])*)\]\{claim=\w+\}", rf"{CLAIM}\1{CLAIM}", text)
    text = PICTURE.sub(lambda match: "" if "assets/drawings/" in match[2] else match[1], text)
    text = re.sub(r"\[((?:[^\[\]]|\[[^\]]*\])*)\]\([^)\s]+\)", r"\1", text)
    text = re.sub(r"\{ ?[.:#][^}]*\}", "", text)
    text = re.sub(r"<(?!!--)/?\w[^>]*>", lambda match: options(match.group()), text)
    text = re.sub(r"(?<![\w}])(_{1,2})([\d.,]+)\1(?!\w)", r"\2", text)
    return text.replace("*", "").replace("\\|", "|")


def code(source):
    """What stands for code: the number of a value, a number with a unit as it is, of all else a sign."""
    if source.startswith("#!value "):
        return value(source)
    return source if MEASURED.fullmatch(source) else CODE


def value(source):
    """The number that stands on the page where ``#!value`` stands in the Markdown."""
    html = FENCES.value(source.removeprefix("#!value "), "", "", None)
    html = re.sub(r' <span class="hb-stale".*?</span>', "", html)
    text = unescape(re.sub(r"<[^>]*>", "", html))
    return CODE if text.startswith("[") else f"{VALUE}{text}{VALUE}"


def spoken(tex):
    r"""A formula in the signs of a sentence: ``\frac{a}{b}`` is (a)/(b); what has no such sign ends an expression."""
    tex = re.sub(r"\\begin\{pmatrix\}(.*?)\\end\{pmatrix\}", lambda match: matrix(match[1]), tex)
    tex = tex.replace("]] [[", "]] · [[")
    tex = re.sub(r"\\(?:begin|end)\{[^}]*\}", " ", tex)
    for command in WORDS:
        tex = re.sub(re.escape(command) + r"\{([^}]*)\}", r" \1 ", tex)
    for sign, words in sorted(SIGNS.items(), key=lambda each: -len(each[0])):
        tex = re.sub(re.escape(sign) + r"(?![a-zA-Z])" if sign[-1].isalpha() else re.escape(sign), words, tex)
    fraction = re.compile(r"\\frac\{((?:[^{}]|\{[^{}]*\})*)\}\{((?:[^{}]|\{[^{}]*\})*)\}")
    while fraction.search(tex):
        tex = fraction.sub(r"((\1)/(\2))", tex)
    tex = re.sub(r"\\\w+|\\.", f" {CODE} ", tex)
    tex = re.sub(r"(?<=[\w)}\]]) (?=[A-Za-z(](?![a-z]))", "\u2062", tex)
    return (
        re.sub(r"(?<=[A-Za-z])(?=[A-Za-z]\b)(?<![a-z][a-z])", "\u2062", tex) if re.fullmatch(r"\S{1,12}", tex) else tex
    )


def matrix(rows):
    cells = [[cell.strip() for cell in row.split("&")] for row in rows.split("\\\\")]
    return "[" + ", ".join(f"[{', '.join(row)}]" for row in cells) + "]"
