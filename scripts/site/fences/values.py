"""One number in running text: which number is asked for, and how it is printed.

    snippet.table.column key=value … FORMAT          the one row that answers
    least snippet.table.column key=value … FORMAT    the least of all rows that answer; ``most`` likewise
    snippet.table.column key=a/b key=value … FORMAT  row a's number divided by row b's
    least snippet.table.column key=a/b … FORMAT      the least ratio of all pairs that agree in the other columns that
                                                     select, which stand before the first column of floats
    hardware.H100."hbm bandwidth" T .2f              a constant of the registry of hardware
    cost.square_bytes(8192, 2) Mi .0f                a cost function of literal arguments, or a field of what it returns

    snippet.table.column key=value … FORMAT          in a piece's state: the column of all rows that answer

A value is compared as ``str()`` prints it; quotes keep one with spaces together. A slash makes no ratio where a row has
the whole as its value, such as heads=32/8. A word before FORMAT scales the number: k M G T Ki Mi Gi Ti divide it,
m u n multiply it, and % multiplies it by 100.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import takewhile
from types import ModuleType

from scripts.records import Record

WORD = re.compile(r'(?:[^\s"(]|"[^"]*"|\([^()]*\))+')  # a blank in quotes or parentheses ends no word
FORMAT = re.compile(r",?(?:\.[0-9])?[defg]")  # no fill: 9<9.2f would print 0.33 as 0.3399999
DIVIDE = {"k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}
MULTIPLY = {"m": 1e3, "u": 1e6, "n": 1e9, "%": 100}
EXTREMES = {"": None, "least": min, "most": max}


class ValueQueryError(Exception):
    """The number asked for is not there, or the query is not well put; the message says what there is."""


@dataclass(frozen=True)
class ValueQuery:
    """``selectors``: column -> the value that is wanted there, or the two values of a ratio with a slash between."""

    extreme: str
    address: str
    selectors: dict[str, str]
    scale: str
    format: str

    @property
    def snippet(self) -> str | None:
        """The snippet whose record answers; None if the hardware registry or a cost function does."""
        name = self.address.partition(".")[0]
        return None if name in ANSWERS else name

    def printed(self, number: object) -> str:
        """The number, scaled and formatted.

        Raises:
            ValueQueryError: if it is no number, or its format needs an integer and it is none.
        """
        if isinstance(number, bool) or not isinstance(number, int | float) or not math.isfinite(number):
            raise ValueQueryError(f"{number!r} stands there, which is not a number")
        if self.scale:
            number = number * MULTIPLY[self.scale] if self.scale in MULTIPLY else number / DIVIDE[self.scale]
        try:
            return format(number, self.format)
        except ValueError as error:
            raise ValueQueryError(f"{number!r} cannot be printed as {self.format}: {error}") from error


def parse(text: str) -> ValueQuery:
    """
    Raises:
        ValueQueryError: if ``text`` does not follow the grammar.
    """
    words = WORD.findall(text)
    extreme = words.pop(0) if words and words[0] in EXTREMES else ""
    grammar = "`#!value snippet.table.column key=value … FORMAT` is wanted"
    if len(words) < 2 or "".join(text.split()) != "".join("".join(each.split()) for each in WORD.findall(text)):
        raise ValueQueryError(grammar)  # a quote or a parenthesis that nothing closes belongs to no word
    address, *between, format_spec = words
    if not FORMAT.fullmatch(format_spec):
        raise ValueQueryError(f"{format_spec} is no format, such as d, .1f or ,.0f; {grammar}")
    scale = between.pop() if between and between[-1] in DIVIDE | MULTIPLY else ""
    selectors = {}
    for word in between:
        key, equals, value = word.partition("=")
        if not equals or key in selectors:
            raise ValueQueryError(f"{word} selects no row; {grammar}")
        selectors[key] = value.replace('"', "")
    return ValueQuery(extreme, address, selectors, scale, format_spec)


def split(text: str, separator: str) -> list[str]:
    """``text`` cut at each separator that does not stand in quotes or parentheses."""
    return re.findall(rf'(?:[^{separator}"(]|"[^"]*"|\([^()]*\))+', text) or [text]


def table_and_column(query: ValueQuery, record: Record) -> tuple[list[dict], str]:
    """The rows of the table that a query asks, and its column.

    Raises:
        ValueQueryError: if the record has no such table or column.
    """
    address = query.address.split(".")
    if len(address) != 3:
        raise ValueQueryError(f"{query.address} is no address: snippet.table.column is wanted")
    _, name, column = address
    tables = {table["name"]: table for table in record.tables()}
    if name not in tables:
        raise ValueQueryError(f"{record.name} has no table {name}; it has: {', '.join(tables) or 'none'}")
    rows, columns = tables[name]["rows"], [each["name"] for each in tables[name]["columns"]]
    for key in (column, *query.selectors):
        if key not in columns:
            raise ValueQueryError(f"{record.name}.{name} has no column {key}; it has: {', '.join(columns)}")
    return rows, column


def column_of_record(query: ValueQuery, record: Record) -> list[object]:
    """The numbers of a column, in the order of the rows that answer.

    Raises:
        ValueQueryError: if no row answers, or one number is asked for.
    """
    rows, column = table_and_column(query, record)
    if query.extreme:
        raise ValueQueryError(f"{query.extreme} asks for one number, and a column is wanted")
    return numbers(rows, column, query.selectors)


def record_value(query: ValueQuery, record: Record) -> object:
    """The number that a record answers with.

    Raises:
        ValueQueryError: if it has not exactly one answer.
    """
    rows, column = table_and_column(query, record)
    compared = [key for key, value in query.selectors.items() if "/" in value and not matching_rows(rows, {key: value})]
    if not compared:
        if query.extreme:
            return EXTREMES[query.extreme](numbers(rows, column, query.selectors))
        return single_row(rows, query.selectors)[column]
    sides = query.selectors[compared[0]].split("/")
    if len(compared) > 1 or len(sides) != 2:
        raise ValueQueryError("a ratio is of two rows: one selector holds one slash")
    first, second = (query.selectors | {compared[0]: side} for side in sides)
    if query.extreme:
        return EXTREMES[query.extreme](ratios(rows, column, compared[0], first, second))
    return divide(single_row(rows, first)[column], single_row(rows, second)[column])


def numbers(rows: list[dict], column: str, selectors: dict[str, str]) -> list[float]:
    """The column's numbers in all rows that answer."""
    answering = matching_rows(rows, selectors)
    values = [row[column] for row in answering if row[column] is not None]
    if not values:
        raise ValueQueryError(f"{len(answering)} rows answer, and none has a number")
    return values


