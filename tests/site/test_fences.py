"""What each fence puts on a page, and that it stops the build rather than guess."""

import re

import markdown
import nbformat
import pytest
import yaml
from bs4 import BeautifulSoup

from scripts import records
from scripts.records import ROOT
from scripts.site import figures, ledger, outputs, quotes
from tests.site.conftest import mkdocs

TABLE = {
    "name": "times",
    "columns": [{"name": "n", "unit": ""}, {"name": "time", "unit": "ms"}, {"name": "note", "unit": ""}],
    "rows": [{"n": 1, "time": 0.25, "note": None}, {"n": 2, "time": 0.5, "note": "a < b"}],
}
RAN = {
    "gpu": "NVIDIA H100",
    "driver": "1",
    "cuda": "13.0",
    "torch": "2",
    "triton": "3",
    "python": "3.12",
    "date": "2026-11-01",
}

SUITE = {
    "tests/kernels/test_late.py": {
        "passed": {},
        "skipped": {"needs <another> GPU": {"test_a": 1, "test_b": 2}},
        "seconds": 0.0,
    },
    "tests/kernels/test_state.py": {"passed": {"test_less": 4, "test_more": 1}, "skipped": {}, "seconds": 12.34},
}


@pytest.fixture(autouse=True)
def house(tmp_path, monkeypatch):
    """A library of one module, a snippet of one cell, a figure, and a record, read anew each time."""
    monkeypatch.setattr(ledger, "read", lambda snippet: records.read(snippet))
    for folder in ("kernels", "snippets", "scripts/figures/chapter", "tests/kernels"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "kernels/state.py").write_text(
        "import functools\n\n\nLIMIT = 3\n\n\n"
        "class State:\n    @functools.cache\n    def merge(self):\n        return 1 < 2\n"
    )
    (tmp_path / "snippets/first.py").write_text('# %% tags=["show"]\nprint("a < b")\n')
    (tmp_path / "scripts/figures/chapter/bars.py").write_text(
        "import plotly.graph_objects as go\n\nfrom scripts import records\n\nALT = 'Two bars.'\n\n\n"
        'def figure():\n    return go.Figure(go.Bar(y=[row[\'time\'] for row in records.table("first", "times")]))\n'
    )
    (tmp_path / "tests/kernels/test_state.py").write_text('"""1 < 2 <always>.\n\nMore.\n"""\n')
    (tmp_path / "tests/kernels/test_late.py").write_text('"""Later."""\n')
    for name, body in {
        "raising": "return {}['nothing']",
        "no_table": "return records.table('first', 'nothing')",
    }.items():
        script = f"from scripts import records\n\nALT = 'x'\n\n\ndef figure():\n    {body}\n"
        (tmp_path / "scripts/figures/chapter" / f"{name}.py").write_text(script)
    (tmp_path / "scripts/figures/chapter/mute.py").write_text("def figure():\n    return None\n")
    for module in (records, quotes):
        monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(figures, "FOLDER", tmp_path / "scripts/figures")
    printed = nbformat.v4.new_output("stream", name="stdout", text="a < b\n")
    shown = nbformat.v4.new_output("display_data", data={"text/plain": "…", records.TABLE: TABLE})
    executed = ["kernels.state:State.merge"]
    record = records.Record("first", {**RAN, "executed": executed}, {"show": [printed, shown]})
    monkeypatch.setattr(records, "read", lambda name: records.snippet(name) and record)
    monkeypatch.setattr(records, "read_suite", lambda: records.Suite(RAN, SUITE))
    monkeypatch.setattr(ledger, "current", ledger.Page(url="chapters/one/", text="# One\n\nthe page"))
    monkeypatch.setattr(ledger, "awaiting", set())
    monkeypatch.setattr(ledger, "serving", False)
    return tmp_path


class Loader(yaml.UnsafeLoader):
    """MkDocs's own tags stand in mkdocs.yml, too."""


Loader.add_constructor("!ENV", lambda loader, node: None)


def render(text: str) -> BeautifulSoup:
    extensions = yaml.load((ROOT / "mkdocs.yml").read_text(), Loader)["markdown_extensions"]
    named = {
        name: options
        for each in extensions
        for name, options in (each if isinstance(each, dict) else {each: {}}).items()
    }
    return BeautifulSoup(markdown.markdown(text, extensions=list(named), extension_configs=named), "html.parser")


