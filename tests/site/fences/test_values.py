"""A number in running text is the one that is asked for, or the build stops and says what there is."""

from dataclasses import replace

import pytest

from kernels.bench.cost import eager_traffic, square_bytes
from kernels.bench.hardware import H100
from scripts.records import Stale
from tests.site.fences.conftest import NEVER_RAN, record_of, table_output

ROWS = [
    {"form": "flash", "n": 1, "causal": False, "heads": "8/2", "time": 2.0, "count": 2, "peak": None},
    {"form": "flash", "n": 2, "causal": False, "heads": "8/2", "time": 6.0, "count": 4, "peak": 1.5},
    {"form": "eager", "n": 1, "causal": False, "heads": "8/2", "time": 3.0, "count": 5, "peak": None},
    {"form": "eager", "n": 2, "causal": False, "heads": "8/2", "time": 12.0, "count": 7, "peak": -0.5},
    {"form": "flash", "n": 4, "causal": False, "heads": "8/8", "time": 5.0, "count": 4, "peak": None},
    {"form": "a b", "n": 3, "causal": True, "heads": "8/2", "time": 0.0012, "count": 30_000, "peak": None},
]
FORMS = {"name": "forms", "columns": [{"name": name, "unit": ""} for name in ROWS[0]], "rows": ROWS}


@pytest.fixture
def renderer(renderer):
    renderer.record = record_of(table_output(FORMS), table_output({**FORMS, "name": "others", "rows": ROWS[:1]}))
    return renderer


def value_text(renderer, query):
    return renderer.render(f"`#!value {query}`").p.get_text()


@pytest.mark.parametrize(
    "query, text",
    [
        ("first.forms.time form=flash n=2 .2f", "6.00"),
        ("first.forms.time causal=True .0e", "1·10⁻³"),
        ('first.forms.time form="a b" m .1f', "1.2"),
        ("first.forms.count n=3 ,d", "30,000"),
        ("first.forms.count n=3 k g", "30"),
        ("first.forms.peak form=eager n=2 .1f", "−0.5"),  # noqa: RUF001
        ("first.forms.peak form=eager n=2 % .0f", "−50"),  # noqa: RUF001
        ("first.forms.time heads=8/8 .1f", "5.0"),
        ("least first.forms.time form=flash .0f", "2"),
        ("most first.forms.time .0f", "12"),
        ("most first.forms.peak .1f", "1.5"),
        ("least first.forms.peak form=flash .1f", "1.5"),
        ("first.forms.time form=eager/flash n=2 .1f", "2.0"),
        ("first.forms.count form=eager/flash n=1 .1f", "2.5"),
        ("least first.forms.time form=eager/flash .1f", "1.5"),
        ("least first.forms.time n=1/2 form=flash .2f", "0.33"),
    ],
)
def test_a_number_of_a_record(renderer, query, text):
    assert value_text(renderer, query) == text


@pytest.mark.parametrize("scale, factor", [("M", 1e-6), ("Mi", 2.0**-20), ("u", 1e6), ("%", 100)])
def test_a_word_before_the_format_scales_the_number(renderer, scale, factor):
    assert value_text(renderer, f"hardware.H100.l2 {scale} .9f") == f"{H100['l2'].value * factor:.9f}"


@pytest.mark.parametrize(
    "query, number",
    [
        ('hardware.H100."hbm bandwidth" T .2f', H100["hbm bandwidth"].value / 1e12),
        ("hardware.H100.sms .2f", H100["sms"].value),
        ("cost.square_bytes(8192, 2) Mi .2f", square_bytes(8192, 2) / 2**20),
        ("cost.square_bytes(8192, element_bytes=2) Gi .2f", square_bytes(8192, 2) / 2**30),
        ("cost.eager_traffic(8192, 128, 2)[2].read M .2f", eager_traffic(8192, 128, 2)[2].read / 1e6),
    ],
)
def test_a_number_of_the_library(renderer, query, number):
    assert value_text(renderer, query) == f"{number:.2f}"


def test_a_number_says_on_hover_what_it_rests_on(renderer):
    rests = "first, measured on NVIDIA H100, 1 November 2026"
    assert renderer.render("`#!value first.others.n d`").span["title"] == rests
    bandwidth = H100["hbm bandwidth"]
    span = renderer.render('`#!value hardware.H100."hbm bandwidth" T .2f`').span
    assert span["title"] == f"{bandwidth.source} ({bandwidth.trust})"


