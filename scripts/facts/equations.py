# ruff: noqa: RUF001  (signs as pages print them)
"""Evaluates the equations on a page where they stand: ``64 · 8192 · 4 bytes = 2 MiB``, ``1.368 · e⁻¹ = 0.503``.

A text becomes tokens. A run of arithmetic tokens with a sign of equality in it is a chain, and each member that can be
computed must be what the one before it comes to, to its printed digits. What can't be read is free: names, and formulas
with names. Numbers, units, vectors, powers, roots and a few functions can.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

PREFIXES = {"": 1, "n": 1e-9, "µ": 1e-6, "m": 1e-3, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
PREFIXES |= {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "%": 0.01, "million": 1e6, "billion": 1e9}
UNIT = r"(?:(?:[KMGT]i|[nµmkMGT])?(?:B|bytes?|FLOP|Hz|s|seconds?|W)(?:/s)?(?!\w)|%|(?:million|billion)\b)"
PREFIX = re.compile(r" ?(%|million|billion|[KMGT]i(?=B)|[nµmkMGT](?=B|FLOP|Hz|s|W)|)")
SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
PYTHON = {"−": "-", "·": "*", "×": "*", "÷": "/", "^": "**", "mod": "%", "div": "//", "[": "vector(", "]": ")"}
PYTHON |= {"√": "sqrt", "log₂": "log2"}
NUMBER = r"(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?(?!\d)|\d+(?:\.\d+)?(?![\w.]*\d)|\.\d+)(?:·10[⁰¹²³⁴⁵⁶⁷⁸⁹⁻]+)?"
TOKENS = re.compile(
    rf"(?P<number>{NUMBER})|(?P<unit>(?<=[\d)\]]) ?{UNIT})|(?P<raised>[⁰¹²³⁴⁵⁶⁷⁸⁹⁻]+)|(?P<equals>[=≈])"
    r"|(?P<sign>[+−·×÷/^]|\b(?:mod|div)\b)|(?P<bracket>[()\[\],])|(?P<function>√|\b(?:ln|exp)\b|log₂)"
    r"|(?P<e>(?<![A-Za-z0-9_])e(?![A-Za-z0-9_]))|(?P<space>\s+)|(?P<other>\w+|.)"
)


class Equation(NamedTuple):
    """A chain in a text from ``start`` to ``end``.

    wrong: which of its signs doesn't hold, empty if all do
    results: where the single numbers behind its signs stand
    """

    start: int
    end: int
    wrong: str
    results: list[tuple[int, int]]


class Token(NamedTuple):
    kind: str
    text: str
    start: int
    end: int


class Vector(tuple):
    """Numbers in square brackets: added, multiplied and divided one by one; two of them make a dot product."""

    def __add__(self, other: Vector) -> Vector:
        return Vector(a + b for a, b in zip(self, other, strict=True))

    def __sub__(self, other: Vector) -> Vector:
        return self + -other

    def __mul__(self, other: float | Vector) -> float | Vector:
        if isinstance(other, Vector):
            return sum(a * b for a, b in zip(self, other, strict=True))
        return Vector(a * other for a in self)

    def __truediv__(self, other: float) -> Vector:
        return self * (1 / other)

    def __neg__(self) -> Vector:
        return self * -1

    __rmul__ = __mul__


NAMES = {"__builtins__": {}, "vector": lambda *numbers: Vector(numbers), "e": math.e, "ln": math.log, "exp": math.exp}
NAMES |= {"sqrt": math.sqrt, "log2": math.log2}


def equations(text: str) -> Iterator[Equation]:
    """Yields each chain of a text of which at least one sign can be checked."""
    tokens: list[Token] = []
    for match in [*TOKENS.finditer(text), None]:
        kind = match.lastgroup if match else "other"
        if kind == "space":
            continue
        if kind != "other":
            tokens.append(Token(kind, match[0], *match.span()))
            continue
        if any(token.kind == "equals" for token in tokens) and (equation := checked_chain(tokens, text)):
            yield equation
        tokens = []


def checked_chain(tokens: list[Token], text: str) -> Equation | None:
    """Returns what becomes of a run of tokens with a sign of equality in it; None if nothing in it can be checked."""
    members: list[list[Token]] = [[]]
    for token in tokens:
        members[-1].append(token) if token.kind != "equals" else members.append([])
    before, behind = text[: tokens[0].start], text[tokens[-1].end :]
    after_word = (before.rstrip() if tokens[0].text == "−" else before)[-1:].isalnum()
    members = [
        longest_trailing(members[0], after_word),
        *members[1:-1],
        longest_leading(members[-1], behind[:1].isalnum()),
    ]
    values = [evaluate(member) for member in members]
    wrong, results, checked = "", [], []
    for (left, one), (right, other) in pairwise(zip(members, values, strict=True)):
        if one is None or other is None:
            continue
        single = [token.kind for token in right if token.kind != "unit"] == ["number"]
        within = rounding_error(right, always=single or isinstance(other, Vector))
        in_its_unit = one * (unit_factor(right) or 1) if not unit_factor(left) else one  # 989 ÷ 3.35 = 295 FLOP a byte
        if not wrong and not is_equal_within(one, other, within) and not is_equal_within(in_its_unit, other, within):
            found, typed = (text[member[0].start : member[-1].end] for member in (left, right))
            wrong = f"{found} is {value_in_unit(one, other, left, right)}, not {typed}"
        results += [(right[0].start, right[-1].end)] * single
        checked += left + right
    return Equation(checked[0].start, checked[-1].end, wrong, results) if checked else None


def longest_trailing(tokens: list[Token], after_word: bool) -> list[Token]:
    """Returns the longest expression that these tokens end in; none if it's only the rest of one."""
    for start in range(len(tokens)):
        if tokens[start].text != "+" and evaluate(tokens[start:]) is not None:
            rest = tokens[start - 1].kind in ("sign", "function", "raised") if start else after_word
            return [] if rest else tokens[start:]
    return []