def ratios(rows: list[dict], column: str, compared: str, first: dict[str, str], second: dict[str, str]) -> list[float]:
    """The ratio of each pair of rows that differ in ``compared`` and agree in all other columns that select rows:
    those which stand before the first column of measured numbers, which are floats.

    first, second: what is wanted of the two rows of a pair
    """
    select = [*takewhile(lambda key: not any(isinstance(row[key], float) for row in rows), rows[0])]
    select = [key for key in select if key not in (column, compared)]
    sides = []
    for selectors in (first, second):
        answering = [row for row in matching_rows(rows, selectors) if row[column] is not None]
        sides.append({tuple(row[key] for key in select): row[column] for row in answering})
        if len(sides[-1]) != len(answering):
            raise ValueQueryError(
                f"rows with {compared}={selectors[compared]} agree in {', '.join(select)}: which is meant?"
            )
    above, below = sides
    if not above.keys() & below.keys():
        raise ValueQueryError(f"no two rows that differ in {compared} agree in {', '.join(select)}")
    return [divide(above[key], below[key]) for key in above if key in below]


def matching_rows(rows: list[dict], selectors: dict[str, str]) -> list[dict]:
    return [row for row in rows if all(str(row[key]) == value for key, value in selectors.items())]


def single_row(rows: list[dict], selectors: dict[str, str]) -> dict:
    answering = matching_rows(rows, selectors)
    if len(answering) == 1:
        return answering[0]
    detail = ""
    for key, value in selectors.items():
        if not answering and not matching_rows(rows, {key: value}):
            detail += f"; {key} is one of {', '.join(dict.fromkeys(str(row[key]) for row in rows))}"
    differ = [key for key in rows[0] if len({str(row[key]) for row in answering}) > 1]
    detail += f"; they differ in {', '.join(differ)}" if differ else ""
    raise ValueQueryError(f"{len(answering)} rows answer, and one is wanted{detail}")


def divide(first: object, second: object) -> float:
    try:
        return first / second
    except (TypeError, ZeroDivisionError) as error:
        raise ValueQueryError(f"{first!r} cannot be divided by {second!r}") from error


def hardware_value(query: ValueQuery, hardware: ModuleType) -> tuple[float, str]:
    """A constant of the registry, and what it rests on."""
    chips = {name: chip for name, chip in vars(hardware).items() if name.isupper() and isinstance(chip, dict)}
    _, chip, *name = (part.strip('"') for part in split(query.address, "."))
    if chip not in chips:
        raise ValueQueryError(f"the registry of hardware has no {chip}; it has: {', '.join(chips)}")
    if len(name) != 1 or name[0] not in chips[chip]:
        raise ValueQueryError(f"{chip} has no {'.'.join(name)!r} in the registry; it has: {', '.join(chips[chip])}")
    constant = chips[chip][name[0]]
    return constant.value, f"{constant.source} ({constant.trust})"


def cost_value(query: ValueQuery, cost: ModuleType) -> tuple[float, str]:
    """What a cost function returns, or a field of it, and the call."""
    call = query.address.removeprefix("cost.")

    def evaluate(node: ast.expr) -> object:
        match node:
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=named):
                if not callable(vars(cost).get(name)):
                    raise ValueQueryError(f"there is no cost function {name}")
                by_name = {each.arg: ast.literal_eval(each.value) for each in named}
                return vars(cost)[name](*map(ast.literal_eval, arguments), **by_name)
            case ast.Attribute(value=whole, attr=field):
                return getattr(evaluate(whole), field)
            case ast.Subscript(value=whole, slice=place):
                return evaluate(whole)[ast.literal_eval(place)]
        raise ValueQueryError(f"{ast.unparse(node)} is no call of a cost function")

    try:
        return evaluate(ast.parse(call, mode="eval").body), f"counted: {call}"
    except (ValueError, TypeError, SyntaxError, AttributeError, LookupError) as error:
        raise ValueQueryError(f"{call}: {error}") from error


ANSWERS: dict[str, Callable[[ValueQuery, ModuleType], tuple[float, str]]] = {
    "hardware": hardware_value,
    "cost": cost_value,
}


def of_library(query: ValueQuery, modules: dict[str, ModuleType]) -> tuple[float, str]:
    """The number that the hardware registry or a cost function answers with, and what it rests on.

    modules: ``{"hardware": …, "cost": …}``
    """
    if query.extreme or query.selectors:
        raise ValueQueryError("least, most and selectors ask a table of a record")
    name = query.address.partition(".")[0]
    return ANSWERS[name](query, modules[name])
