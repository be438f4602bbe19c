"""Each number on a board is on its sheet, in its demo, which the library computes, or in a table that it reads.

No sheet types one that was measured.
"""

import re
from functools import cache
from unittest import mock

import pytest

from scripts.chapters import demo
from scripts.facts.unchecked_pages import is_unchecked
from scripts.records import ROOT, Reader, Record
from scripts.site.pages import sheets
from tests.chapters.expected import EXPECTED
from tests.chapters.perturbed_records import perturbed_records

SHEETS = sheets.sheet_pages(ROOT)
DEMOS = {chapter: snippet for snippet, chapter in demo.chapters().items()}
MARKS = re.compile(r"`#!value[^`]*`|\]\{fact=[^}]*\}|<!--.*?-->")  # what the build fills or compares
NUMBER = re.compile(r"(?<![\w.])-?(?:\d[\d,]*(?:\.\d+)?|\.\d+)")


def numbers(text: str) -> set[str]:
    return {number.replace(",", "") for number in NUMBER.findall(text.replace("\N{MINUS SIGN}", "-"))}


@cache
def board_and_known(name: str) -> tuple[set[str], set[str], list[float]]:
    """The numbers of a board with two digits or more; those of its sheet and its demo; those of its tables."""
    page = SHEETS[name].read_text(encoding="utf-8")
    reader = Reader(earlier=is_unchecked(page))
    table, rows = Record.table, []

    def noted_table(record: Record, name: str) -> list[dict]:
        rows_of_table = table(record, name)
        rows.extend(rows_of_table)
        return rows_of_table

    with reader.track_reads(), mock.patch.object(Record, "table", noted_table):
        written = board_numbers(name)
    recorded = [value for row in rows for value in row.values() if isinstance(value, int | float)]
    folder = name.replace("-", "_")
    assert folder in DEMOS, f"the sheet {name} wants its demo, scripts/chapters/{folder}/demo.py"
    printed = "\n".join(demo.lines(DEMOS[folder]))
    labels = EXPECTED.get(folder, {}).get("labels", "")
    known = numbers(" ".join((re.sub("<!--.*?-->", "", page), printed, labels)))
    return {number for number in written if not re.fullmatch(r"-?\d", number)}, known, recorded


def unknown_numbers(written: set[str], known: set[str], recorded: list[float]) -> set[str]:
    def was_recorded(number: str) -> bool:
        digits = len(number.partition(".")[2])
        return any(f"{value * unit:.{digits}f}" == number for value in recorded for unit in (1, 1e3, 1e-3, 100))

    return {number for number in written - known if not was_recorded(number)}


def board_numbers(name: str) -> set[str]:
    board = sheets.draw_board(name.replace("-", "_"))
    return numbers(" | ".join(text for step in range(1, board.steps + 1) for text in board.read(step)))


@pytest.mark.parametrize(
    "name", [name for name, page in SHEETS.items() if not is_unchecked(page.read_text(encoding="utf-8"))]
)
def test_a_number_that_another_run_would_change_is_typed_nowhere(name):
    measured = board_numbers(name)
    with perturbed_records():
        measured -= board_numbers(name)
    page = MARKS.sub("", SHEETS[name].read_text(encoding="utf-8"))
    labels = EXPECTED.get(name.replace("-", "_"), {}).get("labels", "")
    typed = measured & numbers(f"{page} | {labels}")
    assert not typed, f"{SHEETS[name]} or the labels in expected.toml type {typed}, which were measured: quote a value"


@pytest.mark.parametrize("name", SHEETS)
def test_each_number_of_a_board_is_known(name):
    nowhere = unknown_numbers(*board_and_known(name))
    place = f"tests/chapters/{name.replace('-', '_')}/expected.toml"
    assert not nowhere, f"{nowhere}: if these are labels, list them in {place}"


def test_a_number_with_another_last_digit_is_found():
    found_count = changed_count = 0
    for name in SHEETS:
        written, known, recorded = board_and_known(name)
        other = {number[:-1] + str((int(number[-1]) + 3) % 10) for number in written if len(number) > 2}
        found_count, changed_count = (
            found_count + len(unknown_numbers(other, known, recorded)),
            changed_count + len(other),
        )
    assert found_count >= 0.7 * changed_count > 100  # a record has many numbers, and two digits are soon among them
