"""A recorded output as HTML, and the line that says where and when it ran."""

from __future__ import annotations

import ast
import json
import re
from datetime import date
from html import escape
from pathlib import Path

from scripts.records import TABLE, Missing, Outcome, RandomCases, Record, RecordError, Waiting, machine
from scripts.records.printed import plain
from scripts.site.fences import symbols
from scripts.site.meta.repository import to_clone

SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
LONG = 35  # characters: the name of a kernel or a sentence, which may break, a name after an underscore
TO_RUN_THE_SUITE = "To run it: .venv/bin/python -m scripts.record_tests; make record does so, too."
AS_MANY = ", and starts one process a GPU, or two on the CPU where there are not two GPUs"
IN_TWO = " in two processes, each on a GPU of its own if there are two; for four GPUs write 4"
TO_RUN_RANDOM_CASES = "To run it: .venv/bin/python -m tests.kernels.random_cases; make record does so, too."


def cell_html(record: Record | None, name: str, tag: str) -> str:
    """What a cell left when it was recorded; nothing if it awaits its run or, in a preview, is new."""
    recorded = record.outputs.get(tag, []) if record else []
    return "".join(output_html(output, f"{name}:{tag}") for output in recorded)


def output_html(output: dict, mark: str) -> str:
    """One output of a notebook.  ``mark`` names the cell it came from: ``three_matmuls:shapes``."""
    if output["output_type"] == "stream":
        return text_html(output["text"], mark)
    data = output["data"]
    if TABLE in data:
        return table_html(data[TABLE], mark)
    if data.keys() != {"text/plain"}:
        kinds = ", ".join(sorted(data.keys()))
        raise RecordError(f"{mark} leaves {kinds}: text and tables are shown; a drawing is a figure of its own")
    return text_html(data["text/plain"], mark)


def text_html(text: str, mark: str) -> str:
    # No tabindex here: the page's script adds one to what really scrolls sideways.
    return f'<pre class="hb-output" data-record="{mark}"><samp>{escape(plain(text).rstrip())}</samp></pre>'


