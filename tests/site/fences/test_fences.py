"""What each fence puts on a page, and that it stops the build rather than guess."""

from dataclasses import replace
from zipfile import ZipFile

import nbformat
import pytest
from bs4 import BeautifulSoup

from scripts import records
from scripts.records import Missing, Stale, Waiting
from scripts.site.fences import outputs
from scripts.site.fences.page import FenceError
from scripts.site.pages import archive
from tests.site.fences.conftest import RAN, SUITE, record_of

CAPTION = '{caption="c"}'
RUN = "``` run\nfirst:show\n```"
BARS = f"``` figure {CAPTION}\nbars\n```"
SUITE_FENCE = "``` suite\ntests/kernels\n```"
CASES_FENCE = "``` suite\ntests/kernels/random_cases\n```"


def test_source_quotes_a_method_with_its_decorator_and_says_where_it_stands(house):
    page = house.fence("source", "kernels.state:State.merge")
    assert page.pre.get_text() == "@functools.cache\ndef merge(self):\n    return 1 < 2\n"
    assert page.find(class_="filename").get_text() == "kernels/state.py · lines 8–10"  # noqa: RUF001
    assert [line["data-linenos"].strip() for line in page.find_all(class_="linenos")] == ["8", "9", "10"]
    assert house.page.quoted == ["kernels.state:State.merge"]


def test_source_quotes_a_constant_and_a_whole_module(house):
    assert house.fence("source", "kernels.state:LIMIT").pre.get_text() == "LIMIT = 3\n"
    assert house.fence("source", "kernels.state").pre.get_text() == (house.root / "kernels/state.py").read_text()


def test_source_quotes_a_part_and_says_which_lines(house):
    house.fence("source", "kernels.state:State.merge")
    page = house.fence("source", 'kernels.state:State from="def merge" to="return 1"')
    assert page.pre.get_text() == "def merge(self):\n    return 1 < 2\n"
    assert page.find(class_="filename").get_text() == "kernels/state.py · lines 9–10"  # noqa: RUF001
    assert page.find(class_="hb-source")["data-quote"] == 'kernels.state:State from="def merge" to="return 1"'


def test_source_quotes_of_a_lab_its_start_and_a_solution_and_no_more(house):
    for path in ("tests/labs/add/right_1.py", "tests/labs/add/wrong_1.py", "scripts/labs/catalogue/add/start.py"):
        file = house.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text('"""Adds."""\n\n\ndef add(x, y):\n    """x + y"""\n    return x + y\n')
    about = 'number = 4\ntitle = "Add"\nchapter = "first-kernel"\nminutes = 9\nfunctions = ["add"]\n'
    (house.root / "scripts/labs/catalogue/add/about.toml").write_text(about)
    assert "return x + y" in house.fence("source", "tests.labs.add.right_1:add").pre.get_text()
    start = house.fence("source", "scripts.labs.catalogue.add.start")
    assert start.find(class_="filename").get_text() == "labs/04_add.py"
    assert not start.find(class_="filename").a  # the API has no lab
    house.page.check("", house.shelf)  # no record runs them
    with pytest.raises(FenceError, match=r"has no module tests\.labs\.add\.wrong_1"):
        house.fence("source", "tests.labs.add.wrong_1")


def test_source_leads_to_the_api_where_the_symbol_is_documented(house):
    assert not house.fence("source", "kernels.state:State").find(class_="filename").a
    path = house.root / "kernels/state.py"
    path.write_text('"""States."""\n\n\nclass State:\n    """One."""\n\n    def _own(self):\n        """Inner."""\n')
    link = house.fence("source", "kernels.state:State").find(class_="filename").a
    assert link["href"] == "../../api/kernels/#kernels.state.State"
    assert not house.fence("source", "kernels.state:State._own").find(class_="filename").a


def test_a_line_past_the_fence_can_be_highlighted(house):
    page = house.fence("source", "kernels.state:State.merge", '{hl_lines="3"}')
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
        (f"``` figure {CAPTION}\nnothing\n```", "there is no scripts/figures/*/nothing.py"),
        ("``` figure\nbars\n```", "a figure has a caption"),
        (f"``` figure {CAPTION}\nraising\n```", "raising: KeyError: 'nothing'"),
        (f"``` figure {CAPTION}\nno_table\n```", "first holds 0 tables named nothing"),
        (f"``` figure {CAPTION}\nmute\n```", "has no ALT"),
        ("``` record\nnothing\n```", "there is no snippet nothing"),
        (
            "``` suite\ntests/site\n```",
            "there is no suite tests/site; there are: tests/kernels, tests/kernels/random_cases",
        ),
        ('``` suite {size="3"}\ntests/kernels\n```', "has no option size"),
    ],
)
def test_what_is_not_there_stops_the_build_and_its_line_is_named(house, text, words):
    said = house.refused(f"# One\n\nkernels.state:Nothing, first:nothing, bars\n\n{text}\n")
    assert words in said and said.startswith("line 5: ")


