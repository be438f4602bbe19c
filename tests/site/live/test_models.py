"""Every model says what its oracle says, and a mistake in its source is noticed."""

import pytest

from tests.site.live import (
    oracle_attention,
    oracle_cost,
    oracle_formats,
    oracle_machine,
    oracle_one_head,
    oracle_where_time_goes,
)
from tests.site.live.test_pieces import PIECES, modules

CHECKS = [
    *oracle_attention.CHECKS,
    *oracle_cost.CHECKS,
    *oracle_formats.CHECKS,
    *oracle_one_head.CHECKS,
    *oracle_machine.CHECKS,
    *oracle_where_time_goes.CHECKS,
]
each_check = pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.call)


@each_check
def test_a_model_says_what_is_true(check, pieces):
    faults = check.faults(pieces)
    assert not faults, f"{len(faults)} faults, the first of them {faults[0]}"


@each_check
def test_a_mistake_is_noticed(check, pieces, tmp_path):
    for mistake in (check.mistake, *check.other_mistakes):
        wrong_pieces = check.with_mistake(pieces, tmp_path, mistake)
        try:
            assert check.faults(wrong_pieces, sample=True), mistake
        except KeyError:  # an answer that lacks something
            continue


def test_every_model_of_a_piece_has_its_oracle():
    needed = {module for name in PIECES for module in modules(f"{name}.js") if module.endswith(".model.js")}
    assert needed == {check.module for check in CHECKS}
