"""Makes worksheets: the examples worked by hand with fresh numbers, without the key, and with it.

A chapter's own script, ``online_softmax/worksheet.py``, has a function ``worksheet(rng)`` that takes its numbers
from ``rng``, a ``random.Random``, and returns a ``Worksheet``, or None where they do not come out evenly: with what is
printed a hand must come to the very digits of the key, and these must be few.  The library checks each in the tests.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from importlib import import_module
from pathlib import Path

HYPHEN = re.compile(r"(?<!\w)-(?=[\d.∞])")
DASH = re.compile(r"^-$")  # a cell that stays empty
LONG = re.compile(r"(?<![\w.,])(?=\d*[2-9])[1-9]\d{4,}(?!\w|\.\d)")  # five digits, but not the bits of a code
ROW = re.compile(r"\[[^][]*\]")
LONG_ANSWER = 40  # signs from which on an answer has two lines to write on
VERSIONS = "ABCDEF"  # those on the site; `make worksheet` makes more
TRIES = 20_000
STYLE = """
body { color: #1c2430; font: 12pt/1.5 system-ui, sans-serif; margin: 1cm auto; max-width: 18cm; padding: 0 0.5cm; }
h1 { font-size: 16pt; } footer { border-top: 0.5pt solid #54525a; color: #54525a; font-size: 9pt; margin-top: 1cm; }
table { border-collapse: collapse; margin: 0.5cm 0; width: 100%; }
th, td { border: 0.5pt solid #54525a; height: 0.9cm; padding: 0 0.3cm; text-align: left; }
li { margin: 0.3cm 0; } .line { border-bottom: 0.5pt solid #54525a; display: block; height: 1cm; }
.key { color: #7a0a26; font-weight: 600; } @page { margin: 13mm 15mm; }
@media print {
  body { font-size: 10.5pt; line-height: 1.3; margin: 0; max-width: none; padding: 0; }
  p { margin: 0.2cm 0; } table { margin: 0.3cm 0; } th, td { height: 0.8cm; padding: 0 0.2cm; }
  ol { margin: 0.2cm 0; } li { break-inside: avoid; margin: 0.15cm 0; }
  footer { margin-top: 0.4cm; } p, li { text-wrap: pretty; } td:first-child { white-space: nowrap; }
  /* What the page has left is room to work in: between the questions, up to 4 cm each. */
  body.blank, .blank main, .blank ol { display: flex; flex-direction: column; } body.blank { min-height: 24.3cm; }
  .blank main, .blank ol { flex: 1; } .blank :is(p, ol, table) { margin-bottom: 0; }
  .blank li { flex: 1; margin: 0.15cm 0 0; max-height: 4.4cm; padding-bottom: 0.88cm; position: relative; }
  .blank li:has(.line + .line) { flex: 1.6; }
  .blank .line:has(+ .line) { transform: translateY(-0.9cm); }
  .blank .line { bottom: 0; height: 0; left: 0; position: absolute; right: 0; }
}
"""


class Blank(str):
    """What the key fills in, and the worksheet leaves empty."""


@dataclass
class Worksheet:
    """
    title: of the example   given: its paragraphs   head, rows: its table   questions: each with its answer

    All are text; ``e^{-1}`` is raised and ``x_{1}`` lowered.
    """

    title: str
    given: list[str]
    head: list[str]
    rows: list[list[str]]
    questions: list[tuple[str, str]] = field(default_factory=list)

    def html(self, version: str, key: bool) -> str:
        """A page by itself, ready to print."""
        head = "".join(f"<th>{text_html(cell)}</th>" for cell in self.head)
        rows = "".join(f"<tr>{''.join(f'<td>{cell_html(cell, key)}</td>' for cell in row)}</tr>" for row in self.rows)
        questions = "".join(f"<li>{text_html(ask)}{answer_html(answer, key)}</li>" for ask, answer in self.questions)
        what, body = (f"Key to worksheet {version}", "") if key else (f"Worksheet {version}", ' class="blank"')
        return (
            f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{what}: {escape(self.title)}</title>'
            f'<meta name="viewport" content="width=device-width"><style>{STYLE}</style></head><body{body}><main>'
            f"<h1>{escape(self.title)}</h1>{''.join(f'<p>{text_html(text)}</p>' for text in self.given)}"
            f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table><ol>{questions}</ol></main>"
            f"<footer>The Attention Kernel Handbook · {what}</footer></body></html>\n"
        )

    def answers(self) -> list[str]:
        """All that the key fills in."""
        return [
            *(str(cell) for row in self.rows for cell in row if isinstance(cell, Blank)),
            *(a for _, a in self.questions),
        ]


def text_html(text: str) -> str:
    """Raised, lowered, with signs and commas as print has them, and no row of numbers broken at the end of a line."""
    text = DASH.sub("\N{EN DASH}", HYPHEN.sub("\N{MINUS SIGN}", text))
    text = LONG.sub(lambda number: f"{int(number[0]):,}", text)
    text = ROW.sub(lambda row: row[0].replace(" ", "\N{NO-BREAK SPACE}"), text)
    return re.sub(r"\^\{([^}]*)\}", r"<sup>\1</sup>", re.sub(r"_\{([^}]*)\}", r"<sub>\1</sub>", escape(text)))


def cell_html(cell: str, key: bool) -> str:
    if not isinstance(cell, Blank):
        return text_html(cell)
    return f'<span class="key">{text_html(cell)}</span>' if key else ""


def answer_html(answer: str, key: bool) -> str:
    if key:
        return f' <span class="key">{text_html(answer)}</span>'
    return '<span class="line"></span>' * (2 if len(answer) > LONG_ANSWER else 1)


def chapters() -> list[str]:
    """The chapters that have worksheets, by the names of their pages."""
    return [path.parent.name.replace("_", "-") for path in sorted(Path(__file__).parent.glob("*/worksheet.py"))]


def make(chapter: str, seed: str) -> Worksheet:
    """The worksheet of a chapter that belongs to this seed; A to F are those on the site.

    Raises:
        ValueError: if the chapter has none, or no numbers come out evenly.
    """
    if chapter not in chapters():
        raise ValueError(f"{chapter!r} has no worksheet; there are: {', '.join(chapters())}")
    script = import_module(f"scripts.chapters.{chapter.replace('-', '_')}.worksheet")
    rng = random.Random(f"{chapter} {seed}")
    for _ in range(TRIES):
        if found := script.worksheet(rng):
            return found
    raise ValueError(f"{chapter}: in {TRIES} tries no numbers came out evenly")


def pages() -> Iterator[tuple[str, str]]:
    """The pages of the site: the address of each below its folder, and its HTML."""
    for chapter in chapters():
        for version in VERSIONS:
            sheet = make(chapter, version)
            yield f"{chapter}/{version}.html", sheet.html(version, key=False)
            yield f"{chapter}/{version}-key.html", sheet.html(version, key=True)


def rows_text(rows: list) -> str:
    """A matrix in a line of text: [1, 0], [0, 1]."""
    return ", ".join(f"[{', '.join(map(str, row))}]" for row in rows)


def with_commas(number: int) -> str:
    """8192 and 16,384: with a comma from five digits on."""
    return f"{number:,}" if number > 9999 else str(number)


def list_text(numbers: Sequence) -> str:
    """A list in a line of text: [3.75, 6.25]."""
    return f"[{', '.join(f'{float(number):g}' for number in numbers)}]"


def bytes_text(bytes_: int) -> str:
    """A power of 2, or a few times one, in KiB, MiB, GiB or TiB."""
    unit = min((bytes_.bit_length() - 1) // 10, 4)
    return f"{bytes_ / 2 ** (10 * unit):,.4g} {['bytes', 'KiB', 'MiB', 'GiB', 'TiB'][unit]}"