def fence(kind: str, body: str, options: str = "") -> BeautifulSoup:
    return render(f"``` {kind} {options}\n{body}\n```\n")


def refused(text: str) -> str:
    with pytest.raises(ledger.FenceError) as caught:
        render(text)
    return str(caught.value)


def raising(error):
    def read(name=None):
        raise error

    return read


def test_source_quotes_a_method_with_its_decorator_and_says_where_it_stands():
    page = fence("source", "kernels.state:State.merge")
    assert page.pre.get_text() == "@functools.cache\ndef merge(self):\n    return 1 < 2\n"
    assert page.find(class_="filename").get_text() == "kernels/state.py · lines 8–10"  # noqa: RUF001
    assert [line["data-linenos"].strip() for line in page.find_all(class_="linenos")] == ["8", "9", "10"]
    assert ledger.current.quoted == ["kernels.state:State.merge"]


def test_source_quotes_a_constant_and_a_whole_module(house):
    assert fence("source", "kernels.state:LIMIT").pre.get_text() == "LIMIT = 3\n"
    assert fence("source", "kernels.state").pre.get_text() == (house / "kernels/state.py").read_text()


def test_a_line_past_the_fence_can_be_highlighted():
    page = fence("source", "kernels.state:State.merge", '{hl_lines="3"}')
    assert page.find(class_="hll").get_text() == "    return 1 < 2\n"


@pytest.mark.parametrize(
    "text, words",
    [
        ("``` source\nkernels.state:Nothing\n```", "there is no Nothing in kernels.state"),
        ("``` source\nkernels.state:State.nothing\n```", "there is no nothing in kernels.state"),
        ("``` source\nkernels.nowhere:f\n```", "kernels/ has no module kernels.nowhere"),
        ("``` source\nsnippets.first\n```", "kernels/ has no module snippets.first"),
        ('``` source {size="3"}\nkernels.state:LIMIT\n```', "has no option size"),
        ("``` run\nnothing:show\n```", "there is no snippet nothing"),
        ("``` run\nfirst:nothing\n```", "has no cell nothing; it has show"),
        ('``` figure {caption="c"}\nnothing\n```', "there is no scripts/figures/*/nothing.py"),
        ("``` figure\nbars\n```", "a figure has a caption"),
        ("`#!value first.time .1f`", "2 rows answer, and one is wanted"),
        ("`#!value first.time n=3 .1f`", "0 rows answer, and one is wanted"),
        ("`#!value first.nothing n=1 .1f`", "0 rows answer"),
        ("`#!value first .1f`", "is wanted"),
        ("`#!value first.time n=1 .1q`", "Unknown format code"),
        ("`#!value first.time n .1f`", "is wanted"),
        ("`#!value first.note n=1 .1f`", "unsupported format string"),
        ("`#!value nothing.time n=1 .1f`", "there is no snippet nothing"),
        ('``` figure {caption="c"}\nraising\n```', "raising: KeyError: 'nothing'"),
        ('``` figure {caption="c"}\nno_table\n```', "first holds 0 tables named nothing"),
        ('``` figure {caption="c"}\nmute\n```', "has no ALT"),
        ("``` suite\ntests/site\n```", "there is no suite tests/site; there is: tests/kernels"),
        ('``` suite {size="3"}\ntests/kernels\n```', "has no option size"),
    ],
)
def test_what_is_not_there_stops_the_build_and_is_named(text, words):
    assert words in refused(text)


def test_the_message_says_on_which_line_the_name_stands():
    ledger.current.text = "# One\n\n``` source\nkernels.state:Nothing\n```\n"
    assert refused("``` source\nkernels.state:Nothing\n```").startswith("line 4: ")


def test_run_shows_the_cell_what_it_left_and_where_it_ran():
    page = fence("run", "first:show")
    code, printed = page.find_all("pre")
    assert code.get_text() == 'print("a < b")\n' and printed.get_text() == "a < b"
    assert [cell.get_text() for cell in page.find_all("th")] == ["n", "time ms", "note"]
    assert [cell.get_text() for cell in page.find_all("td")] == ["1", "0.25", "", "2", "0.5", "a < b"]
    ran = page.find(class_="hb-provenance")
    assert all(word in ran.get_text() for word in ("NVIDIA H100", "1 November 2026", "CUDA 13.0", "Python 3.12"))
    assert ran.a["href"] == "../../snippets/first/"


