"""Chapter 5's drawings have the numbers of the sheet's example, and what a count finds of them."""

import re
from math import inf

import pytest

from kernels.bench.hardware import H200
from scripts import records
from scripts.chapters import plot
from scripts.chapters.first_kernel import worked
from scripts.chapters.first_kernel.figures.price_of_a_pair import clocks_of_a_pair
from scripts.chapters.first_kernel.figures.warps import clocks_by_hand
from scripts.records import ROOT
from tests.docs.page_text import DRAWINGS, drawing_text

COLUMNS = {"lsu": "LSU", "alu": "ALU", "issue": "schedulers"}
PARTS = ("sms", "programs", "threads")  # of the chip, an SM, a program
PROGRAM = 1  # worked in the chapter, with the query [1, 1]


def source(drawing):
    return (DRAWINGS / f"first-kernel-{drawing}.svg").read_text(encoding="utf-8")


def page(name):
    return (ROOT / "docs" / "chapters" / "first-kernel" / f"{name}.md").read_text(encoding="utf-8")


def joined(*parts):
    return " ".join(map(str, parts))


def test_the_row_is_filled_key_by_key():
    labels, scores = drawing_text("first-kernel-row"), worked.program_row(worked.QUERIES[PROGRAM]).scores
    before = [-inf] * worked.PADDED_KEYS
    rows = [joined("start", *before)]
    for number, key in enumerate(worked.KEYS):
        before[number] = scores[number]
        rows.append(joined(f"key {number} is {list(key)}", *(f"{score:g}" for score in before)))
    assert joined(*rows).replace("-inf", "\N{MINUS SIGN}\N{INFINITY}") in labels


def test_padding_with_zero_gives_a_share_away():
    assert f"**{worked.program_row(worked.QUERIES[PROGRAM], 0.0).shares[-1]} %**" in page("index")


@pytest.mark.parametrize("drawing", ["zoom", "zoom-wide"])
def test_the_launch_and_the_chip_are_at_true_scale(drawing):
    labels, drawn = drawing_text(f"first-kernel-{drawing}"), source(drawing)
    programs = worked.PAIRS // worked.SHAPE[-1]
    assert f"{programs:,} programs" in labels and f"{worked.SMS} SMs" in labels
    assert f"{worked.WARPS} warps · {worked.LANES} threads" in labels
    at_once = worked.SMS * worked.PROGRAMS_AT_ONCE
    assert f"{worked.PROGRAMS_AT_ONCE} programs" in labels
    part = {what: re.search(rf'-{what}" x="\d+" y="\d+" width="([\d.]+)" height="([\d.]+)"', drawn) for what in PARTS}
    size = float(re.search(r'data-what="launch" .*?width="(\d+)"', drawn)[1])
    counts = {what: round(size / float(at[1])) * round(size / float(at[2])) for what, at in part.items()}
    assert counts == {
        "sms": worked.SMS,
        "programs": worked.PROGRAMS_AT_ONCE,
        "threads": worked.LANES * worked.WARPS,
    }
    running = float(re.search(rf'width="{size:g}" height="([\d.]+)"/>', drawn.split('fill="var(--hb-ink)">')[1])[1])
    assert running / size == pytest.approx(at_once / programs, abs=1e-4)


@pytest.mark.parametrize("drawing", ["flat-memory", "flat-memory-wide"])
def test_the_drawn_memory_has_the_queries_one_after_another(drawing):
    labels, flat = drawing_text(f"first-kernel-{drawing}"), [number for query in worked.QUERIES for number in query]
    head_dim = len(worked.QUERIES[0])
    assert joined(*(joined(*query, f"query {i}") for i, query in enumerate(worked.QUERIES))) in labels
    assert joined(*(f"{number} {place}" for place, number in enumerate(flat))) in labels
    offsets = [PROGRAM * head_dim + column for column in range(head_dim)]
    assert tuple(flat[place] for place in offsets) == worked.QUERIES[PROGRAM]
    assert f"{PROGRAM} · HEAD_DIM = {offsets[0]}" in labels and f"offsets = {offsets}" in labels


