"""Every model says what its oracle says, and a mistake in its source is noticed."""

import pytest

from tests.site.live import rows_attention, rows_cost, rows_formats, rows_machine, rows_one_head
from tests.site.live.test_pieces import NAMES, modules

ROWS = [*rows_attention.ROWS, *rows_cost.ROWS, *rows_formats.ROWS, *rows_one_head.ROWS, *rows_machine.ROWS]
each_row = pytest.mark.parametrize("row", ROWS, ids=lambda row: row.asks)


@each_row
def test_a_model_says_what_is_true(row, pieces):
    faults = row.faults(pieces)
    assert not faults, f"{len(faults)} faults, the first of them {faults[0]}"


@each_row
def test_a_mistake_is_noticed(row, pieces, tmp_path):
    for mistake in (row.wrong, *row.also):
        with_mistake = row.with_mistake(pieces, tmp_path, mistake)
        try:
            assert row.faults(with_mistake, few=True), mistake
        except KeyError:  # an answer that lacks something
            continue


def test_every_model_of_a_piece_has_its_rows():
    needed = {module for name in NAMES for module in modules(f"{name}.js") if module.endswith(".model.js")}
    assert needed == {row.module for row in ROWS}
