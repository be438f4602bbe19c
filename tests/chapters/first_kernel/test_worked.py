"""Sheet 5's numbers are the library's: its attention, its softmax, a mask, a program's number; and a count."""

import re
from pathlib import Path

import pytest
import torch

from kernels.bench.cost import attention_flops, requested_bytes
from kernels.first import add, one_head
from kernels.reference import attention
from kernels.softmax import safe_softmax
from scripts import records
from scripts.chapters import plot
from scripts.chapters.first_kernel import demo, worked
from scripts.chapters.first_kernel.board import code, turn
from scripts.records import ROOT

Q, K, V = (torch.tensor(rows, dtype=torch.float64) for rows in (worked.QUERIES, worked.KEYS, worked.VALUES))
SHEET = ROOT / "docs" / "chapters" / "first-kernel" / "sheet.md"
PADDINGS = {"minus infinity": -torch.inf, "zero": 0.0}


def row(program: int, padding: float) -> torch.Tensor:
    scores = torch.full((worked.PADDED_KEYS,), padding, dtype=torch.float64)
    scores[: len(K)] = Q[program] @ K.T
    return scores


@pytest.mark.parametrize("padding", PADDINGS.values(), ids=PADDINGS.keys())
@pytest.mark.parametrize("program", range(len(Q)))
def test_a_program_has_its_row_its_shares_and_its_output(program, padding):
    found, scores = worked.program_row(worked.QUERIES[program], padding), row(program, padding)
    shares = safe_softmax(scores)
    assert found.scores == scores.tolist()
    assert found.shares == (100 * shares).round().tolist() and sum(found.shares) == 100
    assert found.total == pytest.approx((scores - scores.max()).exp().sum().item(), abs=5e-4)
    assert found.output == pytest.approx((shares[: len(V)] @ V).tolist(), abs=5e-3)


@pytest.mark.parametrize("program", range(len(Q)))
def test_only_minus_infinity_gives_what_attention_gives(program):
    wanted = pytest.approx(attention(Q, K, V, scale=1.0)[program].tolist(), abs=5e-3)
    assert worked.program_row(worked.QUERIES[program]).output == wanted
    assert worked.program_row(worked.QUERIES[program], padding=0.0).output != wanted


def test_the_shares_are_those_that_a_hand_finds_from_the_exponentials_on_the_board():
    for query in worked.QUERIES:
        found = worked.program_row(query)
        total = round(sum(found.terms), 3)
        assert [round(100 * term / total) for term in found.terms] == found.shares
        by_hand = [sum(s * v[i] for s, v in zip(found.shares[:3], worked.VALUES, strict=True)) / 100 for i in (0, 1)]
        assert worked.vector_text(by_hand) == worked.vector_text(found.output)


def test_the_mask_is_true_for_the_places_that_exist():
    for program, places in enumerate(torch.arange(3 * worked.BLOCK).split(worked.BLOCK)):
        assert worked.mask_true_count(program) == (places < worked.LENGTH).sum()
    assert worked.mask_text(2) == ("2048", "452 True", "572 False")


def test_all_programs_ask_for_as_much_as_the_library_counts():
    texts, heads, n, _ = worked.SHAPE
    asked = texts * heads * requested_bytes(n, worked.HEAD_DIM, worked.BYTES, block_q=1)
    assert worked.requested_gigabytes() * 1e9 == pytest.approx(asked, rel=1 / n)  # it counts Q and the output, too
    assert worked.requested_gigabytes() == pytest.approx(68.7, abs=0.05)


def test_halving_takes_these_shuffles():
    within, _, across, _ = worked.SUM_STEPS
    assert (worked.LANES >> within, worked.WARPS >> across) == (1, 1)


def test_somewhere_past_1024_words_the_alu_is_the_busiest():
    table = plot.rows_with(records.table("what_limits", "clocks"), warps=worked.WARPS)
    rows = {row["n"]: {unit: row[unit] for unit in ("lsu", "data_path", "alu", "issue")} for row in table}
    assert rows[1024]["lsu"] < rows[1024]["alu"] < rows[1024]["issue"]
    for words in (256, 1024, 2048, 4096):  # beyond, the compiler adds work
        assert rows[words]["alu"] == pytest.approx(worked.alu_clocks(worked.WARPS, words), rel=0.02)
    for words, units in rows.items():
        assert (max(units, key=units.get) == "alu") == (words > 1024)


def test_ours_takes_two_thirds_of_its_budget_as_is_answered():
    errors = {row["form"]: row for row in records.table("first_kernel", "errors")}
    assert errors["one_key"]["of_budget"] == pytest.approx(1 / 1.5)
    assert errors["one_key"]["largest"] == errors["pytorch"]["largest"]


def test_a_profiler_counts_the_instructions_that_are_predicted():
    """Those of the load-store unit, which starts one in a clock, and of the ALU, which starts two."""
    size = worked.SHAPE[-1]
    rows = {row["warps"]: row for row in plot.rows_with(records.table("what_limits", "clocks"), n=size)}
    for warps, row in rows.items():
        assert worked.load_store_clocks(warps) == pytest.approx(row["lsu"], rel=0.01)
        assert worked.alu_clocks(warps) == pytest.approx(row["alu"], rel=0.05)


def test_to_multiply_takes_two_clocks_of_a_pair():
    texts, heads, queries, keys = worked.SHAPE
    flop = attention_flops(queries, worked.HEAD_DIM, heads, texts)
    assert flop / worked.PAIRS / worked.FP32_FLOP_PER_CLOCK == worked.FP32_CLOCKS == 2
    assert queries == keys and worked.milliseconds_of_clocks(worked.FP32_CLOCKS) == pytest.approx(1.0, abs=0.05)


def test_the_code_on_the_board_is_the_kernels():
    source = re.sub(r"\s+", " ", Path(add.__file__).read_text(encoding="utf-8").partition("def add_kernel")[2])
    source = source.replace("BLOCK", str(worked.BLOCK)).replace("< length", f"< {worked.LENGTH}")
    for line in code():  # on the board a sum over two lines has parentheses
        assert line.strip().replace("= (", "= ").replace("))", ")") in source
    source = re.sub(
        r"\s+", " ", Path(one_head.__file__).read_text(encoding="utf-8").partition("def one_head_kernel")[2]
    )
    *first, second = turn()
    assert " ".join(first) in source and second in source


def test_without_a_screen_the_sheet_has_the_demos_last_line():
    *_, verdicts = demo.lines()
    assert f'its last line: "{verdicts}"' in SHEET.read_text(encoding="utf-8")
