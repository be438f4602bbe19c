"""What each fence puts on a page, and that it stops the build rather than guess."""

from dataclasses import replace
from zipfile import ZipFile

import nbformat
import pytest
from bs4 import BeautifulSoup

from scripts import records
from scripts.site.fences import outputs
from scripts.site.pages import archive
from tests.site.fences.conftest import CELL, NEVER_RAN, PRINTED, record_of

CAPTION = '{caption="c"}'
RUN = "``` run\nfirst:show\n```"
BARS = f"``` figure {CAPTION}\nbars\n```"
RECORD = "``` record\nfirst\n```"
SUITE = "``` suite\ntests/kernels\n```"
CASES = "``` suite\ntests/kernels/random_cases\n```"
CHANGED = "this code has changed since the run shown here"


def texts(page, *selectors):
    return [[each.get_text(" ") for each in row.select(", ".join(selectors))] for row in page.find_all("tr")]


@pytest.mark.parametrize(
    "mark, text, where",
    [
        ("kernels.state:State.merge", "@functools.cache\ndef merge(self):\n    return 1 < 2\n", "8–10"),  # noqa: RUF001
        ("kernels.state:LIMIT", "LIMIT = 3\n", "4–4"),  # noqa: RUF001
        (
            'kernels.state:State.merge from="def merge" to="return 1"',
            "def merge(self):\n    return 1 < 2\n",
            "9–10",  # noqa: RUF001
        ),
        ("kernels.state", None, "1–10"),  # noqa: RUF001
    ],
)
def test_source_quotes_a_symbol_or_a_part_of_it_and_says_where_it_is(renderer, mark, text, where):
    page = renderer.render_fence("source", mark)
    assert page.pre.get_text() == (text or (renderer.root / "kernels/state.py").read_text())
    assert page.find(class_="filename").get_text() == f"kernels/state.py · lines {where}"
    assert page.find(class_="linenos")["data-linenos"].strip() == where.partition("–")[0]  # noqa: RUF001
    assert page.find(class_="hb-source")["data-quote"] == mark and renderer.page.quoted_symbols == [mark]


def test_source_quotes_of_a_lab_its_start_and_a_solution_and_no_more(renderer):
    for path in (f"scripts/labs/catalogue/add/{name}.py" for name in ("solution", "lab", "start")):
        renderer.write(path, '"""Adds."""\n\n\ndef add(x, y):\n    """x + y"""\n    return x + y\n')
    about = 'number = 4\ntitle = "Add"\nchapter = "first-kernel"\nminutes = 9\nfunctions = ["add"]\n'
    renderer.write("scripts/labs/catalogue/add/about.toml", about)
    start = renderer.render_checked("``` source\nscripts.labs.catalogue.add.start\n```")  # no record runs it
    assert start.find(class_="filename").get_text() == "labs/04_add.py"
    assert not start.find(class_="filename").a  # the API has no lab
    assert "return x + y" in renderer.render_fence("source", "scripts.labs.catalogue.add.solution:add").pre.get_text()
    assert "has no module scripts.labs.catalogue.add.lab" in renderer.refusal(
        "``` source\nscripts.labs.catalogue.add.lab\n```"
    )


def test_source_leads_to_the_api_where_the_symbol_is_documented(renderer):
    assert not renderer.render_fence("source", "kernels.state:State").find(class_="filename").a
    text = '"""States."""\n\n\nclass State:\n    """One."""\n\n    def _own(self):\n        """Inner."""\n'
    renderer.write("kernels/state.py", text)
    link = renderer.render_fence("source", "kernels.state:State").find(class_="filename").a
    assert link["href"] == "../../api/kernels/#kernels.state.State"
    assert not renderer.render_fence("source", "kernels.state:State._own").find(class_="filename").a


def test_a_line_past_the_fence_can_be_highlighted(renderer):
    page = renderer.render_fence("source", "kernels.state:State.merge", '{hl_lines="3"}')
    assert page.find(class_="hll").get_text() == "    return 1 < 2\n"


