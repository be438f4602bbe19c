# ruff: noqa: RUF001, RUF002  (signs as pages print them)
"""The paragraphs of a page as plain text: what a reader sees, with formulas in the signs of a sentence."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

CODE = "\N{WHITE SQUARE}"  # stands for code, for a value, and for what a formula says in commands
FACT = "\N{BLACK SQUARE}"  # stands for the words of a fact
HIDDEN = re.compile(r"\A---.*?^---$|^( *)(```|~~~).*?^\1\2 *$|\$\$.*?\$\$|<!--.*?-->", re.DOTALL | re.MULTILINE)
CAPTION = re.compile(r"\b(?:caption|note)=\"([^\"]*)\"")
EQUALS = re.compile(r"\|(?=\s*=\s)")  # a cell that goes on where the one before it ended: | 2 · 3 | = 6 |
SIGNS = {r"\cdot": "·", r"\times": "×", r"\approx": "≈", r"\ln": "ln ", r"\,": " ", r"\;": " ", r"\%": "%", "{,}": ","}
SIGNS |= {r"\left": "", r"\right": "", r"\sqrt": "√", "-": "\N{MINUS SIGN}", "{": "(", "}": ")"}


class Paragraph(NamedTuple):
    """A paragraph, an item, a heading, a cell of a table or a caption; ``line`` is where it begins, from 1."""

    text: str
    line: int


def paragraphs(markdown: str) -> Iterator[Paragraph]:
    """Yields what a reader sees of a page, but for code, displayed formulas and the list of references."""
    for fence in HIDDEN.finditer(markdown):
        for caption in CAPTION.findall(fence[0].partition("\n")[0]):
            yield Paragraph(to_plain_text(caption), markdown.count("\n", 0, fence.start()) + 1)
    text = HIDDEN.sub(lambda hidden: re.sub(r"[^\n]", " ", hidden[0]), markdown)
    text = re.sub(r"^## References.*", "", text, flags=re.DOTALL | re.MULTILINE)
    for block in re.finditer(r"(?:^.*\S.*\n?)+", text, re.MULTILINE):
        parts = re.split(r"\n(?= *(?:[-*] |\d+\. |\||#|!!!|\?\?\?))", block[0])
        line = text.count("\n", 0, block.start()) + 1
        for part in parts:
            cells = re.split(r"(?<!\\)\|", EQUALS.sub(" ", part)) if part.lstrip().startswith("|") else [part]
            yield from (Paragraph(to_plain_text(cell), line) for cell in cells if cell.strip())
            line += part.count("\n") + 1


def to_plain_text(text: str) -> str:
    """Returns one paragraph of Markdown as text. Links keep their addresses: one to the references vouches."""
    text = re.sub(r"`[^`]*`", CODE, " ".join(text.split()))
    text = re.sub(r"\$(.+?)\$", lambda formula: tex_to_text(formula[1]), text)
    text = re.sub(r"\[[^\]]*\]\{fact=[\w.]+\}", FACT, text)
    text = re.sub(r"!\[[^\]]*\]\([^)]*\)(?:\{[^}]*\})?", " ", text)
    return re.sub(r"[*_]{2,3}|(?<!\w)[*_](?=\S)|(?<=\S)[*_](?!\w)", "", text).replace("&nbsp;", " ")


def tex_to_text(tex: str) -> str:
    r"""Returns a formula in the signs of a sentence: ``e^{-1}`` is e^(−1), ``\frac{a}{b}`` is ((a)/(b))."""
    tex = re.sub(r"\\frac\{([^{}]*)\}\{([^{}]*)\}", r"((\1)/(\2))", tex)
    tex = re.sub(r"\\(?:text|mathrm)\{([^}]*)\}", r" \1 ", tex)
    for sign, word in SIGNS.items():
        tex = tex.replace(sign, word)
    return re.sub(r"\\[a-zA-Z]+|\\.", f" {CODE} ", tex)
