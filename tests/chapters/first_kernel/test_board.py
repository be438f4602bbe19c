"""Sheet 5: the board says what the library's kernel, its strides, its row and the records say."""

import torch

from kernels.bench.cost import mb, requested_bytes
from kernels.first.one_key import LONGEST_ROW
from kernels.reference import attention
from kernels.softmax import safe_softmax
from scripts import records
from scripts.chapters.first_kernel import board as drawn
from scripts.chapters.first_kernel import worked

BOARD = drawn.board()


def test_program_7_has_the_query_that_the_strides_of_a_tensor_say():
    shape = (worked.SENTENCES, worked.HEADS, worked.WORDS, worked.HEAD_DIM)
    table = torch.arange(torch.Size(shape).numel()).view(shape)
    word, head, sentence = worked.place(worked.PROGRAM)
    first, last = table[sentence, head, word].tolist()
    assert table.view(-1, worked.HEAD_DIM)[worked.PROGRAM].tolist() == [first, last]
    assert table.stride()[2::-1] == worked.strides()
    assert {f"word {word}", f"head {head}", f"sentence {sentence}"} <= set(BOARD.read(2))
    assert f"program 7 reads {first} and {last}" in BOARD.read(4)


def test_the_row_is_that_of_the_library():
    q, k, v = (torch.tensor(rows, dtype=torch.float64) for rows in ([worked.QUERY], worked.KEYS, worked.VALUES))
    row = torch.full((worked.ROW,), -torch.inf, dtype=torch.float64)
    row[: len(k)] = (q @ k.T)[0]
    assert worked.scores() == row.tolist()
    shares, written = safe_softmax(row), BOARD.read(5)
    assert {f"{share:.0%}".replace("%", " %") for share in shares.tolist()} <= set(written)
    assert f"sum {(row - row.max()).exp().sum():.2f}" in written
    assert attention(q, k, v, scale=1.0)[0].tolist() == [5, 5] and "[5, 5]" in written


def test_the_longest_row_that_the_kernel_takes_is_the_one_that_fits():
    threads = worked.WARPS * worked.LANES
    assert 2 * LONGEST_ROW // threads > worked.REGISTERS > LONGEST_ROW // threads
    assert f"{LONGEST_ROW:,} ÷ {threads} = {LONGEST_ROW // threads} a thread" in BOARD.read(6)


def test_the_verdicts_are_those_of_the_record():
    found = {row["form"]: row["verdict"] for row in records.table("first_kernel", "errors")}
    assert list(found.values()) == ["passes", "passes", "REJECTED"]
    assert [text for text in BOARD.read(7) if text in ("✓", "REJECTED")] == ["✓", "✓", "REJECTED"]


def test_a_warp_touches_as_many_sectors_as_its_addresses_lie_in():
    for stride in (1, 2, 4, 8, 16):
        touched = {lane * stride * worked.NUMBER // worked.SECTOR for lane in range(worked.LANES)}
        assert worked.sectors(stride) == len(touched) and str(len(touched)) in BOARD.read(8)


def test_what_is_asked_for_is_what_the_library_counts():
    said = BOARD.read(9)
    assert f"asked for {mb(requested_bytes(1024, 128, 2, block_q=1)):.1f} MB" in said
    for head_dim in (64, 128, 256):
        (time,) = [
            row["median"]
            for row in records.table("prefill_speed", f"forward_{head_dim}")
            if (row["form"], row["n"], row["causal"]) == ("one_key_attention", 512, False)
        ]
        assert f"{time:.1f} ms" in said


def test_a_meeting_costs_what_was_measured():
    growth = {row["n"]: row["one_meeting"] for row in records.table("first_kernel", "growth")}
    assert {f"{growth[n]:.0f} ps" for n in (256, 512, 8192)} <= set(BOARD.read(10))