@pytest.mark.parametrize(
    "query, words",
    [
        ("first.time n=1 .1f", "first.time is no address: snippet.table.column is wanted"),
        ("first.forms.time", "is wanted"),
        ("first.forms.time form .1f", "form selects no row"),
        ("first.forms.time n=1 n=2 .1f", "n=2 selects no row"),
        ("first.nothing.time n=1 .1f", "first has no table nothing; it has: forms, others"),
        ("first.forms.nothing n=1 .1f", "first.forms has no column nothing; it has: form, n, causal"),
        ("first.forms.time nothing=1 .1f", "first.forms has no column nothing"),
        ("first.forms.time n=1 .1f", "2 rows answer, and one is wanted; they differ in form, time, count"),
        ("first.forms.time form=eager n=5 .1f", "0 rows answer, and one is wanted; n is one of 1, 2, 4, 3"),
        ("first.forms.peak form=flash n=1 .1f", "None stands there, which is not a number"),
        ("first.forms.form n=3 .1f", "'a b' stands there, which is not a number"),
        ("first.forms.causal n=3 .1f", "True stands there, which is not a number"),
        ("first.forms.time n=3 d", "0.0012 cannot be printed as d"),
        ("first.forms.time n=3 .1q", ".1q is no format"),
        ("first.forms.time n=3 9<9.2f", "9<9.2f is no format"),
        ("first.forms.time n=3 .12f", ".12f is no format"),
        ("first.forms.time n=3 .\N{ARABIC-INDIC DIGIT ONE}f", "is no format"),
        ('first.forms.time n=3 .1f"', "is wanted"),
        ("first.forms.time n=3 .1f(", "is wanted"),
        ("first.forms.time n=3 .1%", ".1% is no format"),
        ("first.forms.time n=3 X .1f", "X selects no row"),
        ("least first.forms.peak n=1 .1f", "2 rows answer, and none has a number"),
        ("least first.forms.time form=flesh .1f", "0 rows answer, and none has a number"),
        ("least first.forms.time form=flash/none .1f", "no two rows that differ in form agree in"),
        ("least first.forms.time causal=False/True .1f", "no two rows that differ in causal agree in form, n, heads"),
        ("least first.forms.time form=flash/eager heads=8/2/8/8 .1f", "a ratio is of two rows"),
        ("first.forms.time form=flash/eager/flash n=1 .1f", "a ratio is of two rows"),
        ("first.forms.time form=flash/eager n=1/2 .1f", "a ratio is of two rows"),
        ("first.forms.form form=flash/eager n=1 .1f", "cannot be divided"),
        ("nothing.forms.time n=1 .1f", "there is no snippet nothing"),
        ("hardware.H1.hbm .1f", "the registry of hardware has no H1; it has: H100"),
        ("hardware.H100.hbmm .1f", "H100 has no 'hbmm' in the registry; it has: sms"),
        ("least hardware.H100.hbm .1f", "least, most and selectors ask a table"),
        ("cost.nothing(1) d", "there is no cost function nothing"),
        ("cost.square_bytes(1) d", "missing 1 required positional argument"),
        ("cost.square_bytes(n, 2) d", "malformed"),
        ("cost.eager_traffic(8, 8, 2)[9].read d", "out of range"),
        ("cost.mib.real d", "is no call of a cost function"),
    ],
)
def test_a_question_without_one_answer_stops_the_build_and_its_line_is_named(renderer, query, words):
    message = renderer.refusal(f"# One\n\nIt took\n`#!value {query}` ms.\n")
    assert words in message and message.startswith(f"line 4: #!value {query}: ")


def test_a_number_is_of_a_current_record_or_marked_as_of_an_earlier_run_or_says_that_there_is_none(renderer):
    query = "first.forms.time form=flash n=2 .1f"
    renderer.record = replace(renderer.record, behind="a new kernel")
    value = renderer.render(f"`#!value {query}`").find(class_="hb-value")
    assert value.find(class_="hb-stale").get_text() == "an earlier run" and value.get_text() == "6.0 an earlier run"
    renderer.record = NEVER_RAN
    assert value_text(renderer, query) == "[has never run]"
    renderer.record = Stale("kernels.state changed")
    assert "kernels.state changed" in renderer.refusal(f"`#!value {query}`")