def test_the_pages_have_what_the_units_work():
    bottleneck, notes = page("bottleneck"), page("notes")
    assert H200["fp32 lanes"].value == worked.FP32_FLOP_PER_CLOCK
    (l2,) = plot.rows_with(records.table("l2_speed", "sizes"), size=16)
    l2_bytes, hbm_bytes = map(worked.bytes_in_a_clock, (1e12 * l2["speed"], H200["hbm bandwidth"].value))
    assert f" | {l2_bytes:.0f} bytes | {worked.PAIR_BYTES} / {l2_bytes:.0f} = " in bottleneck
    assert f"HBM has {hbm_bytes:.0f} bytes in a clock for each SM, and 2 / {hbm_bytes:.0f} = 0.1 clocks." in bottleneck
    programs = {row["programs"]: row["pair"] for row in records.table("how_many_programs", "times")}
    pair, together = (programs[count] * worked.GIGAHERTZ for count in (1, 16))
    assert f"takes {pair:.0f} clocks for a pair" in notes and f"{pair:.0f} / 16 = {pair / 16:.0f}." in notes
    assert f"In the same run, a single wave of programs, it's {together:.0f}" in notes
    instructions = {r["warps"]: r["all"] for r in records.table("how_many_warps", "compiled") if r["n"] == 512}
    issue = {warps: f"{warps} · {count} / 4 = {warps * count / 4:g}" for warps, count in instructions.items()}
    for warps in (1, 2, 4, 8):
        alu, lsu = worked.alu_clocks(warps), worked.load_store_clocks(warps)
        each = rf"[\d+ ]+ = {lsu // warps}"
        row = (
            rf"^\| {warps} \| {each} \| {warps} · {lsu // warps} = {lsu} \| 48 \+ \d+ = {alu:.0f} \| {issue[warps]} \|"
        )
        assert re.search(row, notes, re.M)


def test_no_pair_takes_less_than_its_busiest_unit():
    ablated = plot.rows_with(records.table("ablation", "clocks"), n=worked.SHAPE[-1])
    for clocks in [*ablated, *records.table("what_limits", "clocks")]:
        assert clocks["all"] > max(clocks[unit] for unit in ("lsu", "data_path", "alu", "issue"))
    (whole,) = [row for row in ablated if row["left_out"] == "nothing"]
    assert max(("lsu", "data_path", "alu", "issue"), key=whole.get) == "data_path"


def test_a_profiler_counts_what_the_hand_does():
    (kernel,) = plot.rows_with(records.table("ablation", "clocks"), n=worked.SHAPE[-1], left_out="nothing")
    assert kernel["lsu"] == pytest.approx(worked.load_store_clocks(worked.WARPS), abs=0.5)
    assert kernel["alu"] == pytest.approx(worked.alu_clocks(worked.WARPS), abs=0.5)


def test_the_parts_do_not_add_up_and_change_places_in_long_texts():
    clocks = {(row["n"], row["left_out"]): row["all"] for row in records.table("ablation", "clocks")}
    whole, passes, sums, both = (clocks[512, form] for form in ("nothing", "passes", "sums", "both"))
    assert both < sums / 3 < whole / 5
    times = {row["left_out"]: row for row in plot.rows_with(records.table("ablation", "times"), n=512)}
    assert times["passes"]["low"] > 0.99 and times["sums"]["high"] < 0.55  # nothing is won
    whole, long_passes, sums = (clocks[2048, form] for form in ("nothing", "passes", "sums"))
    assert long_passes == pytest.approx(passes, rel=0.02) and long_passes < 0.6 * whole
    assert 0.8 * whole < sums < 0.9 * whole  # "still wins something"


def test_the_sums_are_busiest_in_short_texts_and_the_passes_in_long_ones():
    rows = plot.rows_with(records.table("what_limits", "clocks"), warps=worked.WARPS)
    busiest = {row["n"]: COLUMNS[max(COLUMNS, key=row.get)] for row in sorted(rows, key=lambda row: row["n"])}
    assert list(busiest.values()) == ["LSU", "LSU", "schedulers", "ALU", "ALU", "ALU"]


