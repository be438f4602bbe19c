"""The steps of the Hopper kernel's ladder: their rows in the record, and their names in figures and on the board."""

from __future__ import annotations

from scripts import records

NAMES = {  # field of the plan, or form -> its name
    "flash_attention": "portable",
    "specialised": "specialised",
    "overlap_softmax": "overlap softmax",
    "persistent": "persistent",
    "pair_blocks": "pairs",
    "longest_first_tail": "single blocks",
    "queries_in_registers": "Q in registers",
    "ping_pong": "ping-pong",
    "conditional_rescale": "cond. rescaling",
    "half_last_block": "half last block",
    "overlap_epilogue": "overlap epilogue",
    "sdpa_cudnn": "cuDNN",
}
EARLIER_NAMES = {  # a field's name in older records -> its name today
    "overlap": "overlap_softmax",
    "paired": "pair_blocks",
    "singles": "longest_first_tail",
    "held": "queries_in_registers",
    "turns": "ping_pong",
    "lazy": "conditional_rescale",
    "halved": "half_last_block",
    "late": "overlap_epilogue",
}


def rows_of(head_dim: int) -> list[dict]:
    """Returns the rows of ``hopper_steps`` for heads of so many numbers, with today's names in ``step`` and ``over``.

    A change that isn't a rung is ``field=value``.
    """
    rows = records.table("hopper_steps", f"steps_{head_dim}")
    return [row | {column: _current_name(row[column]) for column in ("step", "over")} for row in rows]


def _current_name(step: str) -> str:
    field, equals, value = step.partition("=")
    return EARLIER_NAMES.get(field, field) + equals + value
