"""Sheet 7: the board says what the library computes: the states, the merges and the ends of the types."""

from itertools import accumulate

import torch

from kernels.bench.hardware import H100
from kernels.softmax import OnlineSoftmax, safe_softmax
from scripts.chapters.online_softmax import board as drawn

SCORES, VALUES = torch.tensor(drawn.SCORES, dtype=torch.float64), torch.tensor(drawn.VALUES, dtype=torch.float64)
BLOCKS = SCORES.split(drawn.BLOCK)
BOARD = drawn.board()


def output(scores, values) -> str:
    return drawn.pair((safe_softmax(scores) @ values).tolist())


def states(blocks) -> list[OnlineSoftmax]:
    return list(accumulate(blocks, OnlineSoftmax.update, initial=OnlineSoftmax.empty()))[1:]


def test_each_line_of_the_table_is_a_state_of_the_library():
    written = BOARD.read(6)
    for count, state in enumerate(states(BLOCKS), 1):
        seen = count * drawn.BLOCK
        total = state.running_sum.item()
        outcome = safe_softmax(SCORES[:seen]) @ VALUES[:seen]
        line = [f"{state.running_max:g}", f"{total:.3f}", drawn.pair((outcome * total).tolist())]
        assert set(line) <= set(written)
        assert output(SCORES[:seen], VALUES[:seen]) in written
    assert f"{torch.tensor(-1.0).exp():.3f}" in written  # the factor of the block that moves the maximum


def test_the_two_readers_merge_to_the_library_s_state():
    first, rest = states(BLOCKS[:1])[0], states(BLOCKS[1:])[-1]
    for state in (first, rest, first.merge(rest)):
        assert f"({state.running_max:g}, {state.running_sum:.3f})" in BOARD.read(8)


def test_without_rescaling_it_adds_up_and_is_wrong():
    marks = torch.cat([block - block.max() for block in BLOCKS]).exp()
    blend = marks @ VALUES
    said = " ".join(BOARD.read(7))
    assert f"{drawn.pair(blend.tolist())} ÷ {marks.sum():.3f}" in said
    assert drawn.pair((blend / marks.sum()).tolist()) in said and output(SCORES, VALUES) == "[5, 5]"


def test_the_types_end_where_the_board_says():
    eleven, ten, twelve = (torch.tensor(float(score), dtype=torch.float64).exp() for score in (11, 10, 12))
    half, single = torch.finfo(torch.float16).max, torch.finfo(torch.float32).max
    assert eleven < half < twelve and eleven + ten > half > ten
    said = " ".join(BOARD.read(1))
    assert f"FP16 ends: {half:.0f}" in said and f"FP32 ends at {single / 1e38:.1f}" in said
    assert f"{eleven:,.0f} + {ten:,.0f}" in said and f"{twelve:,.0f}" in said
    assert torch.exp(torch.tensor(89.0)).isinf() and torch.tensor(89.0, dtype=torch.float64).exp() > single
    shares = torch.tensor([11.0, 10.0], dtype=torch.float16).exp()
    assert (shares / (shares[0] + shares[1])).tolist() == [0, 0]


def test_only_eight_of_the_64_rows_fit_into_the_registers():
    registers = H100["registers per SM"].value
    said = " ".join(BOARD.read(2))
    assert (
        f"{64 * 8192 * 4 // 2**20} MiB" in said
        and f"{registers / 2**10:.0f} KiB, {registers // (8192 * 4):.0f} rows" in said
    )


def test_what_is_kept_of_the_strip_fits_into_the_registers():
    kept = drawn.ROWS * (drawn.DIM + 2) * 4  # a maximum, a sum and an accumulator a row
    assert kept < H100["registers per SM"].value
    assert f"{kept / 2**10:g} KiB of" in " ".join(BOARD.read(10))


def test_the_new_ones_are_what_each_block_brings():
    for i, block in enumerate(states(BLOCKS)):
        fresh = (BLOCKS[i] - block.running_max).exp()
        assert f"{fresh.sum():.3f}" in BOARD.read(4)[BOARD.read(4).index("sum") + 1 :]
        assert drawn.pair((fresh @ VALUES[2 * i : 2 * i + 2]).tolist()) in " ".join(BOARD.read(6))
