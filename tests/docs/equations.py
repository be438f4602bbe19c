# ruff: noqa: RUF001  (signs as the pages print them)
"""Finds the equations that are typed on a page and computes them.

An equation is ``a = b``, or a chain of such: each member must be what a member before it comes to, to the digits that
are printed.  Behind a number a mark that the reader does not see may say what the number comes from:
``67 %<!-- = 2.03 ÷ 3.03 -->``; if its value is a vector, it speaks of as many numbers; behind an expression it may say
what that comes to.  An equation that ends in a marked number must hold as well, unless only a name or a number stands
before its sign.
"""

import re
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain, product, takewhile
from math import e

from tests.docs.arithmetic import Number, Parser, Unreadable, Vector, factor_of, tokens
from tests.docs.pages import CODE

SAID = "<!-- said in words -->"
WORD_AS_NAME = re.compile(rf"\w{{1,3}}|{CODE}")  # of a formula, as lse and dP, or of code
MARK = re.compile(r"<!--\s*=(.*)-->", re.DOTALL)
NOT_ARITHMETIC = (Unreadable, ArithmeticError, TypeError, ValueError)


@dataclass(frozen=True)
class Equation:
    """An equation as it stands on a page, and what became of it.

    ``verdict``: *holds*; *fails*; *given*, a name and its value; *formula*, with names that have no value; *marked*,
    computed by its mark; *said*, in words; *unreadable*.
    """

    text: str
    line: int
    box: int | None
    verdict: str
    numbers: frozenset  # where the numbers in it stand in their block
    why: str = ""


def equations(blocks):
    """All equations of a page, in their order."""
    return computed(tuple(blocks))


@cache
def computed(blocks):
    once = Reader({"e": [e]})
    for block in blocks:
        once.read(block)
    reader = Reader(once.values | {"e": [*once.values.get("e", []), e]})
    for block in blocks:
        reader.read(block)
    return reader.found


