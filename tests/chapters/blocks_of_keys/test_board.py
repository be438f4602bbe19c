"""Sheet 6: the board's tile is what the library computes, its counts those of the kernel, its times the record's."""

from math import sqrt

import torch

from kernels.bench.cost import requested_bytes
from kernels.bench.hardware import H100
from kernels.first.key_blocks import BLOCK_K
from kernels.reference import attention
from kernels.softmax import safe_softmax
from scripts import records
from scripts.chapters.blocks_of_keys import board as drawn
from tests.claims.rows import row

BOARD = drawn.board()
QUERY, KEYS, VALUES = (torch.tensor(part, dtype=torch.float64) for part in (drawn.QUERY, drawn.KEYS, drawn.VALUES))
SCORES = KEYS @ QUERY / sqrt(len(QUERY))


def said(step: int) -> str:
    return " | ".join(BOARD.read(step))


def test_steps_and_places_are_those_of_the_demo():
    assert drawn.BLOCK == BLOCK_K
    for step, block in ((1, 1), (2, BLOCK_K)):
        (found,) = [
            each
            for each in records.table("key_blocks", "counted")
            if (each["n"], each["keys_a_step"]) == (drawn.N, block)
        ]
        places = f"{found['places']:,}" if found["places"] > 9999 else f"{found['places']}"
        assert f"{found['steps']} steps" in said(step) and f"= {places} places" in said(step)


def test_the_scores_are_the_library_s():
    assert [f"{score:.2f}" if score else "0" for score in SCORES.tolist()] == ["0.71", "0", "0.71"]
    assert drawn.scores() == SCORES.tolist()
    for score in SCORES.tolist():
        assert (f"{score:.2f}" if score else "0") in BOARD.read(3)
    assert torch.tensor(drawn.products()).sum(1).tolist() == (KEYS @ QUERY).tolist()


def test_a_key_that_does_not_exist_takes_its_share():
    row_with_zero = torch.cat([SCORES, torch.zeros(1)])
    assert f"1 ÷ {row_with_zero.exp().sum():.2f} = {100 * safe_softmax(row_with_zero)[-1]:.0f} % to nobody" in said(4)
    assert safe_softmax(torch.cat([SCORES, torch.tensor([-torch.inf])]))[-1] == 0


def test_the_blends_add_up_to_the_library_s_output():
    shares = safe_softmax(SCORES)
    assert torch.allclose(torch.tensor(drawn.shares(), dtype=torch.float64), shares)
    parts = [drawn.listed((shares[i : i + 2].round(decimals=1) @ VALUES[i : i + 2]).tolist()) for i in (0, 2)]
    output = attention(QUERY[None, None, None], KEYS[None, None], VALUES[None, None])[0, 0, 0]
    assert f"{' + '.join(parts)} = {drawn.listed(output.round().tolist())}" in said(5)
    assert torch.allclose(output, output.round(), atol=0.05)


def test_the_ladder_has_the_times_of_its_run():
    wanted = {"direction": "forward", "head_dim": drawn.HEAD_DIM, "n": drawn.N, "causal": False}
    times = [row("prefill_speed", f"forward_{drawn.HEAD_DIM}", form=form, **wanted)["median"] for form in drawn.RUNGS]
    assert times == sorted(times, reverse=True)
    assert {f"{time:.1f} ms" if time > 2 else f"{time:.2f} ms" for time in times} <= set(BOARD.read(6))


def test_the_unit_is_as_busy_as_was_counted():
    busy = row("what_is_busy", "busy", form="key_blocks", n=drawn.N, head_dim=drawn.HEAD_DIM)["unit"] / 100
    assert f"busy in {round(20 * busy)} of 20 clocks" in said(6) and abs(busy - 19 / 20) < 0.01


def test_only_queries_make_more_flop_of_a_byte():
    flop = 4 * drawn.LONG**2 * drawn.HEAD_DIM
    for queries in (1, drawn.SHARING):
        asked = requested_bytes(drawn.LONG, drawn.HEAD_DIM, drawn.BYTES, queries)
        rest = requested_bytes(drawn.LONG, drawn.HEAD_DIM, drawn.BYTES, drawn.LONG) // 2  # Q and the output
        assert f"÷ {drawn.BYTES} = {flop / (asked - rest):g}" in said(7)


def test_the_strip_does_not_fit_into_the_registers():
    registers = H100["registers per SM"].value
    assert f"= {drawn.SHARING * drawn.LONG * 4 / 2**20:g} MiB" in said(8)
    assert f"{registers / 2**10:g} KiB, {registers // (drawn.LONG * 4):g} rows" in said(8)