@pytest.mark.parametrize(
    "text, words",
    [
        ("``` source\nkernels.state:Nothing\n```", "there is no Nothing in kernels.state"),
        ("``` source\nkernels.state:functools\n```", "there is no functools in kernels.state"),
        ("``` source\nkernels.state:State.nothing\n```", "there is no nothing in kernels.state"),
        ("``` source\nkernels.nowhere:f\n```", "kernels/ has no module kernels.nowhere"),
        ("``` source\nsnippets.first\n```", "kernels/ has no module snippets.first"),
        ('``` source {size="3"}\nkernels.state:LIMIT\n```', "a source has no option size; it knows: hl_lines"),
        ('``` source\nkernels.state from="nothing" to="3"\n```', "0 lines have 'nothing', and a part begins at one"),
        ('``` source\nkernels.state from="def" to="LIMIT"\n```', "no line from there on has 'LIMIT'"),
        ('``` source\nkernels.state from="def"\n```', "a part is written from="),
        ("``` run\nnothing:show\n```", "there is no snippet nothing"),
        ("``` run\nfirst:nothing\n```", "has no cell nothing; it has show"),
        (f"``` figure {CAPTION}\nnothing\n```", "there is no scripts/chapters/*/figures/nothing.py"),
        ("``` figure\nbars\n```", "a figure has a caption"),
        (f"``` figure {CAPTION}\nraising\n```", "raising: KeyError: 'nothing'"),
        (f"``` figure {CAPTION}\nmute\n```", "has no ALT"),
        ("``` record\nnothing\n```", "there is no snippet nothing"),
        ("``` suite\ntests/site\n```", "no suite tests/site; there are: tests/kernels, tests/kernels/random_cases"),
        ('``` suite {size="3"}\ntests/kernels\n```', "has no option size"),
    ],
)
def test_what_is_not_there_stops_the_build_and_its_line_is_named(renderer, text, words):
    renderer.first_line = 10
    message = renderer.refusal(f"# One\n\nkernels.state:Nothing, first:nothing, bars\n\n{text}\n")
    assert words in message and message.startswith("line 14: ")


def test_run_shows_the_cell_what_it_left_and_where_it_ran(renderer):
    page = renderer.render(RUN)
    code, printed = page.find_all("pre")
    assert code.get_text() == 'print("a < b")\n' and printed.get_text() == "a < b"
    assert texts(page, "th", "td") == [["n", "time  ms", "note"], ["1", "0.25", ""], ["2", "0.5", "a < b"]]
    (ran,) = page.find_all(class_="hb-provenance")
    assert ran.p.a["href"] == "../../snippets/first/" and not ran.summary.find("a")  # a control within a control
    assert ran.summary.get_text() == "ran on an H100, 1 November 2026" and not ran.details.has_attr("open")
    assert ran.p.get_text() == (
        "first ran on NVIDIA H100, 1 November 2026: torch 2 · triton 3 · CUDA 13.0 · driver 1 · Python 3.12"
        " · commit 0123abcd · make run SNIPPET=first"
    )


def test_runs_share_a_line_which_names_each_machine_and_each_day_once(renderer):
    later, other = (renderer.record.provenance | change for change in ({"date": "2026-11-03"}, {"gpu": "NVIDIA B200"}))
    runs = {name: replace(renderer.record, provenance=ran) for name, ran in (("b", later), ("c", other), ("d", later))}
    html = outputs.ran_html({"a": renderer.record, **runs, "never": None})
    page = BeautifulSoup(html, "html.parser")
    assert page.summary.get_text() == "measured on an H100, 1 and 3 November 2026; on a B200, 1 November 2026"
    assert [line.get_text().partition(" ran ")[0] for line in page.select(".hb-provenance p")] == ["a", "b", "c", "d"]
    assert page.find(class_="hb-notice").get_text().startswith("never has never run")


def test_a_figure_has_caption_plot_alternative_note_and_where_it_ran(renderer):
    page = renderer.render_fence("figure", "bars", '{caption="Bars & more" note="One head & FP16."}')
    assert page.figcaption.get_text() == "Bars & more"
    plot, note, ran = page.figure.find_all(class_=True, recursive=False)
    assert '"y":[0.25,0.5]' in plot.script.string and '"template":{}' in plot.script.string
    assert plot.find(class_="hb-alternative").get_text() == "Two bars." and note.get_text() == "One head & FP16."
    assert "NVIDIA H100" in ran.get_text()


def test_a_figure_cannot_end_its_own_script():
    html = outputs.plot_html('{"data":["<!--<script>","</script>"]}', "")
    assert html.count("</script>") == 1 and "<!--" not in html


def test_an_output_that_no_page_can_show_stops_the_build(renderer):
    data = {"text/plain": "Figure()", "image/png": ""}
    renderer.record = record_of(nbformat.v4.new_output("display_data", data=data))
    assert "first:show leaves image/png, text/plain" in renderer.refusal(RUN)


def test_record_shows_every_table_folded_and_its_command(renderer):
    page = renderer.render(RECORD)
    assert page.find(class_="hb-folded").summary.get_text() == "times: 2 rows n, time, note"
    assert page.select_one(".hb-record > p code").get_text() == ".venv/bin/python -m scripts.records first"
    renderer.record = record_of()
    assert "It prints text alone." in renderer.render(RECORD).get_text()


# What has never run, is an earlier run, or has changed


