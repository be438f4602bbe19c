"""The fences and the inline value: how code, output, figures and numbers get onto a page.

Each quotes something that a test runs; none accepts code that was typed on the page.

    source    the text of a symbol of kernels/
    run       a cell of a snippet, what it printed when it was recorded, and where that was
    figure    a Plotly figure drawn from records
    record    every table that a snippet left when it was recorded, where that was, and the command
    suite     what became of the tests of kernels/ when they were last run on a GPU, and where that was
    value     one number of a record, in running text
"""

from __future__ import annotations

from functools import wraps
from html import escape
from importlib import import_module

from scripts import records
from scripts.site import figures, ledger, outputs, quotes, values

NAMED = (quotes.QuoteError, figures.FigureError, records.RecordError)  # their messages say all

LIBRARY = {"hardware": "kernels.bench.hardware", "cost": "kernels.bench.cost"}  # what values ask besides records


def quotation(formatter):
    """A formatter of which no error is lost: Markdown would print the fence as text and go on."""

    @wraps(formatter)
    def guarded(src, *arguments, **options):
        src = src.strip()
        try:
            return formatter(src, *arguments, **options)
        except ledger.FenceError:
            raise
        except Exception as error:
            why = error if isinstance(error, NAMED) else f"{src}: {type(error).__name__}: {error}"
            raise ledger.current.fail(src, why) from error

    return guarded


def options_of(*known: str):
    """A validator that takes the options it knows and stops at others: superfences would print the fence as text."""

    def validator(language, inputs, options, attrs, md):
        for name in inputs.keys() - set(known):
            raise ledger.FenceError(
                f"the fence {language} has no option {name}; it knows: {', '.join(known) or 'none'}"
            )
        options.update(inputs)
        return True

    return validator


source_options = options_of("hl_lines")
run_options = options_of()
figure_options = options_of("caption")
record_options = options_of()
suite_options = options_of()


@quotation
def source(name, language, class_name, options, md, **kwargs) -> str:
    quote = quotes.quote(name)
    ledger.current.quoted.append(name)
    options = {**options, "linenums": str(quote.first), "title": quote.title}
    code = highlighted(quote.text, md, options)
    if quote.documented:
        title = f'<a href="{ledger.current.url_to("api/")}#{quote.name}">{quote.title}</a>'
        code = code.replace(quote.title, title, 1)
    return f'<div class="hb-source" data-quote="{name}">{code}</div>'


def address(snippet: str) -> str:
    return records.path(snippet).relative_to(records.ROOT).as_posix()


@quotation
def run(mark, language, class_name, options, md, **kwargs) -> str:
    name, _, tag = mark.partition(":")
    cells = {cell.id: cell.source for cell in records.snippet(name).cells if cell.cell_type == "code"}
    if tag not in cells:
        raise ledger.current.fail(mark, f"{mark}: {address(name)} has no cell {tag}; it has {', '.join(cells)}")
    code = highlighted(cells[tag], md, {"title": f"{address(name)} · {tag}"})
    ledger.current.shown.add(name)
    record = ledger.recorded(name, mark)
    if isinstance(record, str):
        result = outputs.notice_html(record)
    else:
        result = "".join(outputs.output_html(output, mark) for output in record.outputs[tag])
        result += outputs.provenance_html(record, ledger.current.url_of(name))
    return f'<div class="hb-run"><div data-quote="{mark}">{code}</div>{result}</div>'


@quotation
def figure(name, language, class_name, options, md, **kwargs) -> str:
    caption = options.get("caption")
    if not caption:
        raise ledger.current.fail(name, f'{name}: a figure has a caption: ``` figure {{caption="…"}}')
    found = figures.load(name)
    drawing, snippets = found.draw()
    ledger.current.shown.update(snippets)
    drawn_from = [ledger.recorded(snippet, name) for snippet in snippets]
    if notices := [record for record in drawn_from if isinstance(record, str)]:
        body = "".join(map(outputs.notice_html, notices)) + outputs.alternative_html(found.alternative)
    else:
        body = outputs.plot_html(drawing, found.alternative)
        body += "".join(outputs.provenance_html(record, ledger.current.url_of(record.name)) for record in drawn_from)
    return f'<figure class="hb-figure" id="figure-{name}"><figcaption>{escape(caption)}</figcaption>{body}</figure>'


@quotation
def record(name, language, class_name, options, md, **kwargs) -> str:
    ledger.current.shown.add(name)
    found = ledger.recorded(name, name)
    if isinstance(found, str):
        return outputs.notice_html(found)
    ran = outputs.provenance_html(found, ledger.current.url_of(name))
    command = f"<p>The command: <code>.venv/bin/python -m scripts.record {name}</code></p>"
    tables = "".join(map(outputs.folded_table_html, found.tables()))
    return f'<div class="hb-record">{ran}{command}{tables or "<p>It prints text alone.</p>"}</div>'


@quotation
def suite(name, language, class_name, options, md, **kwargs) -> str:
    if name != "tests/kernels":
        raise ledger.current.fail(name, f"there is no suite {name}; there is: tests/kernels")
    record = ledger.recorded_suite(name)
    if isinstance(record, str):
        return outputs.notice_html(record)
    return f'<div class="hb-suite">{outputs.suite_html(record)}{outputs.provenance_html(record)}</div>'


@quotation
def value(src, language, class_name, md) -> str:
    """One number; ``values`` has the grammar."""
    try:
        question = values.parse(src)
        if question.snippet is None:
            number, where = values.of_library(question, {name: import_module(LIBRARY[name]) for name in LIBRARY})
        else:
            ledger.current.valued.add(question.snippet)
            record = ledger.recorded(question.snippet, src)
            if isinstance(record, str):
                short = "awaits its run" if question.snippet in ledger.awaiting else "stale"
                return f'<span class="hb-value" title="{escape(record)}">[{short}]</span>'
            number = values.of_record(question, record)
            where = f"{record.name}, {record.provenance['gpu']}, {record.provenance['date']}"
        text = outputs.as_printed(question.printed(number))
    except values.ValueFault as error:
        raise ledger.current.fail(src, f"#!value {src}: {error}") from error
    return f'<span class="hb-value" data-value="{escape(src)}" title="{escape(where)}">{escape(text)}</span>'


def highlighted(code: str, md, options: dict[str, str]) -> str:
    fenced = md.preprocessors["fenced_code_block"]
    fenced.get_hl_settings()
    fenced.line_count = code.count("\n") + 1  # or hl_lines past the fence's own length would be dropped
    return fenced.highlight(src=code, language="python", options=options, md=md, classes=[], id_value="", attrs={})
