"""The fences and the inline value: how code, output, figures and numbers get onto a page.

Each quotes something that a test runs; none accepts code that was typed on the page.

    source    the text of a symbol of kernels/, or a part of it; of a lab what it begins with, and a solution
    run       a cell of a snippet, what it printed when it was recorded, and where that was
    figure    a Plotly figure drawn from records
    live      a piece of docs/live that the reader changes, with its first state drawn
    record    every table that a snippet left when it was recorded, where that was, and the command
    suite     what became of the tests of kernels/, or of random cases, when they last ran on a GPU, and where
    value     one number in running text, of a record, the hardware registry or a cost function
"""

from __future__ import annotations

import json
import shlex
from functools import wraps
from html import escape
from importlib import import_module

from mkdocs.config.defaults import MkDocsConfig

from scripts import records
from scripts.site.fences import figures, outputs, symbols, values
from scripts.site.fences.claims import Claims
from scripts.site.fences.page import FenceError, Page
from scripts.site.live import PieceError, Pieces

VALUE = "#!value "
NAMED = (symbols.SymbolError, figures.FigureError, records.RecordError, PieceError)  # their messages say all


def fence(*known: str):
    """A formatter that takes these options and loses no error: Markdown would print the fence as text and go on."""

    def decorate(formatter):
        @wraps(formatter)
        def guarded(self, body, kind, class_name, options, md, **kwargs):
            body = body.strip()
            self.page.met[kind, body] += 1
            try:
                if unknown := options.keys() - set(known):
                    there = ", ".join(known) or "none"
                    raise self.page.fail(kind, body, f"a {kind} has no option {', '.join(unknown)}; it knows: {there}")
                return formatter(self, body, options, md)
            except FenceError:
                raise
            except Exception as error:
                why = error if isinstance(error, NAMED) else f"{body}: {type(error).__name__}: {error}"
                raise self.page.fail(kind, body, why) from error

        return guarded

    return decorate


def any_option(language, inputs, options, attrs, md) -> bool:
    """Superfences prints a fence as text if its options are refused here, so the formatter refuses them."""
    options.update(inputs)
    return True


