"""Records as HTML: outputs, tables, and the line that says where and when it ran.

Whatever a record says goes through ``Markup.format`` or ``Markup.join``, which escape it: here, once, and nowhere else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import date

from markupsafe import Markup

from scripts.records import TABLE, Record, RecordError, machine_name
from scripts.records.record_file import strip_controls
from scripts.site.meta.repository import clone_commands

SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
MAX_UNBROKEN = 35  # characters: the name of a kernel or a sentence, which may break after an underscore
IN_RANKS_NOTE = ", and starts one process for each GPU, or two on the CPU where there aren't two GPUs"
TWO_PROCESSES_NOTE = " in two processes, each on a GPU of its own if there are two; for four GPUs write 4"
EMPTY = Markup()


def cell_html(record: Record | None, name: str, tag: str) -> Markup:
    """Returns what a cell left when it was recorded; nothing if it has never run."""
    recorded = record.outputs.get(tag, []) if record else []
    return EMPTY.join(output_html(output, f"{name}:{tag}") for output in recorded)


def output_html(output: dict, mark: str) -> Markup:
    """Returns one output of a notebook. ``mark`` names the cell it came from: ``three_matmuls:shapes``."""
    if output["output_type"] == "stream":
        return text_html(output["text"], mark)
    data = output["data"]
    if TABLE in data:
        return table_html(data[TABLE], mark)
    if data.keys() != {"text/plain"}:
        kinds = ", ".join(sorted(data.keys()))
        raise RecordError(
            f"{mark} leaves {kinds}, and a page shows text and tables: make a drawing a figure of its own"
        )
    return text_html(data["text/plain"], mark)


def text_html(text: str, mark: str) -> Markup:
    # No tabindex here: the page's script adds one to what really scrolls sideways.
    return Markup('<pre class="hb-output" data-record="{}"><samp>{}</samp></pre>').format(
        mark, strip_controls(text).rstrip()
    )


def table_html(table: dict, mark: str | None = None) -> Markup:
    names = [column["name"] for column in table["columns"]]
    heads = EMPTY.join(head_html(with_spaces(column["name"]), column["unit"]) for column in table["columns"])
    rows = EMPTY.join(
        Markup("<tr>{}</tr>").format(EMPTY.join(table_cell(row[name]) for name in names)) for row in table["rows"]
    )
    return Markup(
        '<div class="hb-table" data-search-exclude{}><table class="hb-grid"><caption>{}</caption>'
        "<thead><tr>{}</tr></thead><tbody>{}</tbody></table></div>"
    ).format(Markup(' data-record="{}"').format(mark) if mark else "", with_spaces(table["name"]), heads, rows)


def head_html(name: str, unit: str = "") -> Markup:
    shown = Markup(' <span class="hb-unit">{}</span>').format(unit) if unit else ""
    return Markup('<th scope="col">{}{}</th>').format(name, shown)


def table_cell(value: object) -> Markup:
    """Returns a cell of a table: numbers to the right, long words breakable after each underscore."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return Markup('<td class="hb-number">{}</td>').format(number_text(value))
    text = "" if value is None else str(value)
    if len(text) <= MAX_UNBROKEN:
        return Markup("<td>{}</td>").format(text)
    return Markup('<td class="hb-long">{}</td>').format(Markup("_<wbr>").join(text.split("_")))


def with_spaces(name: str) -> str:
    return name.replace("_", " ")


def folded_table_html(table: dict) -> Markup:
    """Returns a table behind a line that names it, how long it is and what it holds."""
    columns = ", ".join(with_spaces(column["name"]) for column in table["columns"])
    return Markup(
        '<details class="hb-folded"><summary>{}: {} rows <span class="hb-unit">{}</span></summary>{}</details>'
    ).format(with_spaces(table["name"]), len(table["rows"]), columns, table_html(table))


def number_text(value: float) -> str:
    """Returns an integer whole, and of others four significant digits, with a power of ten only among many zeros."""
    if isinstance(value, int):
        return as_printed(str(value))
    if value == 0 or 1e-3 <= abs(value) < 1e4:
        return as_printed(f"{value:.4g}")
    return as_printed(f"{value:.0f}" if 1e4 <= abs(value) < 1e9 else f"{value:.3e}")


def as_printed(text: str) -> str:
    """Returns ``-5e-09`` as print has it, with a minus sign: ``−5·10⁻⁹``."""  # noqa: RUF002
    text = re.sub(r"e([+-]\d+)$", lambda match: f"·10{str(int(match[1])).translate(SUPERSCRIPT)}", text)
    return re.sub("^-", "\N{MINUS SIGN}", text)


def plot_html(figure: str, alternative: str) -> Markup:
    """Returns the place where the page's script draws a Plotly figure, given as JSON."""
    height = int(json.loads(figure).get("layout", {}).get("height", 400))
    embedded = Markup(figure.replace("<", "\\u003c"))  # or a string in it could end the script
    return Markup(
        '<div class="hb-plot" style="--hb-height:{}px"><script type="application/json">{}</script>{}</div>'
    ).format(height, embedded, alternative_html(alternative))


def alternative_html(text: str) -> Markup:
    return Markup('<p class="hb-alternative">{}</p>').format(text)