class Reader:
    """Reads the blocks of one page in their order, and remembers what its names stand for."""

    def __init__(self, later):
        self.values = {}  # name -> what it has stood for on the page so far, the last first
        self.later = later  # the same, of the whole page: a sheet says what its names are below its table
        self.found = []

    def read(self, block):
        self.block, self.tokens = block, tokens(block.text)
        self.marked = set()  # where numbers stand that a mark computes
        for at, token in enumerate(self.tokens):
            if token.kind == "mark" and MARK.fullmatch(token.text):
                self.check_mark(at)
        self.tokens = [token for token in self.tokens if token.kind != "mark" or token.text == SAID]
        at = 0
        while at < len(self.tokens):
            at = self.check_chain(at) if self.tokens[at].kind == "equals" else at + 1

    def check_mark(self, at):
        """Compares the numbers before a mark with the value of the mark."""
        expression = tokens(MARK.fullmatch(self.tokens[at].text)[1].strip())
        values = [evaluated(expression, names) for names in self.meanings(expression)]
        values = [flat(value) for value in values if value is not None]
        if not values:
            return self.note("unreadable", "its mark is no arithmetic", at, at + 1)
        first, computed = self.expression_before(at)
        agreed = any(same(wanted, came) for wanted in values for came in computed)
        if not agreed:
            places, typed = quantities(self.tokens[:at], len(values[0]))
            self.marked |= {self.tokens[place].start for place in places}
            first = min(places, default=at)
            agreed = any(same(wanted, typed) for wanted in values)
        why = "" if agreed else f"its mark comes to {shown(Vector(values[0]))}"
        self.note("holds" if agreed else "fails", why, first, at + 1)

    def expression_before(self, at):
        """Where an expression that ends at a mark begins, and what it may come to; nothing if it is a number."""
        start = leftmost(self.tokens, at)
        if start is None:
            return at, []
        part = self.tokens[start:at]
        values = [flat(value) for names in self.meanings(part) if (value := evaluated(part, names)) is not None]
        return start, [value for value in values if not all(isinstance(each, Number) for each in value)]

    def check_chain(self, at):
        """Checks the chain whose first sign of equality is the token ``at``; returns where to go on."""
        if end := self.table(at):
            return end
        left = at - 1 if self.tokens[at - 1].kind == "mark" else at
        start = leftmost(self.tokens, left)
        members, end = [] if start is None else [self.tokens[start:left]], at
        while end < len(self.tokens) and self.tokens[end].kind == "equals":
            stop = extent(self.tokens, end + 1)
            if stop is None or [token.kind for token in self.tokens[stop - 1 : stop + 1]] == ["number", "number"]:
                break  # two numbers side by side are bits: 0 0111 100
            kinds = [token.kind for token in self.tokens[stop - 1 : stop + 1]]
            if kinds == ["name", "equals"] and self.tokens[stop - 2].text == "·":
                stop -= 2  # q = [1, 0] · K = [1, 0]: the point stands between two equations
            members.append(self.tokens[end + 1 : stop])
            end = stop
        first = at if start is None else start
        if end == at:
            sentence = takewhile(lambda token: token.kind != "equals" and token.text != ".", self.tokens[end + 1 :])
            verdict, why = "said" if any(token.text == SAID for token in sentence) else "unreadable", ""
        else:
            verdict, why = self.judge(members, self.tokens[end : end + 1])
        if verdict in ("given", "formula") and start is None and not WORD_AS_NAME.fullmatch(self.tokens[at - 1].text):
            verdict = "unreadable"
        if verdict != "holds" and self.by_mark(members):
            verdict, why = "marked", ""
        self.note(verdict, why, first, max(end, at + 1))
        return max(end, at + 1)

    def table(self, at):
        """Where the table ends that begins at this sign: ``K = [1, 0], [0, 1], [1, 1]``; None if none does."""
        rows, end = [], at
        while self.tokens[end + 1 : end + 2] and self.tokens[end + 1].text == "[":
            parser = Parser(self.tokens, {}, end + 1)
            try:
                rows.append(parser.bracketed())
            except NOT_ARITHMETIC:
                break
            end = parser.at
            if not self.tokens[end : end + 1] or self.tokens[end].text != ",":
                break
        if len(rows) < 2 or self.tokens[at - 1].kind != "name":
            return None
        self.values.setdefault(self.tokens[at - 1].text, []).insert(0, Vector(rows))
        self.note("given", "", at - 1, end)
        return end

    def judge(self, members, behind):
        """What became of the chain with these members, and why."""
        if behind and behind[0].text == SAID:
            return "said", ""
        name = members[0][0].text if [token.kind for token in members[0]] == ["name"] and len(members) > 1 else None
        value = evaluated(members[-1], {})
        if name and value is not None:
            self.values.setdefault(name, []).insert(0, value)
        if name and (value is not None or len(members) > 2):
            members = members[1:]
        computed = [i for i, part in enumerate(members[:-1]) if {token.start for token in part} & self.marked]
        members = members[max(computed, default=0) :]  # what stands before a marked number is said by its mark
        why = ""
        for names in self.meanings(chain.from_iterable(members)):
            known = [(comes_to, part) for part in members if (comes_to := evaluated(part, names)) is not None]
            if len(known) > 1:
                wrong = disagreement(known, names)
                if wrong is None:
                    return "holds", ""
                why = why or wrong
        typed = any(token.kind == "number" for token in chain.from_iterable(members))
        if why and typed and (value is not None or not name or len(members) > 1):
            return "fails", why
        return "formula" if value is None else "given", ""

    def by_mark(self, members):
        """Whether a mark says what the last member is, and what stands before the sign is no expression to hold it to:
        a name, or the last of some numbers."""
        last = {token.start for token in members[-1] if token.kind == "number"} if members else set()
        signs = [token for token in members[-2] if token.kind == "operator"] if members[1:] else []
        return bool(last & self.marked) and not signs

    def meanings(self, tokens):
        """What the names in these tokens may stand for here: what stands nearest before comes first."""
        names = sorted({token.text for token in tokens if token.kind == "name"} & self.later.keys())
        for values in product(*(self.values.get(name, []) + self.later[name] for name in names)):
            yield dict(zip(names, values, strict=True))

    def note(self, verdict, why, first, end):
        parts = self.tokens[first:end]
        numbers = frozenset(token.start for token in parts if token.kind == "number")
        text = self.block.text[parts[0].start : parts[-1].end]
        self.found.append(Equation(text, self.block.line, self.block.box, verdict, numbers, why))