def test_the_line_is_counted_from_the_top_of_the_file(house):
    house.page.first_line = 10
    assert house.refused("# One\n\n``` run\nfirst:nothing\n```\n").startswith("line 12: ")


def test_run_shows_the_cell_what_it_left_and_where_it_ran(house):
    page = house.render(RUN)
    code, printed = page.find_all("pre")
    assert code.get_text() == 'print("a < b")\n' and printed.get_text() == "a < b"
    assert [cell.get_text() for cell in page.find_all("th")] == ["n", "time ms", "note"]
    assert [cell.get_text() for cell in page.find_all("td")] == ["1", "0.25", "", "2", "0.5", "a < b"]
    ran = page.find(class_="hb-provenance")
    assert all(word in ran.get_text() for word in ("NVIDIA H100", "1 November 2026", "CUDA 13.0", "Python 3.12"))
    assert ran.a["href"] == "../../snippets/first/"


def test_a_figure_has_its_note_below_the_plot_and_above_where_it_ran(house):
    page = house.fence("figure", "bars", '{caption="c" note="One head & FP16."}')
    kinds = [child["class"][0] for child in page.figure.find_all(recursive=False) if child.get("class")]
    assert kinds == ["hb-plot", "hb-note", "hb-provenance"]
    assert page.find(class_="hb-note").get_text() == "One head & FP16."


def test_where_a_run_was_made_is_one_line_that_opens(house):
    told = house.fence("run", "first:show").find(class_="hb-provenance")
    assert not told.details.has_attr("open") and not told.summary.find("a")  # a control within a control
    assert told.find("a", recursive=False).get_text() == "first"
    assert "NVIDIA H100" in told.summary.get_text() and "torch" not in told.summary.get_text()
    assert "torch" in told.p.get_text() and "driver" in told.p.get_text()


def test_figure_has_caption_alternative_and_provenance(house):
    page = house.fence("figure", "bars", '{caption="Bars & more"}')
    assert page.figcaption.get_text() == "Bars & more"
    assert page.find(class_="hb-alternative").get_text() == "Two bars."
    assert "NVIDIA H100" in page.find(class_="hb-provenance").get_text()
    assert '"y":[0.25,0.5]' in page.script.string and '"template":{}' in page.script.string


def test_a_figure_cannot_end_its_own_script():
    html = outputs.plot_html('{"data":["<!--<script>","</script>"]}', "")
    assert html.count("</script>") == 1 and "<!--" not in html


def test_an_output_that_no_page_can_show_stops_the_build(house):
    drawn = nbformat.v4.new_output("display_data", data={"text/plain": "Figure()", "image/png": ""})
    house.shelf.record = record_of(drawn)
    assert "first:show leaves image/png, text/plain" in house.refused(RUN)


def test_a_figure_names_what_it_was_drawn_from_however_it_asked(house):
    script = house.root / "scripts/figures/chapter/bars.py"
    asked = 'records.table("first", "times")'
    assert asked in script.read_text()
    script.write_text(script.read_text().replace(asked, "records.table(table='times', snippet='first')"))
    assert "NVIDIA H100" in house.render(BARS).find(class_="hb-provenance").get_text()


def test_a_figure_without_its_record_shows_its_alternative(house):
    house.shelf.record, house.shelf.fault = None, Missing("not yet")
    page = house.render(BARS)
    assert page.find(class_="hb-alternative").get_text() == "Two bars." and not page.find(class_="hb-plot")


def test_record_shows_every_table_folded_and_its_command(house):
    page = house.fence("record", "first")
    assert page.find(class_="hb-folded").summary.get_text() == "times: 2 rows n, time, note"
    assert page.find("code").get_text() == ".venv/bin/python -m scripts.record first"


def test_a_record_that_is_awaited_stands_where_the_field_above_the_tables_looks(house):
    house.shelf.record, house.shelf.fault = None, Missing("not yet")
    place = house.fence("record", "first").find(class_="hb-record")
    assert "first awaits its run on a GPU" in place.find(class_="hb-notice").get_text() and not place.find("table")


