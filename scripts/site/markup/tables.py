"""Tables as Material's script would leave them, wrapped so that a wide one scrolls; columns of numbers stand right.

Material's script wraps each table that has no class, once the page is shown, and the browser then works out every style
and place a second time.
"""

from __future__ import annotations

import re
from html import escape, unescape

TABLE = re.compile(r"<table(?P<attributes>[^>]*)>(?P<rows>.*?)</table>", re.DOTALL)
ROW = re.compile(r"<tr\b[^>]*>.*?</tr>", re.DOTALL)
CELL = re.compile(r"<(t[hd])\b([^>]*)>(.*?)(?=</\1>)", re.DOTALL)
TAG = re.compile(r"<[^>]*>")
# A number, with a sign before it or a unit behind; a dash stands for one that there is not.
NUMBER = re.compile(r"[−+±-]?(?=[.,\d])[\d,]*\.?\d*(?:·10\S+)?(?:[\s\u00a0]?(?:%|[a-zA-Zµ/]{1,7}|×))?|[–-]?")  # noqa: RUF001
EQUATION = re.compile(r"\d[\d.,]*(?: [·/+−] \d[\d.,]*)+ (?==)(= \d[\d.,]*)")  # noqa: RUF001
SHORT = 16  # characters, of an equation in which no line ends
WRAPPER = '<div class="md-typeset__scrollwrap"><div class="md-typeset__table">{}</div></div>'


def wrap_tables(html: str) -> str:
    """``html`` with each table that has no class given ours, which the stylesheet knows, and its numbers theirs."""
    return TABLE.sub(wrap_table, html)


def wrap_table(match: re.Match) -> str:
    attributes, rows = match["attributes"], match["rows"]
    if "class=" not in attributes:
        rows = add_headings(rows) if is_in_by_hand_callout(match.string[: match.start()]) else hold_equations(rows)
        return WRAPPER.format(f'<table class="hb-grid"{attributes}>{mark_columns(rows, numeric_columns(rows))}</table>')
    if "hb-grid" not in attributes:
        return match[0]
    head, end, body = rows.partition("</thead>")  # of a run's table: each of its cells says whether it is a number
    first = ROW.search(body)
    columns = [i for i, cell in enumerate(CELL.findall(first[0] if first else "")) if "hb-number" in cell[1]]
    return f"<table{attributes}>{mark_columns(head, set(columns))}{end}{body}</table>"


def is_in_by_hand_callout(before: str) -> bool:
    """Whether what comes after ``before`` is in a callout *By hand*."""
    inside = before[before.rfind('<div class="admonition') :]
    return inside.startswith('<div class="admonition by-hand') and inside.count("<div") > inside.count("</div")


def add_headings(rows: str) -> str:
    """``rows`` in which each cell says what stands above it, for a phone, and no line ends within a vector.

    A result's sign of equality is apart, so that signs stand below one another, and so do the ends of numbers.
    """
    heads = [escape(unescape(TAG.sub("", text).strip())) for tag, _, text in CELL.findall(rows) if tag == "th"]

    def cells(row: re.Match) -> str:
        remaining_heads = iter(heads)
        cells_of_row = re.sub(r"<td\b", lambda _: f'<td data-head="{next(remaining_heads)}"', row[0])
        cells_of_row = re.sub(r'(data-head="result"[^>]*>)= ', r"\1<i>=</i> ", cells_of_row)
        return re.sub(r"\[[^][<]*\]", lambda vector: vector[0].replace(" ", "\u00a0"), cells_of_row)

    return ROW.sub(cells, rows)


def hold_equations(rows: str) -> str:
    """``rows`` in which no line ends in a short equation, or behind the sign of a longer one."""

    def held(equation: re.Match) -> str:
        together = equation[0] if len(equation[0]) <= SHORT else equation[1]
        return equation[0].replace(together, f'<span class="hb-held">{together}</span>')

    return "".join(
        part if part.startswith("<") else EQUATION.sub(held, part) for part in re.split(f"({TAG.pattern})", rows)
    )


def numeric_columns(rows: str) -> set[int]:
    """The columns that have nothing but numbers below their heads, and no place that the page gives them."""
    cells = [CELL.findall(row) for row in ROW.findall(rows)]
    body = [[(attributes, text) for _, attributes, text in row] for row in cells if row and row[0][0] == "td"]
    if not body:
        return set()
    numeric = set()
    for i in range(max(map(len, body))):
        column = [row[i] for row in body if i < len(row)]
        texts = [TAG.sub("", text).strip() for _, text in column]
        if (
            any(texts)
            and all(map(NUMBER.fullmatch, texts))
            and not any("align" in attributes for attributes, _ in column)
        ):
            numeric.add(i)
    return numeric


def mark_columns(rows: str, columns: set[int]) -> str:
    """``rows`` with the class of numbers on the cells of these columns."""
    if not columns:
        return rows

    def cells(row: re.Match) -> str:
        position = iter(range(row[0].count("</t")))
        return CELL.sub(lambda cell: mark(cell) if next(position) in columns else cell[0], row[0])

    def mark(cell: re.Match) -> str:
        return cell[0] if "class=" in cell[2] else f'<{cell[1]}{cell[2]} class="hb-number">{cell[3]}'

    return ROW.sub(cells, rows)