@pytest.mark.parametrize(
    "text, how",
    [
        (RUN, "make run SNIPPET=first"),
        (BARS, "make run SNIPPET=first"),
        (RECORD, "make run SNIPPET=first"),
        (SUITE, "-m scripts.gpu_tests"),
        (CASES, "make random"),
    ],
)
def test_what_has_never_run_is_said_with_how_to(renderer, text, how):
    renderer.record = NEVER_RAN
    page = renderer.render(text)
    assert how in page.find(class_="hb-notice").get_text() and not page.select(".hb-provenance, table, .hb-plot")


def test_without_its_record_a_figure_shows_its_alternative_and_the_field_above_tables_finds_the_notice(renderer):
    renderer.record = NEVER_RAN
    assert renderer.render(BARS).find(class_="hb-alternative").get_text() == "Two bars."
    assert renderer.render(RECORD).select(".hb-record .hb-notice")


@pytest.mark.parametrize("text", [RUN, BARS, RECORD])
def test_a_record_that_is_behind_is_shown_with_a_mark_and_a_stale_one_stops_the_build(renderer, text):
    whole = renderer.render(text)
    assert not whole.find(class_="hb-stale")
    renderer.record = replace(renderer.record, behind="a new kernel & no GPU")
    page = renderer.render(text)
    assert (
        page.find(class_="hb-stale").extract().get_text() == "an earlier run, of commit 0123abcd: a new kernel & no GPU"
    )
    assert str(page) == str(whole)
    renderer.record = records.Stale("kernels.state changed")
    assert "kernels.state changed" in renderer.refusal(text)


@pytest.mark.parametrize(
    "recorded, earlier, marks, printed",
    [
        ({"show": CELL}, False, [], 1),
        ({"show": "print(1)"}, False, [CHANGED], 1),
        ({"renamed": CELL}, False, [CHANGED], 0),
        ({"show": "print(1)"}, True, [], 1),
    ],
)
def test_a_cell_whose_text_is_not_the_recorded_one_is_marked(renderer, recorded, earlier, marks, printed):
    record = record_of(PRINTED, sources=recorded, earlier=earlier)
    renderer.record = replace(record, outputs={tag: [PRINTED] for tag in recorded})
    page = renderer.render(RUN)
    assert [mark.get_text() for mark in page.select(".hb-stale")] == marks
    assert len(page.select("[data-record]")) == printed


def test_an_unchecked_page_shows_the_earlier_record(renderer):
    for is_unchecked, says in ((True, "an earlier run on an H100"), (False, "ran on an")):
        page = renderer.render(RUN, is_unchecked)
        assert page.find(class_="hb-provenance").summary.get_text().startswith(says)


# What became of the tests

SKIPPED_FILE = {"passed": {}, "skipped": {"needs <another> GPU": {"test_a": 1, "test_b": 2}}, "seconds": 0.0}
STATE = {"passed": {"test_less": 4, "test_more": 1}, "skipped": {}, "seconds": 12.34}
LATER_RUN = {"gpu": "NVIDIA H200", "date": "2026-11-03"}


def test_suite_shows_what_became_of_each_file_why_tests_were_skipped_and_each_run(renderer):
    renderer.write("tests/kernels/test_more.py", '"""More."""\n')
    second = {"tests/kernels/test_more.py": STATE, "tests/kernels/test_state.py": STATE}
    renderer.save_suite(({}, {"tests/kernels/test_late.py": SKIPPED_FILE}), (LATER_RUN, second))
    page = renderer.render(SUITE)
    assert texts(page, "th", "td") == [
        ["What is tested", "Passed", "Skipped", "Seconds"],
        ["Later. All skipped: needs <another> GPU. test_late.py", "0", "3", "0.0"],
        ["More. test_more.py", "5", "0", "12.3"],
        ["1 < 2 <always>. test_state.py", "5", "0", "12.3"],
        ["Together", "10", "3", "24.7"],
    ]
    assert [item.get_text() for item in page.find_all("li")] == [
        "test_late.py, test_a, test_b (2 times): needs <another> GPU"
    ]
    assert [line.get_text().partition("torch")[0] for line in page.find_all(class_="hb-provenance")] == [
        "The GPU suite ran on NVIDIA H200, 3 November 2026", "Of it test_late.py ran on NVIDIA H100, 1 November 2026"
    ]  # fmt: skip
    assert not page.find(class_="hb-notice")


def test_files_that_wait_for_their_run_are_counted_and_a_suite_that_skips_nothing_says_nothing_of_it(renderer):
    renderer.save_suite(({}, {"tests/kernels/test_state.py": STATE}))
    page = renderer.render(SUITE)
    notice = page.find(class_="hb-notice").extract().get_text()
    assert notice.startswith("2 test functions wait for a run on a GPU: test_late.py. To run it: ")
    assert len(page.find("tbody").find_all("tr")) == 1 and "why" not in page.get_text()


