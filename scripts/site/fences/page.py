"""The page that is being rendered: what it quotes and shows, and the errors where that isn't what was executed."""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field

from markupsafe import escape
from mkdocs.exceptions import PluginError
from mkdocs.utils import get_relative_url

from scripts import facts
from scripts.facts import chapter_of_page
from scripts.facts.equations import equations
from scripts.facts.paragraphs import paragraphs
from scripts.facts.unsourced_numbers import unsourced_numbers
from scripts.records import Missing, Reader, Record, RecordError
from scripts.site.fences import outputs
from scripts.site.fences.symbols import is_lab

CODE = re.compile(r"<code\b.*?</code>", re.DOTALL)
REVERSED_QUOTE = re.compile("</span>(&ldquo;|&lsquo;|[“‘])")  # noqa: RUF001  (an opening quotation mark that closes)
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
SNIPPET_LINK = re.compile(r'<a\b[^>]*\bhref="[^"]*\bsnippets/(\w+)(?:\.ipynb|/)')
LINK = re.compile(r"\[(?P<words>[^\]]*)\]\((?P<target>[^)\s#]*)[^)]*\)(?P<behind> \(chapter \d+\))?")
SPAN = re.compile(r"(?<!`)(`+)(?!`).+?(?<!`)\1(?!`)")  # code in a line
LITERAL = re.compile(r"(?<!`)(``+)(?!`).+?(?<!`)\1(?!`)")  # and such as may show a value instead of asking it
TYPED_HTML = re.compile(
    r"<(?:pre|code|samp|kbd|listing|xmp|textarea|script|style|iframe|object|embed|svg)\b"
    r"|\bwhite-space\b|\bhb-(?!sheet\b)\w|\bdata-(?:quote|record|value|fact|suite)\b",
    re.IGNORECASE,
)


class FenceError(PluginError):
    """What is wrong with a page; it begins with the line, and MkDocs names the page."""


