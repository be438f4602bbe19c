"""The page that is being rendered: what it quotes and what it shows, so that it can be held to what was executed."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from mkdocs.exceptions import PluginError
from mkdocs.utils import get_relative_url
from pymdownx.inlinehilite import InlineHiliteException
from pymdownx.superfences import SuperFencesException

from scripts.records import Missing, Reader, RecordError

CODE = re.compile(r"<code\b.*?</code>", re.DOTALL)
TURNED = re.compile("</span>(&ldquo;|&lsquo;|[“‘])")  # noqa: RUF001  (an opening quotation mark that closes)
LINKED = re.compile(r"snippets/(\w+)\.ipynb")


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

    def url_to(self, address: str) -> str:
        return get_relative_url(address, self.url)

    def url_of(self, snippet: str) -> str:
        return self.url_to(f"snippets/{snippet}/")

    def fail(self, kind: str, body: str, why: object) -> FenceError:
        """An error that begins with the line of the fence of that kind and body: Markdown tells a fence no line."""
        if kind == "value":
            place = re.search(r"`#!value\s+" + r"\s+".join(map(re.escape, body.split())), self.text)
        else:
            place = re.search(rf"^.*[`~]{{3}}[ {{.]*{kind}\b.*\n\s*{re.escape(body)}\s*$", self.text, re.MULTILINE)
        return self.fail_at(place, why)

    def fail_at(self, place: re.Match | None, why: object) -> FenceError:
        line = f"line {self.first_line + self.text.count(chr(10), 0, place.start())}: " if place else ""
        return FenceError(f"{line}{why}")

    def check(self, html: str, reader: Reader) -> None:
        """Every number has its record shown on the page, every quoted symbol was executed by a record that is shown or
        linked, and every claim is marked as one.

        Raises:
            FenceError: for the first that is not.  A snippet that awaits its run vouches for anything.
        """
        for name, value in self.valued.items():
            if name not in self.shown:
                why = f"a number of {name} is quoted, and no run or figure here says where it ran"
                raise self.fail("value", value, why)
        if "{claim=" in CODE.sub("", html):
            place = re.search(r"\{claim=(?![a-z]\w*\})|\{claim=", self.text)
            raise self.fail_at(place, "a claim is marked `[words]{claim=name}`, in one paragraph")
        if TURNED.search(html):
            place = re.search(r"""\{claim=\w+\}["']""", self.text)
            raise self.fail_at(place, "a closing quotation mark behind a claim is set as an opening one: put it inside")
        if self.quoted:
            self.check_quoted(reader)

    def check_quoted(self, reader: Reader) -> None:
        executed: set[str] = set()
        for snippet in sorted(self.shown | set(LINKED.findall(self.text))):
            try:
                record, fault = reader.look(snippet)
            except RecordError as error:
                raise self.fail_at(re.search(rf"snippets/{snippet}\.ipynb", self.text), error) from error
            if isinstance(fault, Missing):
                return
            executed |= record.executed if record else set()
        for name in self.quoted:
            if not any(ran == name or ran.startswith((f"{name}.", f"{name}:")) for ran in executed):
                why = f"{name} is quoted, and no record that this page shows or links has executed it"
                raise self.fail("source", name, why)