def test_value_formats_the_one_number_that_answers():
    assert (
        fence("run", "first:show")
        and render("It took `#!value first.time n=2 .2f` ms.").p.get_text() == "It took 0.50 ms."
    )


def test_figure_has_caption_alternative_and_provenance():
    page = fence("figure", "bars", '{caption="Bars & more"}')
    assert page.figcaption.get_text() == "Bars & more"
    assert page.find(class_="hb-alternative").get_text() == "Two bars."
    assert "NVIDIA H100" in page.find(class_="hb-provenance").get_text()
    assert '"y":[0.25,0.5]' in page.script.string and '"template":{}' in page.script.string


def test_a_figure_cannot_end_its_own_script():
    html = outputs.plot_html('{"data":["<!--<script>","</script>"]}', "")
    assert html.count("</script>") == 1 and "<!--" not in html


def test_an_output_that_no_page_can_show_stops_the_build(monkeypatch):
    drawn = nbformat.v4.new_output("display_data", data={"text/plain": "Figure()", "image/png": ""})
    record = records.Record("first", {**RAN, "executed": []}, {"show": [drawn]})
    monkeypatch.setattr(records, "read", lambda name: record)
    assert "first:show leaves image/png, text/plain" in refused("``` run\nfirst:show\n```")


def test_a_figure_names_what_it_was_drawn_from_however_it_asked(house):
    script = house / "scripts/figures/chapter/bars.py"
    script.write_text(
        script.read_text().replace('records.table("first", "times")', "records.table(table='times', snippet='first')")
    )
    assert "NVIDIA H100" in fence("figure", "bars", '{caption="c"}').find(class_="hb-provenance").get_text()


def test_a_figure_without_its_record_shows_its_alternative(monkeypatch):
    monkeypatch.setattr(records, "read", raising(records.Missing("not yet")))
    assert fence("figure", "bars", '{caption="c"}').find(class_="hb-alternative").get_text() == "Two bars."


def test_suite_shows_what_became_of_each_file_and_why_tests_were_skipped_and_where_it_ran():
    page = fence("suite", "tests/kernels")
    rows = [[cell.get_text(" ") for cell in row.find_all(["th", "td"])] for row in page.find_all("tr")]
    assert rows == [
        ["What is tested", "Passed", "Skipped", "Seconds"],
        ["Later. test_late.py", "0", "3", "0.0"],
        ["1 < 2 <always>. test_state.py", "5", "0", "12.3"],
        ["Together", "5", "3", "12.3"],
    ]
    assert [item.get_text() for item in page.find_all("li")] == [
        "test_late.py, test_a, test_b (2 times): needs <another> GPU"
    ]
    assert "The GPU suite ran on NVIDIA H100, 1 November 2026" in page.find(class_="hb-provenance").get_text()


def test_a_suite_that_skips_nothing_says_nothing_of_it(monkeypatch):
    passing = {path: file for path, file in SUITE.items() if file["passed"]}
    monkeypatch.setattr(records, "read_suite", lambda: records.Suite(RAN, passing))
    assert "why" not in fence("suite", "tests/kernels").get_text()


@pytest.mark.parametrize("text", ["", '"""   """', "x = 1"])
def test_a_test_file_that_does_not_say_what_it_is_for_stops_the_build(house, text):
    (house / "tests/kernels/test_state.py").write_text(text)
    assert "tests/kernels/test_state.py has no docstring" in refused("``` suite\ntests/kernels\n```")


def test_a_missing_suite_is_said_and_a_stale_one_stops(monkeypatch):
    text = "``` suite\ntests/kernels\n```"
    monkeypatch.setattr(records, "read_suite", raising(records.Missing("not yet")))
    notice = render(text).find(class_="hb-notice").get_text()
    assert "The GPU suite awaits its run on a GPU" in notice and ".venv/bin/python -m scripts.suite" in notice
    assert ledger.awaiting == {"The GPU suite"}
    monkeypatch.setattr(records, "read_suite", raising(records.Stale("kernels.state changed")))
    assert "kernels.state changed" in refused(text)
    ledger.serving = True
    assert "kernels.state changed" in render(text).find(class_="hb-notice").get_text()