def ran_html(
    runs: dict[str, Record | None], url_of: Callable[[str], str] | None = None, verb: str = "measured"
) -> Markup:
    """Returns where and when snippets ran, in one line; or that one has never run, and how to run it.

    runs: the record of each snippet   url_of: says where its page is, unless that's the page itself   verb: what was
        done with them there
    """
    lacking = [
        notice_html(f"{name} has never run on a GPU. {how_to_run(name)}") for name, ran in runs.items() if not ran
    ]
    there = {name: ran for name, ran in runs.items() if ran}
    if not there:
        return EMPTY.join(lacking)
    if any(record.earlier for record in there.values()):
        verb = "an earlier run"
    days: dict[str, set[str]] = {}
    for record in there.values():
        days.setdefault(short_machine_name(record.provenance), set()).add(record.provenance["date"])
    places = "; ".join(f"on {machine}, {days_text(each)}" for machine, each in days.items())
    software = [
        software_html(record.provenance, name, url_of and url_of(name), record.earlier)
        for name, record in there.items()
    ]
    return EMPTY.join([*lacking, *map(behind_html, there.values()), folded_html(f"{verb} {places}", software)])


def behind_html(record: Record) -> Markup:
    """Returns the mark of an earlier run: its commit and why there is no newer one; nothing if it's current."""
    mark = Markup('<p class="hb-stale">an earlier run, of commit {}: {}</p>')
    return mark.format(record.provenance["commit"], record.behind) if record.behind else EMPTY


def changed_html(ran: bool = True) -> Markup:
    """Returns the mark of code that has changed since the run that the page shows, or that none has executed."""
    why = "this code has changed since the run shown here" if ran else "no run has executed this code yet"
    return Markup('<p class="hb-stale">{}</p>').format(why)


def source_of_number(record: Record) -> str:
    """Returns what a number rests on, for the reader who hovers over it."""
    return f"{record.name}, measured on {machine_name(record.provenance)}, {day_text(record.provenance)}"


def day_text(ran: dict) -> str:
    """Returns the day of a run: "25 November 2026"."""
    day = date.fromisoformat(ran["date"])
    return f"{day.day} {day:%B %Y}"


def days_text(dates: set[str]) -> str:
    """Returns days from the first on, each month once: "28 and 29 November 2026"."""
    months: dict[str, list[str]] = {}
    for day in map(date.fromisoformat, sorted(dates)):
        months.setdefault(f"{day:%B %Y}", []).append(str(day.day))
    return " and ".join(f"{' and '.join(days)} {month}" for month, days in months.items())


def short_machine_name(ran: dict) -> str:
    """Returns the machine as it's said: "an H200"."""
    name = machine_name(ran).replace("NVIDIA ", "")
    return f"{'an' if name[0] in 'AHL' else 'a'} {name}" if "gpus" not in ran else name


def provenance_html(ran: dict, name: str) -> Markup:
    """Returns one line, what ran where and when, which opens to its software."""
    return folded_html(f"{name} ran on {machine_name(ran)}, {day_text(ran)}", [software_html(ran)])


def folded_html(line: str, software: list[Markup]) -> Markup:
    return Markup('<div class="hb-provenance"><details><summary>{}</summary>{}</details></div>').format(
        line, EMPTY.join(software)
    )


def software_html(ran: dict, snippet: str = "", url: str | None = None, earlier: bool = False) -> Markup:
    """Returns with what a run was made, and of a snippet where it ran, and its command if its page is another.

    url: where the snippet's page is, if that isn't the page itself   earlier: it's one of snippets/earlier
    """
    text = Markup("torch {} · triton {} · CUDA {} · driver {} · Python {} · commit {}").format(
        *(ran[key] for key in ("torch", "triton", "cuda", "driver", "python", "commit"))
    )
    if not snippet:
        return Markup("<p>{}</p>").format(text)
    where = f"{'an earlier run' if earlier else 'ran'} on {machine_name(ran)}, {day_text(ran)}"
    if not url:
        return Markup("<p>{} {}: {}</p>").format(snippet, where, text)
    return Markup('<p><a href="{}">{}</a> {}: {} · <code>make run SNIPPET={}</code></p>').format(
        url, snippet, where, text, snippet
    )


def value_html(query: str, number: str, where: str, behind: bool = False) -> Markup:
    """Returns a number in running text; ``where`` says on hover what it rests on."""
    mark = Markup(' <span class="hb-stale">an earlier run</span>') if behind else ""
    value = Markup('<span class="hb-value" data-value="{}" title="{}">{}{}</span>')
    return value.format(query, where, as_printed(number), mark)


def notice_html(text: str) -> Markup:
    return Markup('<p class="hb-notice">{}</p>').format(text)


def how_to_run(snippet: str) -> str:
    return f"To run it yourself: make run SNIPPET={snippet}; to record it: make record."


def downloads_html(snippet: str) -> Markup:
    link = Markup('<a href="../{0}" download>{0}</a>')
    links = (link.format(f"{snippet}.{kind}") for kind in ("py", "ipynb", "zip"))
    return Markup('<p class="hb-downloads">{}</p>').format(Markup(" ").join(links))


def from_scratch_html(snippet: str, repository: str, in_ranks: bool = False) -> Markup:
    """Returns how to run a snippet on a machine that has nothing of the handbook yet.

    in_ranks: it runs in one process for each GPU
    """
    return Markup(
        '<p class="hb-how">Run it, with a GPU or without, on a machine with git, make and Python 3.11 or newer{}: '
        "<code>{}make run SNIPPET={}</code>. That sets up torch and triton, once{}. Or unpack <code>{}.zip</code>: it "
        "holds the kernels that the snippet imports: with torch, triton and numpy, <code>{}</code> runs it{}.</p>"
    ).format(
        "" if repository else ", at the root of a clone of the repository",
        f"{clone_commands(repository)} && " if repository else "",
        snippet,
        IN_RANKS_NOTE if in_ranks else "",
        snippet,
        run_command(snippet, in_ranks),
        TWO_PROCESSES_NOTE if in_ranks else "",
    )


def run_command(snippet: str, in_ranks: bool) -> str:
    """Returns the command that runs what its archive holds."""
    return f"{'torchrun --nproc-per-node 2' if in_ranks else 'python'} {snippet}/{snippet}.py"