@pytest.mark.parametrize("text", ['"""   """', "x = 1"])
def test_a_test_file_that_does_not_say_what_it_is_for_stops_the_build(renderer, text):
    renderer.write("tests/kernels/test_state.py", text)
    renderer.save_suite(({}, {"tests/kernels/test_state.py": STATE}))
    assert "tests/kernels/test_state.py has no docstring" in renderer.refusal(SUITE)


def test_random_cases_are_shown_by_form_with_what_failed_their_seeds_and_where_they_ran(renderer):
    forms = {"a & b": {"cases": 32, "worst": 0.514}, "softmax": {"cases": 16, "worst": 1.5}}
    failure = {"form": "softmax", "seed": 8, "case": 35, "why": "<beyond> the budget"}
    renderer.save_cases(forms=forms, seeds=[7, 8], seconds=540.0, failed=1, failures=[failure])
    page = renderer.render(CASES)
    assert texts(page, "th", "td") == [
        ["Form", "Cases", "Largest share of the budget"],
        ["a & b", "32", "0.51"],
        ["softmax", "16", "1.50"],
        ["Together", "48", "1.50"],
    ]
    assert "1 of them failed. Drawn for 540 seconds, from the seeds 7, 8." in page.get_text()
    assert [item.get_text() for item in page.find_all("li")] == ["softmax, seed 8, case 35: <beyond> the budget"]
    assert "The suite of random cases ran on NVIDIA H100" in page.find(class_="hb-provenance").get_text()
    assert not page.find(class_="hb-notice")
    renderer.save_cases(forms=forms, seeds=[7, 8], seconds=540.0, failed=0, failures=[], digest="another")
    assert "An earlier run" in renderer.render(CASES).find(class_="hb-notice").get_text()


# The page of a snippet


@pytest.fixture
def in_ranks(renderer):
    """A renderer whose snippet runs in one process for each GPU, and was recorded on two."""
    renderer.write("snippets/chapter/first.py", '# %% tags=["show"]\nfrom kernels.bench.parallel.ranks import start\n')
    provenance = renderer.record.provenance | {"gpus": 2, "link": "NV18", "nccl": "2"}
    renderer.record = replace(renderer.record, provenance=provenance)
    return renderer


def commands(renderer):
    page = BeautifulSoup(renderer.fences.snippet_notes("first"), "html.parser")
    assert [a["href"] for a in page.select("a[download]")] == [f"../first.{kind}" for kind in ("py", "ipynb", "zip")]
    return [code.get_text() for code in page.find_all("code")], page.get_text()


def test_a_snippets_page_leads_from_nothing_to_its_output(renderer):
    assert commands(renderer)[0] == ["make run SNIPPET=first", "first.zip", "python first/first.py"]
    renderer.fences.repository = "https://x.org/?a&b"
    cloned = "git clone https://x.org/?a&b handbook && cd handbook && make run SNIPPET=first"
    assert commands(renderer)[0][0] == cloned


def test_of_several_gpus_is_said_how_many_what_links_them_and_how_to_start_them(in_ranks):
    several = "2 × NVIDIA H100, NV18, NCCL 2"  # noqa: RUF001
    assert f"ran on {several}, 1 November 2026" in in_ranks.render(RUN).find(class_="hb-provenance").get_text()
    run_command = "torchrun --nproc-per-node 2 first/first.py"
    said, text = commands(in_ranks)
    assert said[-1] == run_command and "starts one process for each GPU, or two on the CPU" in text
    for name in ("first.ipynb", "LICENSE"):
        (in_ranks.root / name).touch()
    archive.write(in_ranks.root / "first.zip", "first", in_ranks.reader)
    assert run_command in ZipFile(in_ranks.root / "first.zip").read("first/README.txt").decode()


# Numbers and words in tables


@pytest.mark.parametrize(
    "value, text",
    [
        (0.0, "0"),
        (0.25, "0.25"),
        (1234.5678, "1235"),
        (123456.7, "123457"),
        (1.5e-42, "1.500·10⁻⁴²"),
        (1e-3, "0.001"),
        (-0.5, "−0.5"),  # noqa: RUF001
    ],
)
def test_numbers_in_a_table_keep_four_digits(value, text):
    assert outputs.number_text(value) == text


def test_a_long_name_in_a_table_may_break_after_an_underscore():
    columns = [{"name": name, "unit": ""} for name in ("kernel", "off")]
    row = {"kernel": "a_kernel_of_which_the_name_is_longer_than_a_cell", "off": -1}
    html = outputs.table_html({"name": "t", "columns": columns, "rows": [row, {"kernel": "short_name", "off": 2}]})
    assert '<td class="hb-long">a_<wbr>kernel_<wbr>of_' in html and "<td>short_name</td>" in html
    assert '<td class="hb-number">−1</td>' in html  # noqa: RUF001