def table_html(table: dict, mark: str | None = None) -> str:
    def head(column: dict) -> str:
        unit = f' <span class="hb-unit">{escape(column["unit"])}</span>' if column["unit"] else ""
        return f'<th scope="col">{escape(column["name"].replace("_", " "))}{unit}</th>'

    def cell(value: object) -> str:
        if isinstance(value, float):
            return f'<td class="hb-number">{number(value)}</td>'
        if isinstance(value, int) and not isinstance(value, bool):
            return f'<td class="hb-number">{as_printed(str(value))}</td>'
        text = "" if value is None else escape(str(value))
        return f'<td class="hb-long">{text.replace("_", "_<wbr>")}</td>' if len(text) > LONG else f"<td>{text}</td>"

    names = [column["name"] for column in table["columns"]]
    rows = "".join(f"<tr>{''.join(cell(row[name]) for name in names)}</tr>" for row in table["rows"])
    caption = escape(table["name"].replace("_", " "))
    marked = f' data-record="{mark}"' if mark else ""
    return (
        f'<div class="hb-table" data-search-exclude{marked}><table class="hb-grid"><caption>{caption}</caption>'
        f"<thead><tr>{''.join(map(head, table['columns']))}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def folded_table_html(table: dict) -> str:
    """A table behind a line that names it, how long it is and what it holds."""
    columns = ", ".join(column["name"].replace("_", " ") for column in table["columns"])
    title = f"{table['name'].replace('_', ' ')}: {len(table['rows'])} rows"
    return (
        f'<details class="hb-folded"><summary>{escape(title)} <span class="hb-unit">{escape(columns)}</span></summary>'
        f"{table_html(table)}</details>"
    )


def suite_html(suite: Outcome, root: Path) -> str:
    """What became of each test file, with what it tests, in a table; below it why tests were skipped."""
    rows, reasons, totals = [], [], [0, 0, 0.0]
    for path, file in suite.all_files.items():
        name = short(path)
        skipped = [*file["skipped"].items()]
        counts = [sum(file["passed"].values()), sum(sum(tests.values()) for _, tests in skipped), file["seconds"]]
        totals = [total + count for total, count in zip(totals, counts, strict=True)]
        purpose = symbols.purpose(path, root) if (root / path).is_file() else "No longer there."  # in a preview
        all_skipped = f"All skipped: {escape(skipped[0][0])}.<br>" if len(skipped) == 1 and not counts[0] else ""
        rows.append(suite_row(f"{escape(purpose)}<br>{all_skipped}<code>{name}</code>", counts))
        reasons += [f"<li><code>{name}</code>, {names(tests)}: {escape(reason)}</li>" for reason, tests in skipped]
    head = "".join(f'<th scope="col">{name}</th>' for name in ("What is tested", "Passed", "Skipped", "Seconds"))
    table = (
        f'<table data-suite="tests/kernels"><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody>'
        f"<tfoot>{suite_row('Together', totals)}</tfoot></table>"
    )
    return table + (f"<p>Skipped, and why:</p><ul>{''.join(reasons)}</ul>" if reasons else "")


def short(path: str) -> str:
    return path.removeprefix("tests/kernels/")  # two folders may each have a test_wrong.py


def suite_ran_html(suite: Outcome) -> str:
    """Where and when the tests ran: the run with most of the files, then each other with its own."""
    most, *others = sorted(suite.runs, key=lambda run: -len(run.files))
    return provenance_html(most) + "".join(
        provenance_html(run, name=f"Of it {', '.join(map(short, sorted(run.files)))}") for run in others
    )


def waiting_html(fault: Waiting, root: Path) -> str:
    """How many tests are in no row of the table, whatever number of inputs they have, and of which files."""
    count = sum(map(tests_in, ((root / file).read_text(encoding="utf-8") for file in fault.files)))
    tests = "1 test function" if count == 1 else f"{count} test functions"
    files = f"{len(fault.files)} files" if len(fault.files) > 1 else "1 file"
    names = ", ".join(map(short, fault.files))
    verb = "awaits its" if count == 1 else "await their"
    return notice_html(f"{tests} of {files} {verb} run on a GPU: {names}. {TO_RUN_THE_SUITE}")


def tests_in(source: str) -> int:
    """How many tests a file defines, each once, however many inputs it has."""
    functions = (each for each in ast.walk(ast.parse(source)) if isinstance(each, ast.FunctionDef))
    return sum(each.name.startswith("test_") for each in functions)


def suite_row(first: str, counts: list[float]) -> str:
    cells = "".join(f"<td>{count if isinstance(count, int) else format(count, '.1f')}</td>" for count in counts)
    return f"<tr><td>{first}</td>{cells}</tr>"


def random_cases_html(cases: RandomCases) -> str:
    """How many cases of each form there were, and how near the worst came to its budget; below it what failed."""
    counts = [(form["cases"], form["worst"]) for form in cases.forms.values()]
    together = sum(count for count, _ in counts), max((worst for _, worst in counts), default=0.0)
    rows = "".join(case_row(name, *each) for name, each in zip(cases.forms, counts, strict=True))
    head = "".join(f'<th scope="col">{name}</th>' for name in ("Form", "Cases", "Largest share of the budget"))
    table = (
        f'<table data-suite="tests/kernels/random_cases"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody>'
        f"<tfoot>{case_row('Together', *together)}</tfoot></table>"
    )
    seeds = ", ".join(map(str, cases.seeds))
    told = f"<p>{cases.failed} of them failed. Drawn for {cases.seconds:.0f} seconds, from the seeds {seeds}.</p>"
    failures = "".join(
        f"<li>{escape(each['form'])}, seed {each['seed']}, case {each['case']}: {escape(each['why'])}</li>"
        for each in cases.failures
    )
    return table + told + (f"<p>The first that failed:</p><ul>{failures}</ul>" if failures else "")


def case_row(name: str, count: int, worst: float) -> str:
    return f"<tr><td>{escape(name)}</td><td>{count}</td><td>{worst:.2f}</td></tr>"


def names(tests: dict[str, int]) -> str:
    return ", ".join(test if times == 1 else f"{test} ({times} times)" for test, times in tests.items())


def number(value: float) -> str:
    """Four significant digits, and a power of ten only where the digits would be lost among zeros."""
    if value == 0 or 1e-3 <= abs(value) < 1e4:
        return as_printed(f"{value:.4g}")
    return as_printed(f"{value:.0f}" if 1e4 <= abs(value) < 1e9 else f"{value:.3e}")


def as_printed(text: str) -> str:
    """``-5e-09`` as print has it, with a minus sign: ``−5·10⁻⁹``."""  # noqa: RUF002
    text = re.sub(r"e([+-]\d+)$", lambda match: f"·10{str(int(match[1])).translate(SUPERSCRIPT)}", text)
    return re.sub("^-", "\N{MINUS SIGN}", text)


def plot_html(figure: str, alternative: str) -> str:
    """The place where the page's script draws a Plotly figure, given as JSON."""
    height = json.loads(figure).get("layout", {}).get("height", 400)
    embedded = figure.replace("<", "\\u003c")  # or a string in it could end the script
    return (
        f'<div class="hb-plot" style="--hb-height:{height}px">'
        f'<script type="application/json">{embedded}</script>'
        f"{alternative_html(alternative)}</div>"
    )


def alternative_html(text: str) -> str:
    return f'<p class="hb-alternative">{escape(text)}</p>'


def ran_html(
    record: Record | Outcome | RandomCases | None,
    fault: RecordError | None,
    name: str,
    how: str,
    url: str | None = None,
) -> str:
    """Where and when a record was made, marked if its source has changed since; or that there is none, and ``how`` to
    make it.

    url: where the snippet's page is, if that is not the page itself
    """
    if record:
        return (stale_html(fault) if fault else "") + provenance_html(record, url)
    return notice_html(f"{name} awaits its run on a GPU. {how}" if isinstance(fault, Missing) else str(fault))


def to_run(snippet: str) -> str:
    return f"To run it yourself: make run SNIPPET={snippet}; to record it: make record."


def downloads_html(snippet: str) -> str:
    links = (f'<a href="../{snippet}.{kind}" download>{snippet}.{kind}</a>' for kind in ("py", "ipynb", "zip"))
    return f'<p class="hb-downloads">{" ".join(links)}</p>'


def from_nothing_html(snippet: str, repository: str, in_ranks: bool = False) -> str:
    """How to run a snippet on a machine that has nothing of the handbook yet.

    in_ranks: it runs in one process a GPU
    """
    clone = escape(f"{to_clone(repository)} && ") if repository else ""
    return (
        '<p class="hb-how">Run it, with a GPU or without, on a machine with git, make and Python 3.11 or newer'
        f"{'' if repository else ', at the root of a clone of the repository'}: "
        f"<code>{clone}make run SNIPPET={snippet}</code>. That sets up torch and triton, once"
        f"{AS_MANY if in_ranks else ''}. Or unpack "
        f"<code>{snippet}.zip</code>, which holds the kernels that the snippet imports: with torch, triton and numpy "
        f"installed, <code>{by_hand(snippet, in_ranks)}</code> runs it{IN_TWO if in_ranks else ''}.</p>"
    )


def by_hand(snippet: str, in_ranks: bool) -> str:
    """The command that runs what its archive holds."""
    return f"{'torchrun --nproc-per-node 2' if in_ranks else 'python'} {snippet}/{snippet}.py"


def provenance_html(record: Record | Outcome | RandomCases, url: str | None = None, name: str | None = None) -> str:
    """One line, the machine and the day, which opens to its software.

    url: where the snippet's page is, if that is not the page itself   name: of what ran, if it is not the record's
    """
    ran = {key: escape(str(text)) for key, text in record.provenance.items()}
    where, day = escape(machine(record.provenance)), date.fromisoformat(ran["date"])
    name = escape(name) if name else f'<a href="{url}">{record.name}</a>' if url else record.name
    return (
        f'<div class="hb-provenance">{name} <details><summary>ran on {where}, {day.day} {day:%B %Y}</summary>'
        f"<p>torch {ran['torch']} · triton {ran['triton']} · CUDA {ran['cuda']} · driver {ran['driver']} · "
        f"Python {ran['python']}</p></details></div>"
    )


def stale_html(fault: RecordError) -> str:
    """The mark of an output that a preview shows although its source has changed."""
    return f'<p class="hb-stale" title="{escape(str(fault))}">recorded from older source</p>'


def value_html(question: str, number: str, where: str, fault: RecordError | None = None) -> str:
    """A number in running text; ``where`` says on hover what it rests on."""
    marked = f' <span class="hb-stale" title="{escape(str(fault))}">older source</span>' if fault else ""
    text = f"{escape(as_printed(number))}{marked}"
    return f'<span class="hb-value" data-value="{escape(question)}" title="{escape(where)}">{text}</span>'


def notice_html(text: str) -> str:
    return f'<p class="hb-notice">{escape(text)}</p>'