def evaluated(tokens, names):
    """The value of tokens that are one expression, or None."""
    parser = Parser(tokens, names)
    try:
        value = parser.sum()
    except NOT_ARITHMETIC:
        return None
    return value if parser.at == len(tokens) else None


def extent(tokens, start):
    """Where the longest expression that begins at ``start`` ends, whatever its names stand for."""
    parser = Parser(tokens, None, start)
    try:
        parser.sum()
    except Unreadable:
        return None
    except NOT_ARITHMETIC:
        pass
    return parser.at


def leftmost(tokens, end):
    """Where the longest expression that ends at ``end`` begins, unless it is the rest of one that cannot be read."""
    best = None
    for start in range(end - 1, -1, -1):
        if tokens[start].kind in ("equals", "mark"):
            break
        if extent(tokens, start) == end:
            best = start
    rest = best and tokens[best - 1].kind == "operator" and tokens[best - 1].text not in "-−·"
    return None if rest else best


def disagreement(known, names):
    """The first member that no member before it comes to, or None."""
    for i, (value, part) in enumerate(known[1:], 1):
        if not any(follows(value, part, before, other, names) for before, other in known[:i]):
            return f"{shown(known[i - 1][0])} is not {shown(value)}"
    return None


def follows(value, part, before, other, names):
    """Whether a member follows from one before it, to its digits; an expression, to the digits of its numbers."""
    scale = unit(part) if not unit(other) else 1.0  # "989 ÷ 3.35 = 295 TFLOP" leaves the unit of the left away
    return any(agree(each, value, reach(part, value, names)) for each in (before, before * (scale or 1.0)))


def unit(part):
    """The factor of the last unit in these tokens; 0 without one."""
    return next((factor_of(token.text) for token in reversed(part) if token.kind == "unit"), 0)


def reach(part, value, names):
    """How far an expression may be off because its numbers are rounded: each is moved by half of its last digit."""
    if all(isinstance(each, Number) for each in flat(value)):
        return 0.0
    total = 0.0
    for i, token in enumerate(part):
        if token.kind == "number" and "." in token.text:
            moved = evaluated([*part[:i], replace(token, text=token.text + "5"), *part[i + 1 :]], names)
            total += max(abs(new - old) for new, old in zip(flat(moved), flat(value), strict=True))
    return total


def agree(computed, typed, reach=0.0):
    """Whether ``typed`` is ``computed`` to its printed digits."""
    if isinstance(typed, Vector) or isinstance(computed, Vector):
        same = isinstance(typed, Vector) and isinstance(computed, Vector) and len(typed) == len(computed)
        return same and all(agree(a, b, reach) for a, b in zip(computed, typed, strict=True))
    half = getattr(typed, "half", getattr(computed, "half", 0.0))
    return abs(computed - typed) <= (half + reach) * (1 + 1e-9) + 1e-9 * abs(typed)


def same(computed, typed):
    return len(computed) == len(typed) and all(map(agree, computed, typed))


def flat(value):
    """The numbers of a vector or a table, in their order."""
    return [each for part in value for each in flat(part)] if isinstance(value, Vector) else [value]


def quantities(tokens, count):
    """Where the last ``count`` numbers of these tokens stand, and their values; a unit behind the last holds of all."""
    places, values, units, at = [], [], [], 0
    while at < len(tokens):
        if tokens[at].kind == "number":
            parser = Parser(tokens, {}, at)
            value = parser.quantity()
            negative = at > 0 and tokens[at - 1].text in "−-" and tokens[at - 1].end == tokens[at].start
            places.append(at)
            values.append(value.scaled(-1) if negative else value)
            units.append(unit(tokens[at : parser.at]))
            at = parser.at
        else:
            at += 1
    if units and units[-1]:
        values = [value if own else value.scaled(units[-1]) for value, own in zip(values, units, strict=True)]
    return places[-count:], values[-count:]


def shown(value):
    return f"[{', '.join(map(shown, value))}]" if isinstance(value, Vector) else f"{value:.6g}"