class Fences:
    """The formatters of one build, and the page on which they stand.

    library: the modules that a value asks besides records, ``{"hardware": …, "cost": …}``
    repository: the address that a reader clones, empty if it is not known
    """

    def __init__(self, reader: records.Reader, library: dict[str, str], repository: str = ""):
        self.reader = reader
        self.library = {name: import_module(module) for name, module in library.items()}
        self.repository = repository
        self.pieces = Pieces(reader.root / "docs" / "live")
        self.page = Page()

    def register(self, config: MkDocsConfig) -> None:
        """Tell the Markdown extensions of a build who formats what."""
        formatters = (self.source, self.run, self.figure, self.live, self.record, self.suite)
        config.mdx_configs.setdefault("pymdownx.superfences", {})["custom_fences"] = [
            {"name": each.__name__, "class": each.__name__, "format": each, "validator": any_option}
            for each in formatters
        ]
        config.mdx_configs.setdefault("pymdownx.inlinehilite", {})["custom_inline"] = [
            {"name": "value", "class": "value", "format": self.value}
        ]
        config.markdown_extensions.append(Claims())

    @fence("hl_lines")
    def source(self, mark: str, options: dict, md) -> str:
        symbol = symbols.quote(mark, self.reader.root)
        self.page.quoted.append(mark)
        code = highlighted(symbol.text, md, {**options, "linenums": str(symbol.first), "title": symbol.title})
        if symbol.documented:
            address = self.page.url_to(symbols.address(symbol.name, self.reader.root))
            title = f'<a href="{address}">{symbol.title}</a>'
            code = code.replace(symbol.title, title, 1)
        return f'<div class="hb-source" data-quote="{escape(mark)}">{code}</div>'

    @fence()
    def run(self, mark: str, options: dict, md) -> str:
        name, _, tag = mark.partition(":")
        path = self.reader.path(name).relative_to(self.reader.root).as_posix()
        cells = {cell.id: cell.source for cell in self.reader.snippet(name).cells if cell.cell_type == "code"}
        if tag not in cells:
            raise self.page.fail("run", mark, f"{mark}: {path} has no cell {tag}; it has {', '.join(cells)}")
        code = highlighted(cells[tag], md, {"title": f"{path} · {tag}"})
        record, ran = self.recorded(name)
        printed = outputs.cell_html(record, name, tag)
        return f'<div class="hb-run"><div data-quote="{mark}">{code}</div>{printed}{ran}</div>'

    def about(self, name: str) -> str:
        """What the page of a snippet says of it: what to download, where it ran, how to run it."""
        record, fault = self.look(name)
        ran = outputs.ran_html(record, fault, name, outputs.to_run(name))
        how = outputs.from_nothing_html(name, self.repository, self.reader.cells(name).in_ranks)
        return outputs.downloads_html(name) + ran + how

    @fence("caption", "note")
    def figure(self, name: str, options: dict, md) -> str:
        """The caption is a headline, what the figure shows; the note below the plot says how it was made."""
        caption, note = options.get("caption"), options.get("note")
        if not caption:
            raise self.page.fail("figure", name, f'{name}: a figure has a caption: ``` figure {{caption="…"}}')
        found = figures.load(name, self.reader.root)
        drawing, snippets = found.draw(self.reader)
        drawn_from = [self.recorded(snippet) for snippet in snippets]
        noted = f'<p class="hb-note">{escape(note)}</p>' if note else ""
        if drawing:
            body = outputs.plot_html(drawing, found.alternative) + noted + "".join(ran for _, ran in drawn_from)
        else:
            lacking = "".join(ran for record, ran in drawn_from if not record)
            body = lacking + outputs.alternative_html(found.alternative) + noted
        return f'<figure class="hb-figure" id="figure-{name}"><figcaption>{escape(caption)}</figcaption>{body}</figure>'

    @fence("caption")
    def live(self, body: str, options: dict, md) -> str:
        """A piece and its first state: ``stream scores="1 2 5 3" block=2 key="#!value snippet.table.column .9g"``.

        What awaits its run is left out of the state, and the page says so.
        """
        name, *words = shlex.split(body)
        caption = options.get("caption")
        if not caption:
            raise self.page.fail("live", body, f'{name}: a piece has a caption: ``` live {{caption="…"}}')
        if nameless := [word for word in words if "=" not in word]:
            raise PieceError(f"{name}: {nameless[0]} sets nothing: a state is written name=value")
        state, ran = {}, {}
        for setting, text in (word.split("=", 1) for word in words):
            if text.startswith(VALUE):
                snippet, text = self.column(name, text.removeprefix(VALUE))
                ran[snippet] = self.recorded(snippet)[1]
            if text:
                state[setting] = text
        still = self.pieces.still(name, state)
        return (
            f'<figure class="hb-figure hb-live" id="live-{name}" data-search-exclude>'
            f"<figcaption>{escape(caption)}</figcaption>"
            f'<live-piece name="{name}" state="{escape(json.dumps(state))}">{still}</live-piece>'
            f"{''.join(ran.values())}</figure>"
        )

    def column(self, piece: str, text: str) -> tuple[str, str]:
        """The snippet that a state asks, and the numbers of its column; no text where the snippet awaits its run."""
        try:
            question = values.parse(text)
            if not question.snippet:
                raise values.ValueFault("a column of a record is wanted")
            record, _ = self.look(question.snippet)
            numbers = values.column_of_record(question, record) if record else []
            return question.snippet, " ".join(map(question.printed, numbers))
        except values.ValueFault as error:
            raise PieceError(f"{piece}: {VALUE}{text}: {error}") from error

    @fence()
    def record(self, name: str, options: dict, md) -> str:
        record, ran = self.recorded(name)
        if not record:
            return f'<div class="hb-record">{ran}</div>'  # so that the field above the tables finds it, too
        command = f"<p>The command: <code>.venv/bin/python -m scripts.record {name}</code></p>"
        tables = "".join(map(outputs.folded_table_html, record.tables()))
        return f'<div class="hb-record">{ran}{command}{tables or "<p>It prints text alone.</p>"}</div>'

    @fence()
    def suite(self, name: str, options: dict, md) -> str:
        if name == records.RANDOM_CASES:
            cases, fault = self.allowed(*self.reader.look_at_random_cases())
            ran = outputs.ran_html(cases, fault, records.RandomCases.name, outputs.TO_RUN_RANDOM_CASES)
            return f'<div class="hb-suite">{outputs.random_cases_html(cases)}{ran}</div>' if cases else ran
        if name != records.TESTS:
            there = f"{records.TESTS}, {records.RANDOM_CASES}"
            raise self.page.fail("suite", name, f"there is no suite {name}; there are: {there}")
        suite, fault = self.allowed(*self.reader.look_at_tests())
        if not suite:
            return outputs.ran_html(suite, fault, records.Outcome.name, outputs.TO_RUN_THE_SUITE)
        root = self.reader.root
        before = outputs.waiting_html(fault, root) if isinstance(fault, records.Waiting) else ""
        mark = outputs.stale_html(fault) if isinstance(fault, records.Stale) else ""
        table = outputs.suite_html(suite, root)
        return f'<div class="hb-suite">{before}{table}{mark}{outputs.suite_ran_html(suite)}</div>'

    def value(self, text: str, language: str, class_name: str, md) -> str:
        """One number; ``values`` has the grammar."""
        self.page.met["value", text] += 1
        try:
            question = values.parse(text)
            if question.snippet:
                return self.value_of_record(text, question)
            number, why = values.of_library(question, self.library)
            return outputs.value_html(text, question.printed(number), why)
        except (values.ValueFault, records.RecordError) as error:
            raise self.page.fail("value", text, f"#!value {text}: {error}") from error

    def value_of_record(self, text: str, question: values.Question) -> str:
        self.page.valued.setdefault(question.snippet, text)
        record, fault = self.look(question.snippet)
        if not record:
            short = "[awaits its run]" if isinstance(fault, records.Missing) else "[stale]"
            return f'<span class="hb-value" title="{escape(str(fault))}">{short}</span>'
        number = question.printed(values.of_record(question, record))
        where = f"{record.name}, {records.machine(record.provenance)}, {record.provenance['date']}"
        return outputs.value_html(text, number, where, fault)

    def recorded(self, name: str) -> tuple[records.Record | None, str]:
        """The record of a snippet, if there is one that can be shown, and what the page says of its run."""
        record, fault = self.look(name)
        self.page.shown.add(name)
        return record, outputs.ran_html(record, fault, name, outputs.to_run(name), self.page.url_of(name))

    def look(self, name: str) -> tuple[records.Record | None, records.RecordError | None]:
        """The record of a snippet and what is wrong with it; a stale one only in a preview."""
        return self.allowed(*self.reader.look(name))

    def allowed(self, record, fault):
        if isinstance(fault, records.Stale) and not self.reader.stale_too:
            raise fault
        return record, fault


def highlighted(code: str, md, options: dict[str, str]) -> str:
    fenced = md.preprocessors["fenced_code_block"]
    fenced.get_hl_settings()
    fenced.line_count = code.count("\n") + 1  # or hl_lines past the fence's own length would be dropped
    return fenced.highlight(src=code, language="python", options=options, md=md, classes=[], id_value="", attrs={})
