"""The fences and the inline value: how code, output, figures and numbers get onto a page.

Each quotes something that a test runs; none accepts code that was typed on the page.

    source    the text of a symbol of kernels/, or a part of it; of a lab what it begins with, and a solution
    run       a cell of a snippet, what it printed when it was recorded, and where that was
    figure    a Plotly figure drawn from records
    live      a piece of docs/live that the reader changes, with its first state drawn
    record    every table that a snippet left when it was recorded, where that was, and the command
    suite     what became of the tests of kernels/, or of random cases, when they last ran on a GPU, and where
    value     one number in running text, of a record, the hardware registry or a cost function

and a mark: ``[words]{fact=name}``, what a chapter concludes from its records, also in a caption.
"""

from __future__ import annotations

import json
import shlex
from functools import wraps
from importlib import import_module

from markupsafe import Markup
from mkdocs.config.defaults import MkDocsConfig

from scripts import facts, records
from scripts.records import kernel_outcomes
from scripts.site.fences import figures, outputs, suites, symbols, values
from scripts.site.fences.fact_marks import Marks
from scripts.site.fences.page import FenceError, PageContext
from scripts.site.live import PieceError, Pieces

VALUE = "#!value "
SELF_EXPLANATORY = (
    symbols.SymbolError,
    figures.FigureError,
    records.RecordError,
    facts.FactError,
    PieceError,
)


def fence(*allowed: str):
    """A formatter that takes these options and loses no error: Markdown would print the fence as text."""

    def decorate(formatter):
        @wraps(formatter)
        def guarded(self, body, kind, class_name, options, md, **kwargs):
            body = body.strip()
            self.page.fences_seen[kind, body] += 1
            try:
                if unknown := options.keys() - set(allowed):
                    names = ", ".join(allowed) or "none"
                    raise self.page.error_at_fence(
                        kind, body, f"a {kind} has no option {', '.join(unknown)}; it knows: {names}"
                    )
                return str(formatter(self, body, options, md))
            except FenceError as error:
                return self.page.defer_error(error)
            except Exception as error:
                why = error if isinstance(error, SELF_EXPLANATORY) else f"{body}: {type(error).__name__}: {error}"
                return self.page.defer_error(self.page.error_at_fence(kind, body, why))

        return guarded

    return decorate


def any_option(language, inputs, options, attrs, md) -> bool:
    """Superfences prints a fence as text if its options are refused here, so the formatter refuses them."""
    options.update(inputs)
    return True


