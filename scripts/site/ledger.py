"""What the page being rendered quotes and shows, so that the build can hold it to what was executed."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import TypeVar

from mkdocs.exceptions import PluginError
from mkdocs.utils import get_relative_url
from pymdownx.inlinehilite import InlineHiliteException
from pymdownx.superfences import SuperFencesException

from scripts import records

Found = TypeVar("Found", records.Record, records.Outcome)
LINKED = re.compile(r"snippets/(\w+)\.ipynb")


class FenceError(SuperFencesException, InlineHiliteException, PluginError):
    """A fence that cannot be filled.  The Markdown extensions swallow every other exception; MkDocs names the page."""


@dataclass
class Page:
    """One page of the site while MkDocs renders it."""

    url: str = ""
    text: str = ""
    quoted: list[str] = field(default_factory=list)  # symbols
    shown: set[str] = field(default_factory=set)  # records with a line that says where and when they ran
    valued: set[str] = field(default_factory=set)  # records of which a number stands in the text

    def url_to(self, address: str) -> str:
        return get_relative_url(address, self.url)

    def url_of(self, snippet: str) -> str:
        return self.url_to(f"snippets/{snippet}/")

    def line_of(self, quotation: str) -> str:
        """Where ``quotation`` stands on the page, for a message: Markdown tells a fence neither page nor line."""
        for number, line in enumerate(self.text.splitlines(), 1):
            if quotation in line:
                return f"line {number}: "
        return ""

    def fail(self, quotation: str, why: object) -> FenceError:
        return FenceError(f"{self.line_of(quotation)}{why}")

    def check(self) -> None:
        """Every number has its record shown on the page; every quoted symbol was executed by one shown or linked.

        Raises:
            FenceError: for the first that was not.  A record that awaits its run vouches for anything.
        """
        for name in sorted(self.valued - self.shown):
            raise self.fail(
                f"#!value {name}.", f"a number of {name} is quoted, and no run or figure here says where it ran"
            )
        snippets = self.shown | set(LINKED.findall(self.text))
        executed: set[str] = set()
        for snippet in sorted(snippets):
            try:
                executed |= read(snippet).executed
            except records.RecordError:
                return
        for name in self.quoted:
            if not any(ran == name or ran.startswith((f"{name}.", f"{name}:")) for ran in executed):
                raise self.fail(name, f"{name} is quoted, and no record that this page shows or links has executed it")


@cache
def read(snippet: str) -> records.Record:
    """``records.read``, once a build: MkDocs's hooks forget this module after each."""
    return records.read(snippet)


current = Page()
awaiting: set[str] = set()
serving = False  # `mkdocs serve` shows a notice where `mkdocs build` stops


def recorded(name: str, quotation: str) -> records.Record | str:
    """The record of a snippet, or the sentence that stands in its place.

    Raises:
        FenceError: if it is stale and the site is being built to be published.
    """
    script = records.path(name).relative_to(records.ROOT).as_posix()
    how = f"To run it yourself: .venv/bin/python {script}; to record it: make record."
    return read_or_say(lambda: read(name), name, how, quotation)


def recorded_suite(quotation: str) -> records.Outcome | str:
    """The record of the GPU suite; otherwise as ``recorded``."""
    how = "To run it: .venv/bin/python -m scripts.record_tests; make record does so, too."
    return read_or_say(records.tests, "The GPU suite", how, quotation)


def read_or_say(read: Callable[[], Found], name: str, how: str, quotation: str) -> Found | str:
    try:
        return read()
    except records.Missing:
        awaiting.add(name)
        return f"{name} awaits its run on a GPU. {how}"
    except records.Stale as error:
        if serving:
            return str(error)
        raise current.fail(quotation, error) from error