@pytest.mark.parametrize("warps", [1, 2, 4, 8])
def test_the_profiler_counts_what_the_hand_does_and_no_pair_takes_less(warps):
    (counted,) = plot.rows_with(records.table("what_limits", "clocks"), n=worked.SHAPE[-1], warps=warps)
    hand = clocks_by_hand(warps)
    for column, unit in COLUMNS.items():
        assert counted[column] == pytest.approx(hand[unit], rel=0.06)
    assert counted["all"] > max(hand.values())


def test_a_pairs_price_is_level_until_its_passes_take_longer_than_its_sums():
    clocks, sums = clocks_of_a_pair(), worked.load_store_clocks(worked.WARPS)
    level = [n for n in clocks if worked.alu_clocks(worked.WARPS, n) < sums]
    assert [clocks[n] for n in level] == pytest.approx([clocks[worked.SHAPE[-1]]] * len(level), rel=0.01)
    longer = [n for n in clocks if n not in level and n <= worked.LONGEST]
    for n in longer:
        floor = worked.alu_clocks(worked.WARPS, n)
        assert floor < clocks[n] < 1.3 * floor
    assert clocks[2 * worked.LONGEST] > 2 * clocks[worked.LONGEST] > 1.8 * 2 * clocks[worked.LONGEST // 2]


def test_the_drawn_sum_has_the_instructions_that_are_counted():
    within, handed, across, back = worked.SUM_STEPS
    labels = drawing_text("first-kernel-sum")
    assert f"{within} shuffles" in labels and f"{across} shuffles" in labels
    assert labels.count(f"{handed} write, read") == 2 and handed == back
    assert f"{sum(worked.SUM_STEPS)} for each" in labels


def test_the_drawn_pass_is_counted_as_by_hand():
    lines, each, all_of_them = map(int, re.findall(r" (\d+)", drawing_text("first-kernel-pass"))[-3:])
    assert lines * worked.LANES == worked.SHAPE[-1] and each == worked.PLACE_INSTRUCTIONS
    assert all_of_them == lines * each == worked.alu_clocks(0) * worked.ALU_PER_CLOCK / 2
    assert (source("pass").count("v128"), source("pass").count("h256")) == (worked.LANES - 1, lines - 1)


@pytest.mark.parametrize("warps", [worked.WARPS, 1])
def test_the_page_has_what_each_unit_takes(warps):
    text, a_pass = page("index"), worked.SHAPE[-1] // worked.LANES * worked.PLACE_INSTRUCTIONS
    a_sum = warps * (sum(worked.SUM_STEPS) if warps > 1 else worked.SUM_STEPS[0])
    loads, loops = 2 * warps, worked.LOOP_INSTRUCTIONS * warps
    lsu, alu = worked.load_store_clocks(warps), worked.alu_clocks(warps)
    assert f"2 · {a_sum} + {loads} = {lsu} | {lsu} / 1 = **{lsu}** |" in text
    both = 2 * a_pass + loops
    assert f"2 · {a_pass} + {loops} = {both} | {both} / {worked.ALU_PER_CLOCK} = **{alu:.0f}** |" in text


def test_a_pairs_clocks_are_worked_by_hand():
    rows = plot.rows_with(records.table("prefill_speed", "forward_128"), n=worked.SHAPE[-1], causal=False)
    (kernel,) = plot.rows_with(rows, form="one_key_attention")
    pairs, clocks = worked.PAIRS / worked.SMS / 1e6, round(kernel["median"], 1) * worked.GIGAHERTZ
    text = page("index")
    assert f"| = {worked.PAIRS:,} |" in text and f"{worked.PAIRS / 1e6:.1f} / {worked.SMS} | = {pairs:.3f} |" in text
    assert f" · {worked.GIGAHERTZ} | = {clocks:.1f} |" in text
    assert f"| {clocks:.1f} / {pairs:.3f} | = **{clocks / pairs:.0f}** |" in text