class Fences:
    """The formatters of one build, and the page on which they stand.

    newest: reads today's records   earlier: reads those of snippets/earlier
    library: the modules that a value asks besides records, ``{"hardware": …, "cost": …}``
    repository: the address that a reader clones, empty if it isn't known
    """

    def __init__(self, newest: records.Reader, earlier: records.Reader, library: dict[str, str], repository: str = ""):
        self.newest, self.earlier, self.reader = newest, earlier, newest
        self.library = {name: import_module(module) for name, module in library.items()}
        self.repository = repository
        self.pieces = Pieces(newest.root / "docs" / "live")
        self.page = PageContext()

    def set_page(self, page: PageContext) -> None:
        """Says which page comes next: it decides which records are read."""
        self.page, self.reader = page, self.earlier if page.is_unchecked else self.newest

    def register(self, config: MkDocsConfig) -> None:
        """Tell the Markdown extensions of a build who formats what."""
        formatters = (self.source, self.run, self.figure, self.live, self.record, self.suite)
        config.mdx_configs.setdefault("pymdownx.superfences", {})["custom_fences"] = [
            {"name": formatter.__name__, "class": formatter.__name__, "format": formatter, "validator": any_option}
            for formatter in formatters
        ]
        config.mdx_configs.setdefault("pymdownx.inlinehilite", {})["custom_inline"] = [
            {"name": "value", "class": "value", "format": self.value}
        ]
        config.markdown_extensions.append(Marks(self.mark))

    @fence("hl_lines")
    def source(self, mark: str, options: dict, md) -> str:
        symbol = symbols.quote(mark, self.reader.root)
        self.page.quoted_symbols.append(mark)
        code = Markup(highlighted(symbol.text, md, {**options, "linenums": str(symbol.first), "title": symbol.title}))
        if symbol.documented:
            address = self.page.url_to(symbols.address(symbol.name, self.reader.root))
            code = code.replace(symbol.title, Markup('<a href="{}">{}</a>').format(address, symbol.title), 1)
        return Markup('<div class="hb-source" data-quote="{}">{}</div>').format(mark, code)

    @fence("hl_lines")
    def run(self, mark: str, options: dict, md) -> str:
        name, _, tag = mark.partition(":")
        path = self.reader.path(name).relative_to(self.reader.root).as_posix()
        cells = self.reader.snippet(name).code
        if tag not in cells:
            raise self.page.error_at_fence("run", mark, f"{mark}: {path} has no cell {tag}; it has {', '.join(cells)}")
        record = self.recorded(name)
        code = Markup(highlighted(cells[tag], md, {**options, "title": f"{path} · {tag}"}))
        if record and not record.earlier and record.sources.get(tag) != cells[tag]:
            code += outputs.changed_html()
        printed = outputs.cell_html(record, name, tag)
        return Markup('<div class="hb-run"><div data-quote="{}">{}</div>{}{}</div>').format(
            mark, code, printed, self.ran({name: record}, "ran")
        )

    def snippet_notes(self, name: str) -> str:
        """Returns what the page of a snippet says of it: what to download, where it ran, how to run it."""
        ran = outputs.ran_html({name: self.try_read(name)})
        how = outputs.from_scratch_html(name, self.repository, self.reader.snippet(name).in_ranks)
        return outputs.downloads_html(name) + ran + how

    @fence("caption", "note")
    def figure(self, name: str, options: dict, md) -> str:
        """The caption is a headline, what the figure shows; the note below the plot says how it was made."""
        caption, note = self.resolve_facts(options.get("caption", "")), self.resolve_facts(options.get("note", ""))
        if not caption:
            raise self.page.error_at_fence(
                "figure", name, f'{name}: a figure has a caption: ``` figure {{caption="…"}}'
            )
        chart = figures.load(name, self.reader.root)
        drawing, snippets = chart.draw(self.reader)
        drawn_from = {snippet: self.recorded(snippet) for snippet in snippets}
        noted = Markup('<p class="hb-note">{}</p>').format(note) if note else ""
        with self.newest.track_reads():
            alternative = facts.fill(chart.alternative, chart.chapter)
        if drawing:
            body = outputs.plot_html(drawing, alternative) + noted + self.ran(drawn_from)
        else:
            lacking = self.ran({name: None for name, record in drawn_from.items() if not record})
            body = lacking + outputs.alternative_html(alternative) + noted
        return Markup('<figure class="hb-figure" id="figure-{}"><figcaption>{}</figcaption>{}</figure>').format(
            name, caption, body
        )

    @fence("caption")
    def live(self, body: str, options: dict, md) -> str:
        """A piece and its first state: ``quantized_block louder=2 key="#!value snippet.table.column .9g"``.

        What awaits its run is left out of the state, and the page says so. The caption is a headline, as above a
        figure. One in two parts stands below, the second for the end: "What happens? | Two numbers were enough."
        """
        name, *words = shlex.split(body)
        caption = self.resolve_facts(options.get("caption", ""))
        if not caption:
            raise self.page.error_at_fence("live", body, f'{name}: a piece has a caption: ``` live {{caption="…"}}')
        if nameless := [word for word in words if "=" not in word]:
            raise PieceError(f"{name}: {nameless[0]} sets nothing: a state is written name=value")
        state, ran = {}, {}
        for setting, text in (word.split("=", 1) for word in words):
            if text.startswith(VALUE):
                snippet, text = self.column(name, text.removeprefix(VALUE))
                ran[snippet] = self.recorded(snippet)
            if text:
                state[setting] = text
        figcaption = Markup("<figcaption>{}</figcaption>").format(
            outputs.EMPTY.join(Markup("<span>{}</span>").format(part) for part in caption.split(" | "))
        )
        above, below = (outputs.EMPTY, figcaption) if " | " in caption else (figcaption, outputs.EMPTY)
        return Markup(
            '<figure class="hb-figure hb-live" id="live-{0}" data-search-exclude>'
            '{3}<live-piece name="{0}" state="{1}">{2}</live-piece>{4}{5}</figure>'
        ).format(name, json.dumps(state), Markup(self.pieces.draw_state(name, state)), above, below, self.ran(ran))

    def column(self, piece: str, text: str) -> tuple[str, str]:
        """The snippet that a state asks, and the numbers of its column; no text where the snippet awaits its run."""
        try:
            query = values.parse(text)
            if not query.snippet:
                raise values.ValueQueryError("a column of a record is wanted")
            record = self.try_read(query.snippet)
            numbers = values.column_of_record(query, record) if record else []
            return query.snippet, " ".join(map(query.printed, numbers))
        except values.ValueQueryError as error:
            raise PieceError(f"{piece}: {VALUE}{text}: {error}") from error

    @fence()
    def record(self, name: str, options: dict, md) -> str:
        record = self.recorded(name)
        ran = self.ran({name: record})
        if not record:
            return Markup('<div class="hb-record">{}</div>').format(ran)  # so the field above the tables finds it too
        tables = outputs.EMPTY.join(map(outputs.folded_table_html, record.tables()))
        return Markup(
            '<div class="hb-record">{}<p>The command: <code>.venv/bin/python -m scripts.records {}</code></p>{}</div>'
        ).format(ran, name, tables or Markup("<p>It prints text alone.</p>"))

    @fence()
    def suite(self, name: str, options: dict, md) -> str:
        root, modules = self.reader.root, self.newest.modules
        if name == "tests/kernels":
            outcomes, waiting = kernel_outcomes.current_and_waiting(root, modules)
            before = suites.waiting_html(waiting, root) if waiting else ""
            table = suites.suite_html(outcomes, root) + suites.suite_ran_html(outcomes) if outcomes else ""
            return Markup('<div class="hb-suite">{}{}</div>').format(before, table)
        if name == "tests/kernels/random_cases":
            cases, current = kernel_outcomes.random_cases(root, modules)
            if not cases:
                return outputs.notice_html(f"Random cases have never run on a GPU. {suites.TO_RUN_RANDOM_CASES}")
            mark = "" if current else outputs.notice_html("An earlier run: what draws the cases has changed since.")
            ran = outputs.provenance_html(cases["ran"], "The suite of random cases")
            return Markup('<div class="hb-suite">{}{}{}</div>').format(mark, suites.random_cases_html(cases), ran)
        raise self.page.error_at_fence(
            "suite", name, f"there is no suite {name}; there are: tests/kernels, tests/kernels/random_cases"
        )

    def value(self, text: str, language: str, class_name: str, md) -> str:
        """Returns one number; ``values`` has the grammar."""
        self.page.fences_seen["value", text] += 1
        try:
            query = values.parse(text)
            if query.snippet:
                return str(self.value_of_record(text, query))
            number, why = values.of_library(query, self.library)
            return str(outputs.value_html(text, query.printed(number), why))
        except (values.ValueQueryError, records.RecordError) as error:
            return self.page.defer_error(self.page.error_at_fence("value", text, f"#!value {text}: {error}"))

    def value_of_record(self, text: str, query: values.ValueQuery) -> str:
        self.page.first_values.setdefault(query.snippet, text)
        record = self.try_read(query.snippet)
        if not record:
            return outputs.value_html(text, "[has never run]", query.snippet)
        number = query.printed(values.record_value(query, record))
        return outputs.value_html(text, number, outputs.source_of_number(record), bool(record.behind))

    def resolve_facts(self, caption: str) -> str:
        """Holds the facts in a caption to what they return today; returns its words."""
        for _, words, name in facts.marks(caption):
            self.fact(name, words)
        return facts.MARKED_WORDS.sub(r"\1", caption)

    def mark(self, name: str, words: str) -> str:
        try:
            return self.fact(name, words)
        except FenceError as error:
            return self.page.defer_error(error)

    def fact(self, name: str, words: str) -> str:
        """Holds the words of a fact to what it returns today; returns what it rests on."""
        try:
            fact = facts.find(name, self.page.chapter)
            with self.newest.track_reads():
                today = fact()
                record = self.newest.read(fact.table.partition(".")[0])
        except (facts.FactError, records.RecordError) as error:
            raise self.page.error_at_mark(words, name, error) from error
        if words != today:
            why = f"{{fact={name}}} says {words!r}, and the records give {today!r}: `make facts` writes that"
            raise self.page.error_at_mark(words, name, why)
        return outputs.source_of_number(record)

    def recorded(self, name: str) -> records.Record | None:
        """Returns the record of a snippet that the page shows, None if it has never run."""
        self.page.shown_snippets.add(name)
        return self.try_read(name)

    def ran(self, runs: dict[str, records.Record | None], verb: str = "measured") -> str:
        return outputs.ran_html(runs, self.page.url_of, verb)

    def try_read(self, name: str) -> records.Record | None:
        try:
            return self.reader.read(name)
        except records.Missing:
            return None


def highlighted(code: str, md, options: dict[str, str]) -> str:
    fenced = md.preprocessors["fenced_code_block"]
    fenced.get_hl_settings()
    fenced.line_count = code.count("\n") + 1  # or hl_lines past the fence's own length would be dropped
    return fenced.highlight(src=code, language="python", options=options, md=md, classes=[], id_value="", attrs={})