def test_suite_shows_what_became_of_each_file_and_why_tests_were_skipped_and_where_it_ran(house):
    page = house.render(SUITE_FENCE)
    rows = [[cell.get_text(" ") for cell in row.find_all(["th", "td"])] for row in page.find_all("tr")]
    assert rows == [
        ["What is tested", "Passed", "Skipped", "Seconds"],
        ["Later. All skipped: needs <another> GPU. test_late.py", "0", "3", "0.0"],
        ["1 < 2 <always>. test_state.py", "5", "0", "12.3"],
        ["Together", "5", "3", "12.3"],
    ]
    assert [item.get_text() for item in page.find_all("li")] == [
        "test_late.py, test_a, test_b (2 times): needs <another> GPU"
    ]
    assert "The GPU suite ran on NVIDIA H100, 1 November 2026" in page.find(class_="hb-provenance").get_text()


def test_files_that_await_their_run_are_counted_in_a_sentence_and_each_run_says_its_day(house):
    (late, skipped), (state, passed) = SUITE.items()
    ran = RAN | {"gpu": "NVIDIA H200", "date": "2026-11-03"}
    house.shelf.suite = records.Outcome(ran, {state: passed}, [{"provenance": RAN, "files": {late: skipped}}])
    (house.root / "tests/kernels/test_new.py").write_text('"""New."""\n\n\ndef test_a(): ...\n\n\ndef test_b(): ...\n')
    house.shelf.fault = Waiting("", ["tests/kernels/test_new.py"])
    page = house.render(SUITE_FENCE)
    notice = page.find(class_="hb-notice").get_text()
    assert notice.startswith("2 test functions of 1 file await their run on a GPU: test_new.py. To run it: ")
    assert [row.td.get_text(" ") for row in page.find("tbody").find_all("tr")] == [
        "Later. All skipped: needs <another> GPU. test_late.py", "1 < 2 <always>. test_state.py"
    ]  # fmt: skip
    said = [line.get_text() for line in page.find_all(class_="hb-provenance")]
    assert said[0].startswith("The GPU suite ran on NVIDIA H200, 3 November 2026")
    assert said[1].startswith("Of it test_late.py ran on NVIDIA H100, 1 November 2026")


def test_random_cases_are_shown_by_form_with_what_failed_their_seeds_and_where_they_ran(house):
    page = house.render(CASES_FENCE)
    rows = [[cell.get_text(" ") for cell in row.find_all(["th", "td"])] for row in page.find_all("tr")]
    assert rows == [
        ["Form", "Cases", "Largest share of the budget"],
        ["a & b", "32", "0.51"],
        ["softmax", "16", "1.50"],
        ["Together", "48", "1.50"],
    ]
    assert "1 of them failed. Drawn for 540 seconds, from the seeds 7, 8." in page.get_text()
    assert [item.get_text() for item in page.find_all("li")] == ["softmax, seed 8, case 35: <beyond> the budget"]
    ran = page.find(class_="hb-provenance").get_text()
    assert "The suite of random cases ran on NVIDIA H100, 1 November 2026" in ran


def test_a_suite_that_skips_nothing_says_nothing_of_it(house):
    house.shelf.suite = records.Outcome(RAN, {path: file for path, file in SUITE.items() if file["passed"]})
    assert "why" not in house.render(SUITE_FENCE).get_text()


@pytest.mark.parametrize("text", ["", '"""   """', "x = 1"])
def test_a_test_file_that_does_not_say_what_it_is_for_stops_the_build(house, text):
    (house.root / "tests/kernels/test_state.py").write_text(text)
    assert "tests/kernels/test_state.py has no docstring" in house.refused(SUITE_FENCE)


@pytest.mark.parametrize(
    "text, how",
    [
        (RUN, "make run SNIPPET=first"),
        (BARS, "make run SNIPPET=first"),
        ("``` record\nfirst\n```", "make run SNIPPET=first"),
        (SUITE_FENCE, "make record"),
        (CASES_FENCE, "python -m tests.kernels.random_cases"),
    ],
)
def test_what_is_missing_is_said(house, text, how):
    house.shelf.record = house.shelf.suite = house.shelf.cases = None
    house.shelf.fault = Missing("not yet")
    notice = house.render(text).find(class_="hb-notice").get_text()
    assert "awaits its run on a GPU" in notice and how in notice


