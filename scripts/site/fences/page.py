"""The page that is being rendered: what it quotes and what it shows, so that it can be held to what was executed."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

from mkdocs.exceptions import PluginError
from mkdocs.utils import get_relative_url
from pymdownx.inlinehilite import InlineHiliteException
from pymdownx.superfences import SuperFencesException

from scripts.records import Missing, Reader, RecordError
from scripts.site.fences.symbols import of_lab

CODE = re.compile(r"<code\b.*?</code>", re.DOTALL)
TURNED = re.compile("</span>(&ldquo;|&lsquo;|[“‘])")  # noqa: RUF001  (an opening quotation mark that closes)
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
LINKED = re.compile(r'<a\b[^>]*\bhref="[^"]*\bsnippets/(\w+)(?:\.ipynb|/)')
SPAN = re.compile(r"(?<!`)(`+)(?!`).+?(?<!`)\1(?!`)")  # code in a line
LITERAL = re.compile(r"(?<!`)(``+)(?!`).+?(?<!`)\1(?!`)")  # and such as may show a value instead of asking it
FORGED = re.compile(
    r"<(?:pre|code|samp|kbd|listing|xmp|textarea|script|style|iframe|object|embed|svg)\b"
    r"|\bwhite-space\b|\bhb-(?!sheet\b)\w|\bdata-(?:quote|record|value|claim|suite)\b",
    re.IGNORECASE,
)


class FenceError(SuperFencesException, InlineHiliteException, PluginError):
    """A fence that cannot be filled.  The Markdown extensions swallow every other exception; MkDocs names the page."""


@dataclass
class Page:
    """One page of the site while MkDocs renders it.

    text: its Markdown, which begins on line ``first_line`` of its file
    quoted: the symbols it quotes   shown: the snippets of which it says where and when they ran
    valued: snippet -> the first `#!value` that asks its record
    """

    url: str = ""
    text: str = ""
    first_line: int = 1
    quoted: list[str] = field(default_factory=list)
    shown: set[str] = field(default_factory=set)
    valued: dict[str, str] = field(default_factory=dict)
    met: Counter[tuple[str, str]] = field(default_factory=Counter)  # how often a fence of that kind and body has come

    def url_to(self, address: str) -> str:
        return get_relative_url(address, self.url)

    def url_of(self, snippet: str) -> str:
        return self.url_to(f"snippets/{snippet}/")

    def fail(self, kind: str, body: str, why: object) -> FenceError:
        """An error that begins with the line of the fence of that kind and body that came last.

        Markdown tells a fence no line, but brings the fences in the order in which they stand.
        """
        if kind == "value":
            pattern = r"`#!value\s+" + r"\s+".join(map(re.escape, body.split())) + r"\s*`"
        else:
            pattern = rf"^.*[`~]{{3}}[ {{.]*{kind}\b.*\n\s*{re.escape(body)}\s*$"
        text = without(COMMENT, self.text)
        places = [*re.finditer(pattern, without(LITERAL, text) if kind == "value" else text, re.MULTILINE)]
        came = max(self.met[kind, body], 1)
        return self.fail_at(places[min(came, len(places)) - 1] if places else None, why)

    def fail_at(self, place: re.Match | None, why: object) -> FenceError:
        line = f"line {self.first_line + self.text.count(chr(10), 0, place.start())}: " if place else ""
        return FenceError(f"{line}{why}")

    def refuse_forged(self) -> None:
        """Code, outputs, values and claims come from fences alone: HTML that could be taken for them is refused.

        Raises:
            FenceError: for the first such HTML, class or attribute.
        """
        forged = FORGED.search(without(SPAN, self.text))
        if forged:
            why = f"{forged[0]} is typed on the page: code comes through a fence, and only fences set their marks"
            raise self.fail_at(forged, why)

    def check(self, html: str, reader: Reader) -> None:
        """Every number has its record shown on the page, every quoted symbol of the library was executed by a record
        that is shown or linked, and every claim is marked as one.

        Raises:
            FenceError: for the first that is not.  A snippet that awaits its run vouches for anything.
        """
        for name, value in self.valued.items():
            if name not in self.shown:
                why = f"a number of {name} is quoted, and no run or figure here says where it ran"
                self.met["value", value] = 1
                raise self.fail("value", value, why)
        if left := re.search(r"\{claim=\w*", CODE.sub("", html)):
            place = re.search(rf"{left[0]}(?!\w)", self.text)
            raise self.fail_at(place, "a claim is marked `[words]{claim=name}`, in one paragraph")
        if TURNED.search(html):
            place = re.search(r"""\{claim=\w+\}["']""", self.text)
            raise self.fail_at(place, "a closing quotation mark behind a claim is set as an opening one: put it inside")
        if any(not of_lab(mark.partition(" ")[0]) for mark in self.quoted):
            self.check_quoted(reader, set(LINKED.findall(without(COMMENT, html))))

    def check_quoted(self, reader: Reader, linked: set[str]) -> None:
        executed: set[str] = set()
        for snippet in sorted(self.shown | linked):
            try:
                record, fault = reader.look(snippet)
            except RecordError as error:
                place = re.search(rf"snippets/{snippet}\.ipynb", without(COMMENT, self.text))
                raise self.fail_at(place, error) from error
            if isinstance(fault, Missing):
                return
            executed |= record.executed if record else set()
        for mark in self.quoted:
            name = mark.partition(" ")[0]  # a part was executed if its symbol was
            if not of_lab(name) and not any(
                ran == name or ran.startswith((f"{name}.", f"{name}:")) for ran in executed
            ):
                why = f"{name} is quoted, and no record that this page shows or links has executed it"
                raise self.fail("source", mark, why)


def without(part: re.Pattern, text: str) -> str:
    """The text with blanks in place of such parts: each place in it stays where it was."""
    return part.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)