def longest_leading(tokens: list[Token], before_word: bool) -> list[Token]:
    """Returns the longest expression that these tokens begin with; none if it's only the beginning of one."""
    for end in range(len(tokens), 0, -1):
        if evaluate(tokens[:end]) is not None:
            goes_on = tokens[end].kind in ("sign", "raised") if end < len(tokens) else before_word
            return [] if goes_on else tokens[:end]
    return []


def evaluate(tokens: list[Token]) -> float | Vector | None:
    """Returns what tokens come to if they're one expression."""
    source, last = "", None
    for token in tokens:
        match token.kind:
            case "number":
                digits, _, power = token.text.replace(",", "").partition("·10")
                piece = f"({digits}{f'e{power.translate(SUPERSCRIPTS)}' if power else ''})"
                piece = f"({piece})" if last == "function" else piece  # ln 3.006
            case "unit":  # it belongs to what stands before it, not to all of the product
                source, piece = source[:-1] if last == "number" else source, f"*{prefix_factor(token.text)!r}"
                piece += ")" if last == "number" else ""
            case "raised":
                piece = f"**({token.text.translate(SUPERSCRIPTS)})"
            case _:
                piece = PYTHON.get(token.text, token.text)
        source, last = source + piece, token.kind
    try:
        value = eval(source, NAMES)  # of these tokens alone
    except (SyntaxError, ArithmeticError, TypeError, ValueError):
        return None
    return (
        value
        if isinstance(value, int | float | Vector) and all(isinstance(n, int | float) for n in numbers_in(value))
        else None
    )


def unit_factor(tokens: list[Token]) -> float:
    """Returns the factor of the last unit in these tokens; 0 without one."""
    return next((prefix_factor(token.text) for token in reversed(tokens) if token.kind == "unit"), 0.0)


def prefix_factor(text: str) -> float:
    return PREFIXES[PREFIX.match(text)[1]]


def numbers_in(value: float | Vector) -> list[float]:
    return [*value] if isinstance(value, Vector) else [value]


def rounding_error(tokens: list[Token], always: bool) -> list[float]:
    """Returns how far each number of a value may be off because what's typed is rounded.

    always: whole numbers are rounded too, as they are where they stand as results
    """
    value = numbers_in(evaluate(tokens))
    total = [0.0] * len(value)
    for i, token in enumerate(tokens):
        if token.kind == "number" and ("." in token.text or always):
            digits, power, raised = token.text.partition("·10")
            more = digits + ("5" if "." in digits else ".5") + power + raised
            moved = numbers_in(evaluate([*tokens[:i], token._replace(text=more), *tokens[i + 1 :]]))
            total = [so_far + abs(a - b) for so_far, a, b in zip(total, moved, value, strict=True)]
    return total


def is_equal_within(one: float | Vector, other: float | Vector, within: list[float]) -> bool:
    if isinstance(one, Vector) != isinstance(other, Vector) or len(numbers_in(one)) != len(numbers_in(other)):
        return False
    numbers = zip(numbers_in(one), numbers_in(other), within, strict=True)
    return all(abs(a - b) <= off * (1 + 1e-6) + 1e-9 * abs(b) for a, b, off in numbers)


def value_in_unit(one: float | Vector, other: float | Vector, left: list[Token], right: list[Token]) -> str:
    """Returns what the left member comes to as the right one is typed: 2 MiB, and not 2,097,152."""
    scale = unit_factor(right) or 1

    def distance(value: float | Vector) -> float:  # the members may have unlike lengths
        return sum(abs(a - b / scale) for a, b in zip(numbers_in(value), numbers_in(other), strict=False))

    value = one if not unit_factor(left) and distance(one) < distance(one / scale) else one / scale  # 2 · 3 = 6 GB
    numbers = [f"{number:,.{10 if number % 1 == 0 else 6}g}" for number in numbers_in(value)]
    typed_unit = next((token.text for token in reversed(right) if token.kind == "unit"), "")
    return (f"[{', '.join(numbers)}]" if isinstance(value, Vector) else numbers[0]) + typed_unit
