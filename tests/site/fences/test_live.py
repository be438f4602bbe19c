"""A piece starts in the state that its fence asks for, rows of a record among it, or the build says why it cannot."""

import json
from dataclasses import replace

import pytest

from scripts.records import ROOT, Stale
from tests.site.fences.conftest import NEVER_RAN, record_of, table_output

KEY, VALUE = [20.5, -0.25, 0.10009765625], [1.25, -3.0, 0.5]
ROWS = {
    "name": "rows",
    "columns": [{"name": name, "unit": ""} for name in ("element", "key", "value")],
    "rows": [{"element": i, "key": KEY[i], "value": VALUE[i]} for i in range(3)],
}
CAPTION = '{caption="A block."}'
FENCE_BODY = 'quantized_block key="#!value first.rows.key .9g" value="#!value first.rows.value .9g" louder=2'


@pytest.fixture
def renderer(renderer):
    (renderer.root / "docs").mkdir()
    (renderer.root / "docs" / "live").symlink_to(ROOT / "docs" / "live")
    renderer.record = record_of(table_output(ROWS))
    return renderer


def started(renderer, body=FENCE_BODY):
    """The figure, and the state of its piece."""
    figure = renderer.render_fence("live", body, CAPTION).figure
    return figure, json.loads(figure.find("live-piece")["state"])


def test_a_state_takes_columns_of_a_record_and_the_page_says_where_it_ran(renderer):
    figure, state = started(renderer)
    assert state == {"key": "20.5 -0.25 0.100097656", "value": "1.25 -3 0.5", "louder": "2"}
    assert figure.select_one(".hb-live__says") and figure.find("figcaption").text == "A block."
    assert len(figure.select(".hb-provenance")) == 1 and renderer.page.shown_snippets == {"first"}


def test_selectors_choose_rows_and_a_format_prints_each(renderer):
    assert started(renderer, 'quantized_block key="#!value first.rows.key element=2 .2f"')[1] == {"key": "0.10"}


def test_what_has_never_run_is_left_out_and_the_page_says_so(renderer):
    renderer.record = NEVER_RAN
    figure, state = started(renderer)
    assert state == {"louder": "2"} and not figure.select("option")
    assert [notice.text.partition(".")[0] for notice in figure.select(".hb-notice")] == ["first has never run on a GPU"]


def test_an_earlier_run_is_marked_and_a_stale_one_stops_the_build(renderer):
    renderer.record = replace(renderer.record, behind="a new kernel")
    figure, state = started(renderer)
    assert state["value"] == "1.25 -3 0.5" and figure.select_one(".hb-stale")
    renderer.record = Stale("kernels.state changed")
    assert "kernels.state changed" in renderer.refusal(f"``` live {CAPTION}\n{FENCE_BODY}\n```\n")


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("first.columns.key .9g", "has no table columns"),
        ("first.rows.keys .9g", "has no column keys; it has: element, key, value"),
        ("first.rows.key element=9 .9g", "0 rows answer"),
        ("least first.rows.key .9g", "least asks for one number"),
        ("first.rows.key", "is wanted"),
        ("hardware.H100.hbm .1f", "a column of a record is wanted"),
    ],
)
def test_a_row_that_is_not_there_stops_the_build_and_its_line_is_named(renderer, query, words):
    message = renderer.refusal(f'# One\n\n``` live {CAPTION}\nquantized_block key="#!value {query}"\n```\n')
    assert words in message and message.startswith(f"line 3: quantized_block: #!value {query}: ")
