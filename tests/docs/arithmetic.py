# ruff: noqa: RUF001  (signs as the pages print them)
"""Typed arithmetic as the pages write it: ``4 · 128 MiB``, ``e^(1 + 1.86)``, ``0.4 · [10, 0] + 0.2 · [0, 10]``.

A text becomes tokens, and a parser evaluates them as it reads. A unit is its factor (KiB is 1024, ms is 10⁻³), so that
units convert. A number keeps how far its printed digits reach: 3.35 TB/s stands for anything within 0.005 TB/s of it.
"""

import math
import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from unicodedata import numeric

PREFIXES = {"": 1.0, "n": 1e-9, "µ": 1e-6, "m": 1e-3, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
BINARY = {"Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40}
COUNTED = {"%": 0.01, "percent": 0.01, "million": 1e6, "billion": 1e9}
UNIT = r"[KMGT]iB|[kMGT]?B|[kMGT]?FLOPs?|[kMG]?Hz|[nµm]?s|bytes?|bits?|seconds?|clocks?|%|percent|million|billion"
TAIL = r"(?:(?:[ ]for)?[ ](?:a|an|per|each)[ ](?:byte|clock|second|SM|thread|query|token|number|head|row)\b|/s\b)*"
FRACTIONS = "½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞"
RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789−+")
LETTER = "A-Za-zµΔΣα-ωℓ"
TOKENS = re.compile(
    rf"""
      (?P<mark><!--.*?-->)
    | (?P<number>\d{{1,3}}(?:,\d{{3}})+(?:\.\d+)?(?!\d) | \d+(?:\.\d+)? | (?<![\w.])\.\d+ | [{FRACTIONS}])
    | (?P<unit>(?<=[\d)\]{FRACTIONS}\N{{INVISIBLE PLUS}}])\ ?(?:{UNIT})(?!\w){TAIL})
    | (?P<raised>[⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺]+)
    | (?P<equals>[=≈])
    | (?P<operator>[-−+·⋅×*÷/^√] | \b(?:div|mod)\b)
    | (?P<bracket>[()\[\]{{}},])
    | (?P<function>(?<![{LETTER}])(?:ln|exp2|exp|log₂|max|min|sum|softmax)(?![{LETTER}]))
    | (?P<name>(?<![{LETTER}])[{LETTER}](?:[₀-₉]|_\w+|_\{{[^}}]*\}})*(?![{LETTER}]))
    | (?P<transposed>ᵀ)
    | (?P<word>[{LETTER}]+)
    | (?P<space>\s+|[\N{{INVISIBLE SEPARATOR}}\N{{INVISIBLE PLUS}}])
    | (?P<other>.)
    """,
    re.VERBOSE,
)


class Unreadable(ValueError):
    """This is not arithmetic, or not all of it."""


@dataclass(frozen=True)
class Token:
    kind: str
    text: str
    start: int
    end: int


class Number(float):
    """A typed number, or one and its unit: ``half`` is half a unit of its last printed digit."""

    def __new__(cls, value, half):
        number = super().__new__(cls, value)
        number.half = half
        return number

    def scaled(self, factor):
        return Number(self * factor, self.half * abs(factor))


class Vector(tuple):
    """A list of numbers, or of vectors.  The product of two is their dot product, that of two tables their matmul."""

    def __add__(self, other):
        return Vector(a + b for a, b in zip(self, other, strict=True))

    def __radd__(self, other):
        return self if other == 0 else NotImplemented  # sum() begins with 0

    def __sub__(self, other):
        return Vector(a - b for a, b in zip(self, other, strict=True))

    def __neg__(self):
        return Vector(-each for each in self)

    def __mul__(self, other):
        if not isinstance(other, Vector):
            return Vector(each * other for each in self)
        if isinstance(self[0], Vector):
            columns = list(zip(*other, strict=True))
            return Vector(Vector(row * Vector(column) for column in columns) for row in self)
        return sum(a * b for a, b in zip(self, other, strict=True))

    def __rmul__(self, factor):
        return self * factor

    def __truediv__(self, divisor):
        return Vector(each / divisor for each in self)


def softmax(scores):
    total = sum(map(math.exp, scores))
    return Vector(math.exp(score) / total for score in scores)


FUNCTIONS = {"ln": math.log, "exp": math.exp, "exp2": math.exp2, "log₂": math.log2, "max": max}
FUNCTIONS |= {"min": min, "sum": sum, "softmax": softmax, "√": math.sqrt}


def factor_of(unit):
    """What a unit multiplies its number by: 1024 for ``KiB``, 1 for ``FLOP a byte``."""
    unit = unit.strip()
    for name, factor in COUNTED.items():
        if unit.startswith(name):
            return factor
    base = re.match(r"([KMGT]i|[nµmkKMGT])?(?:B\b|FLOP|Hz|s\b)", unit)
    return (BINARY | PREFIXES)[base[1] or ""] if base else 1.0


@lru_cache(maxsize=100_000)  # a falsified page is the page but for one block
def tokens(text):
    """The tokens of a text; what is counted, in ``5 numbers · 2``, is left out, and ``4Nd`` are three of them."""
    found = [Token(match.lastgroup, match.group(), *match.span()) for match in TOKENS.finditer(text)]
    found = [token for token in found if token.kind != "space"]
    kept = []
    for token, after in pairwise([*found, None]):
        before = kept[-1] if kept else None
        if token.kind != "word" or before is None or before.kind not in ("number", "unit", "raised"):
            kept.append(token)
        elif before.end == token.start:
            kept += [Token("name", letter, token.start + n, token.start + n + 1) for n, letter in enumerate(token.text)]
        elif after is None or after.kind not in ("operator", "equals") or not token.text.islower():
            kept.append(token)
    return tuple(kept)


class Parser:
    """Evaluates tokens from the one at ``at`` on, as far as they are arithmetic; without names, each is worth 1."""

    def __init__(self, tokens, names, at=0):
        self.tokens, self.names, self.at = tokens, names, at
        self.units = 0

    def peek(self, *texts):
        if self.at < len(self.tokens) and (not texts or self.tokens[self.at].text in texts):
            return self.tokens[self.at]
        return None

    def take(self, *texts):
        token = self.peek(*texts)
        if token is None:
            raise Unreadable(f"one of {texts} is wanted")
        self.at += 1
        return token

    def attached(self):
        """Whether the next token follows the last without a space."""
        token = self.peek()
        return token is not None and self.at > 0 and self.tokens[self.at - 1].end == token.start

    def sum(self):
        terms, units = [self.product()], [self.units]
        while self.peek("+", "−", "-"):
            at, used = self.at, self.units
            sign = self.take().text
            try:
                term = self.product()
            except Unreadable:
                self.at, self.units = at, used
                break
            terms.append(term if sign == "+" else -term)
            units.append(self.units)
        if len(terms) > 1 and units[-1] > 0 and units[-2] == 0:  # a unit behind the last holds of all
            scale = factor_of([token for token in self.tokens[: self.at] if token.kind == "unit"][-1].text)
            terms = [term * scale for term in terms[:-1]] + terms[-1:]
        total = terms[0]
        for term in terms[1:]:
            total = total + term
        return total

    def product(self):
        value = self.juxtaposed()
        while self.peek("·", "⋅", "×", "*", "÷", "/", "div", "mod"):
            at, used = self.at, self.units
            operator = self.take().text
            try:
                other = self.juxtaposed()
            except Unreadable:
                self.at, self.units = at, used
                break
            value = calculate(value, operator, other, self.tokens[at + 1].text)
        return value

    def juxtaposed(self):
        """Factors without a sign between them, which bind closer than a division: 4N² ÷ 4Nd."""
        value = self.power()
        while True:
            self.peek("\u2062") and self.take()
            token = self.peek()
            if not self.attached() or not (token.kind in ("name", "function") or token.text in "([√"):
                return value
            value = value * self.power()

    def power(self):
        if self.peek("−", "-"):
            self.take()
            if not self.attached():
                raise Unreadable("a minus between two things of which one cannot be read")
            value = self.power()
            return Number(-value, value.half) if isinstance(value, Number) else -value
        value = self.atom()
        if self.attached() and self.peek().kind == "transposed":
            self.take()
            value = Vector(map(Vector, zip(*value, strict=True))) if isinstance(value, Vector) else value
        raised = self.peek()
        if raised is not None and raised.kind == "raised" and self.attached():
            self.take()
            inner = Parser(tokens(raised.text.translate(RAISED)), {})
            value = value ** inner.sum()
        elif self.peek("^"):
            self.take()
            value = value ** self.power()
        return self.in_units(value)

    def in_units(self, value):
        """The value of what was read and the unit behind it, if there is one."""
        unit = self.peek()
        if unit is None or unit.kind != "unit":
            return value
        self.take()
        self.units += 1
        scale = factor_of(unit.text)
        return value.scaled(scale) if isinstance(value, Number) else value * scale

    def quantity(self):
        """A number and its unit alone, without a sign."""
        return self.in_units(self.number())

    def atom(self):
        token = self.peek()
        if token is None:
            raise Unreadable("a number is wanted")
        if token.kind == "number":
            return self.number()
        if token.kind == "name":
            self.take()
            if self.names is None:
                return 1.0
            if token.text not in self.names and token.text != "e":
                raise Unreadable(f"{token.text} stands for nothing yet")
            return self.names.get(token.text, math.e)
        if token.kind == "function" or token.text == "√":
            self.take()
            argument = self.power()
            if token.text in ("max", "min", "sum", "softmax"):
                return FUNCTIONS[token.text](argument)
            return each(FUNCTIONS[token.text], argument)
        if token.text in ("(", "[", "{"):
            return self.bracketed()
        raise Unreadable(f"{token.text} is no number")

    def number(self):
        text = self.take().text
        if text in FRACTIONS:
            return Number(numeric(text), 0.0)
        digits = len(text.partition(".")[2])
        value = Number(float(text.replace(",", "")), 0.5 * 10.0**-digits)
        if self.attached() and self.peek(*FRACTIONS):
            return value + numeric(self.take().text)
        if self.peek("·", "⋅") and [token.text for token in self.tokens[self.at + 1 : self.at + 2]] == ["10"]:
            after = self.tokens[self.at + 2 : self.at + 3]
            if after and after[0].kind == "raised":
                self.at += 3
                return value.scaled(10.0 ** int(after[0].text.translate(RAISED).replace("−", "-")))
        return value

    def bracketed(self):
        opening = self.take("(", "[", "{").text
        values = [self.sum()]
        while self.peek(","):
            self.take()
            values.append(self.sum())
        self.take({"(": ")", "[": "]", "{": "}"}[opening])
        return Vector(values) if opening == "[" or len(values) > 1 else values[0]


def each(function, argument):
    return Vector(map(function, argument)) if isinstance(argument, Vector) else function(argument)


def calculate(value, operator, other, text):
    try:
        if operator in "·⋅×*":
            return value * other
        if operator == "div":
            return value // other
        return value % other if operator == "mod" else value / other
    except (TypeError, ZeroDivisionError) as error:
        raise Unreadable(f"{operator} {text}: {error}") from error