@pytest.mark.parametrize("text", ["``` run\nfirst:show\n```", '``` figure {caption="c"}\nbars\n```'])
def test_a_missing_record_is_said_and_a_stale_one_stops(text, monkeypatch):
    monkeypatch.setattr(records, "read", raising(records.Missing("not yet")))
    assert "awaits its run on a GPU" in render(text).find(class_="hb-notice").get_text()
    assert ledger.awaiting == {"first"}
    monkeypatch.setattr(records, "read", raising(records.Stale("kernels.state changed")))
    assert "kernels.state changed" in refused(text)
    ledger.serving = True
    assert "kernels.state changed" in render(text).find(class_="hb-notice").get_text()


def test_a_value_of_a_missing_record_says_so(monkeypatch):
    monkeypatch.setattr(records, "read", raising(records.Missing("not yet")))
    assert render("`#!value first.time n=1 .1f`").p.get_text() == "[awaits its run]"


def test_a_value_of_a_stale_record_says_so_while_serving(monkeypatch):
    monkeypatch.setattr(records, "read", raising(records.Stale("kernels.state changed")))
    assert "kernels.state changed" in refused("`#!value first.time n=1 .1f`")
    ledger.serving = True
    assert render("`#!value first.time n=1 .1f`").p.get_text() == "[stale]"


@pytest.mark.parametrize(
    "quoted, text, passes",
    [
        ("kernels.state:State.merge", "[run](../snippets/first.ipynb)", True),
        ("kernels.state:State", "[run](../snippets/first.ipynb)", True),
        ("kernels.state", "[run](../snippets/first.ipynb)", True),
        ("kernels.state:State.mer", "[run](../snippets/first.ipynb)", False),
        ("kernels.state:LIMIT", "[run](../snippets/first.ipynb)", False),
        ("kernels.state:State.merge", "no link", False),
    ],
)
def test_a_page_quotes_only_what_a_record_that_it_links_has_executed(quoted, text, passes):
    page = ledger.Page(text=text, quoted=[quoted])
    if passes:
        page.check()
    else:
        with pytest.raises(ledger.FenceError, match=re.escape(f"{quoted} is quoted, and no record")):
            page.check()


def test_a_number_has_its_record_shown_on_the_page():
    assert render("`#!value first.time n=1 .2f`").p.get_text() == "0.25"
    with pytest.raises(ledger.FenceError, match="a number of first is quoted, and no run or figure here says"):
        ledger.current.check()
    fence("run", "first:show")
    ledger.current.check()


@pytest.mark.parametrize(
    "value, text",
    [
        (0.0, "0"),
        (0.25, "0.25"),
        (1234.5678, "1235"),
        (123456.7, "123457"),
        (1.5e-42, "1.500·10⁻⁴²"),
        (1e-3, "0.001"),
        (-0.5, "−0.5"),
    ],
)
def test_numbers_in_a_table_keep_four_digits(value, text):
    assert outputs.number(value) == text


def test_a_long_name_in_a_table_may_break_after_an_underscore():
    columns = [{"name": name, "unit": ""} for name in ("kernel", "off")]
    row = {"kernel": "a_kernel_of_which_the_name_is_longer_than_a_cell", "off": -1}
    html = outputs.table_html({"name": "t", "columns": columns, "rows": [row, {"kernel": "short_name", "off": 2}]})
    assert '<td class="hb-long">a_<wbr>kernel_<wbr>of_' in html and "<td>short_name</td>" in html
    assert '<td class="hb-number">−1</td>' in html


def test_mkdocs_names_the_page_of_a_fence_that_cannot_be_filled(tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/index.md").write_text("# Home\n\n``` source\nkernels.softmax:Nothing\n```\n")
    config = ROOT / "build" / "broken.yml"
    config.parent.mkdir(exist_ok=True)
    config.write_text(
        f"INHERIT: ../mkdocs.yml\ndocs_dir: {tmp_path}/docs\nnav: [index.md]\nwatch: []\n"
        "hooks: [../scripts/site/hooks.py]\ntheme:\n  custom_dir: ../scripts/site/theme\n"
    )
    built = mkdocs("build", "--config-file", str(config), "--site-dir", str(tmp_path / "site"))
    assert built.returncode != 0
    assert "index.md" in built.stderr and "line 4: " in built.stderr and "no Nothing in kernels.softmax" in built.stderr