@dataclass
class PageContext:
    """One page of the site while MkDocs renders it.

    text: its Markdown, which begins on line ``first_line`` of its file ``source``, as MkDocs has it
    is_unchecked: it reads the records of snippets/earlier, and nothing checks the numbers that it types
    quoted_symbols: those of the library that it quotes   shown_snippets: of which it says where and when they ran
    first_values: snippet -> the first `#!value` that asks its record
    fences_seen: kind and body of a fence -> how often it has come so far
    errors: what is wrong with it, as far as has been seen
    """

    url: str = ""
    text: str = ""
    first_line: int = 1
    source: str = ""
    is_unchecked: bool = False
    quoted_symbols: list[str] = field(default_factory=list)
    shown_snippets: set[str] = field(default_factory=set)
    first_values: dict[str, str] = field(default_factory=dict)
    fences_seen: Counter[tuple[str, str]] = field(default_factory=Counter)
    errors: list[FenceError] = field(default_factory=list)

    @property
    def chapter(self) -> str:
        return chapter_of_page(self.source)

    def url_to(self, address: str) -> str:
        return get_relative_url(address, self.url)

    def url_of(self, snippet: str) -> str:
        return self.url_to(f"snippets/{snippet}/")

    def defer_error(self, error: FenceError) -> str:
        """Keeps an error until the rest of the page is read; returns what stands in its place."""
        self.errors.append(error)
        return ""

    def stop_at_errors(self) -> None:
        """Raises all errors so far as one, in the order of their lines.

        Raises:
            FenceError: if there are any.
        """
        if self.errors:
            errors = {str(error): [*map(int, re.findall(r"^line (\d+)", str(error)))] for error in self.errors}
            raise FenceError("\n".join(sorted(errors, key=errors.get)))

    def error_at_fence(self, kind: str, body: str, why: object) -> FenceError:
        """An error that begins with the line of the fence of that kind and body that came last.

        Markdown tells a fence no line, but brings the fences in the order in which they stand.
        """
        if kind == "value":
            pattern = r"`#!value\s+" + r"\s+".join(map(re.escape, body.split())) + r"\s*`"
        else:
            pattern = rf"^.*[`~]{{3}}[ {{.]*{kind}\b.*\n\s*{re.escape(body)}\s*$"
        text = blank_out(COMMENT, self.text)
        places = [*re.finditer(pattern, blank_out(LITERAL, text) if kind == "value" else text, re.MULTILINE)]
        came = max(self.fences_seen[kind, body], 1)
        return self.error_at(places[min(came, len(places)) - 1] if places else None, why)

    def error_at(self, place: re.Match | None, why: object) -> FenceError:
        line = f"line {self.first_line + self.text.count(chr(10), 0, place.start())}: " if place else ""
        return FenceError(f"{line}{why}")

    def refuse_typed_html(self) -> None:
        """Code, outputs, values and facts come from fences alone: HTML that could be taken for them is an error."""
        for typed in TYPED_HTML.finditer(blank_out(SPAN, self.text)):
            why = f"{typed[0]} is typed on the page: code comes through a fence, and only fences set their marks"
            self.errors.append(self.error_at(typed, why))

    def error_at_mark(self, words: str, name: str, why: object) -> FenceError:
        mark = rf"\]\{{fact={re.escape(name)}\}}"
        marked = r"\s+".join(map(re.escape, words.split())) + mark
        return self.error_at(re.search(marked, self.text) or re.search(mark, self.text), why)

    def check_numbers(self) -> None:
        """Evaluates the equations of the page and looks for typed measurements, unless the page is unchecked."""
        if self.is_unchecked:
            return
        for paragraph in paragraphs(self.text):
            where = f"line {self.first_line + paragraph.line - 1}: "
            chains = [*equations(paragraph.text)]
            for equation in chains:
                if equation.wrong:
                    self.errors.append(FenceError(f"{where}{equation.wrong}"))
            for number in unsourced_numbers(paragraph, chains):
                why = "a measured number is a value, a fact, the result of an equation, or has a link to its source"
                self.errors.append(FenceError(f"{where}{number} is typed: {why}"))
        for mark, _, name in facts.marks(self.text):
            with suppress(facts.FactError):  # no such fact: its words are refused
                if why := facts.setting_error(facts.find(name, self.chapter), facts.sentence(self.text, mark, "")):
                    self.errors.append(self.error_at(mark, why))

    def check_chapter_numbers(self, numbers: dict[str, int]) -> None:
        """Compares the number that is typed in a link to a chapter, or in brackets behind it, with its own."""
        for link in LINK.finditer(blank_out(COMMENT, self.text)):
            chapter = chapter_of_page(
                posixpath.normpath(posixpath.join(posixpath.dirname(self.source), link["target"]))
            )
            for typed in re.findall(r"[Cc]hapter (\d+)", f"{link['words']}{link['behind']}"):
                if chapter in numbers and numbers[chapter] != int(typed):
                    why = f"chapter {typed} links {chapter}, which is chapter {numbers[chapter]}"
                    self.errors.append(self.error_at(link, why))

    def check(self, html: str, reader: Reader) -> str:
        """Returns the page with marks at code that changed since its run.

        Every number has its record shown or linked on the page, every quoted symbol of the library was executed by a
        record that is shown or linked, and every fact is marked as one.

        Raises:
            FenceError: with all errors that were put aside, or for the first thing that isn't so.
        """
        self.stop_at_errors()
        shown_or_linked = self.shown_snippets | set(SNIPPET_LINK.findall(blank_out(COMMENT, html)))
        for name, value in self.first_values.items():
            if name not in shown_or_linked:
                why = f"a number of {name} is quoted, and this page neither shows nor links where it ran"
                self.fences_seen["value", value] = 1
                raise self.error_at_fence("value", value, why)
        if left := re.search(r"\{fact=\w*", CODE.sub("", html)):
            place = re.search(rf"{left[0]}(?!\w)", self.text)
            raise self.error_at(place, "a fact is marked `[words]{fact=name}`, in one paragraph")
        if REVERSED_QUOTE.search(html):
            place = re.search(r"""\{fact=[\w.]+\}["']""", self.text)
            raise self.error_at(place, "a closing quotation mark behind a mark is set as an opening one: put it inside")
        quoted = [mark for mark in dict.fromkeys(self.quoted_symbols) if not is_lab(mark.partition(" ")[0])]
        return self.check_quoted(html, quoted, self.records(shown_or_linked, reader)) if quoted else html

    def check_quoted(self, html: str, quoted: list[str], records: list[Record | None]) -> str:
        for mark in quoted:
            name = mark.partition(" ")[0]  # a part was executed if its symbol was
            module = name.partition(":")[0]
            ran = [record for record in records if record and any(is_in(each, name) for each in record.executed)]
            if not ran and not any(record is None or module in record.changed for record in records):
                why = f"{name} is quoted, and no record that this page shows or links has executed it"
                raise self.error_at_fence("source", mark, why)
            if all(module in record.changed for record in ran):
                quotation = f'data-quote="{escape(mark)}">'
                html = html.replace(quotation, f"{quotation}{outputs.changed_html(bool(ran))}")
        return html

    def records(self, snippets: set[str], reader: Reader) -> list[Record | None]:
        """Returns the records of these snippets; None for one that has never run."""
        records = []
        for snippet in sorted(snippets):
            try:
                records.append(reader.read(snippet))
            except Missing:
                records.append(None)
            except RecordError as error:
                place = re.search(rf"snippets/{snippet}\.ipynb", blank_out(COMMENT, self.text))
                raise self.error_at(place, error) from error
        return records


def is_in(executed: str, symbol: str) -> bool:
    """Returns whether what was executed is the symbol, or lies in it."""
    return executed == symbol or executed.startswith((f"{symbol}.", f"{symbol}:"))


def blank_out(part: re.Pattern, text: str) -> str:
    """The text with blanks in place of such parts: each place in it stays where it was."""
    return part.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)