@pytest.mark.parametrize("text", [RUN, BARS, "``` record\nfirst\n```", SUITE_FENCE, CASES_FENCE])
def test_what_is_stale_stops_the_build_and_is_marked_in_a_preview(house, text):
    assert not house.render(text).find(class_="hb-stale")
    whole = house.render(text).get_text()
    house.shelf.fault = Stale("kernels.state changed")
    assert "kernels.state changed" in house.refused(text)
    house.preview()
    page = house.render(text)
    mark = page.find(class_="hb-stale").extract()
    assert mark.get_text() == "recorded from older source" and mark["title"] == "kernels.state changed"
    assert page.get_text() == whole and page.find(class_="hb-provenance")


@pytest.mark.parametrize("text", [RUN, BARS, SUITE_FENCE])
def test_a_stale_record_that_cannot_be_read_is_said_in_a_preview(house, text):
    house.shelf.record, house.shelf.suite, house.shelf.fault = None, None, Stale("the record cannot be read")
    house.preview()
    assert "the record cannot be read" in house.render(text).find(class_="hb-notice").get_text()


def test_a_cell_that_is_new_in_a_preview_shows_no_output(house):
    house.preview()
    house.shelf.fault = Stale("the snippet itself changed")
    script = house.root / "snippets/chapter/first.py"
    script.write_text(script.read_text().replace('"show"', '"renamed"'))
    page = house.fence("run", "first:renamed")
    assert not page.find(attrs={"data-record": True}) and page.find(class_="hb-stale")


@pytest.mark.parametrize(
    "repository, command",
    [
        ("", "make run SNIPPET=first"),
        ("https://x.org/?a&b", "git clone https://x.org/?a&b handbook && cd handbook && make run SNIPPET=first"),
    ],
)
def test_a_snippets_page_leads_from_nothing_to_its_output(house, repository, command):
    house.fences.repository = repository
    page = BeautifulSoup(house.fences.about("first"), "html.parser")
    assert [link["href"] for link in page.select("a[download]")] == [
        f"../first.{kind}" for kind in ("py", "ipynb", "zip")
    ]
    commands = [code.get_text() for code in page.find_all("code")]
    assert commands == [command, "first.zip", "python first/first.py"]


@pytest.fixture
def in_ranks(house):
    """A house whose snippet runs in one process a GPU, and was recorded on two."""
    script = house.root / "snippets/chapter/first.py"
    script.write_text(f'{script.read_text()}\n# %% tags=["late"]\nfrom kernels.bench.parallel.ranks import start\n')
    ran = RAN | {"gpus": 2, "link": "NV18", "nccl": "2.28.9"}
    house.shelf.record = replace(house.shelf.record, provenance=ran)
    return house


def test_of_several_gpus_is_said_how_many_and_what_links_them(in_ranks):
    (ran,) = in_ranks.render(RUN).find_all(class_="hb-provenance")
    assert "ran on 2 × NVIDIA H100, NV18, NCCL 2.28.9, 1 November 2026" in ran.get_text()  # noqa: RUF001
    value = in_ranks.render("`#!value first.times.time n=1 .2f`").find(class_="hb-value")
    assert value["title"] == "first, 2 × NVIDIA H100, NV18, NCCL 2.28.9, 2026-11-01"  # noqa: RUF001


def test_a_page_and_an_archive_say_how_to_start_several_processes(in_ranks):
    page = BeautifulSoup(in_ranks.fences.about("first"), "html.parser")
    by_hand = "torchrun --nproc-per-node 2 first/first.py"
    assert [code.get_text() for code in page.find_all("code")] == ["make run SNIPPET=first", "first.zip", by_hand]
    assert "starts one process a GPU, or two on the CPU" in page.get_text()
    for name in ("first.ipynb", "LICENSE"):
        (in_ranks.root / name).touch()
    archive.write(in_ranks.root / "first.zip", "first", in_ranks.shelf)
    assert by_hand in ZipFile(in_ranks.root / "first.zip").read("first/README.txt").decode()


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
    assert outputs.number(value) == text


def test_a_long_name_in_a_table_may_break_after_an_underscore():
    columns = [{"name": name, "unit": ""} for name in ("kernel", "off")]
    row = {"kernel": "a_kernel_of_which_the_name_is_longer_than_a_cell", "off": -1}
    html = outputs.table_html({"name": "t", "columns": columns, "rows": [row, {"kernel": "short_name", "off": 2}]})
    assert '<td class="hb-long">a_<wbr>kernel_<wbr>of_' in html and "<td>short_name</td>" in html
    assert '<td class="hb-number">−1</td>' in html  # noqa: RUF001
