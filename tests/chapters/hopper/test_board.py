"""Sheet 9: the board says what the plan, the records and the registry say: clocks, bits, registers, bytes, blocks."""

from itertools import pairwise

import pytest

from kernels.bench.hardware import H100
from kernels.hopper.plan import PLANS
from kernels.hopper.ring import ROWS
from scripts import records
from scripts.chapters import plot
from scripts.chapters.hopper import board as drawn
from scripts.chapters.hopper.figures import hopper_rungs, hopper_timeline

BOARD = drawn.board()
PLAN = PLANS[128, True]


def joined(step):
    return " ".join(BOARD.read(step))


def row(snippet, table, **wanted):
    (found,) = [each for each in records.table(snippet, table) if wanted.items() <= each.items()]
    return found


def beside():
    """Per cent of the limit, beside cuDNN."""
    time = row("beside_cudnn", "forward", form="hopper_attention", head_dim=128, n=drawn.N, causal=True)["median"]
    return 100 * drawn.LIMIT / time


def test_the_plan_is_the_kernels():
    assert (PLAN.consumers, PLAN.block_k, PLAN.stages) == (drawn.CONSUMERS, drawn.BLOCK_K, drawn.STAGES)
    assert ROWS.value == drawn.ROWS and PLAN.q_stages == drawn.STAGES and drawn.GRANTED[2] == PLAN.registers


def test_the_three_times_are_those_of_the_run_beside_cudnn_and_reach_past_the_limit():
    written = BOARD.read(1)
    for name, form in (("portable", "flash_attention"), ("cuDNN", "sdpa_cudnn"), ("ours", "hopper_attention")):
        time = row("beside_cudnn", "forward", form=form, head_dim=128, n=drawn.N, causal=True)["median"]
        assert written[written.index(name) + 1] == f"{time:.2f} ms" and time > drawn.LIMIT
    # An H200 has the tensor cores of an H100, and a peak that its maker rounds.
    least = plot.limit(drawn.N, 128, drawn.HEADS, 1, causal=True, snippet="beside_cudnn").time
    assert round(drawn.LIMIT, 2) == round(least, 2) and f"the limit: {drawn.LIMIT:.1f} ms" in written


def test_the_ladder_has_the_parts_of_its_figure():
    rungs = {rung.name: rung.time for rung in hopper_rungs.rungs(128)}
    parts = [f"{100 * rungs['the limit'] / rungs[name]:.0f} %" for name in drawn.STEPS.values()]
    assert [word for word in BOARD.read(8) if word.endswith(" %")] == parts


def test_only_a_step_back_of_more_than_is_believed_is_hatched(monkeypatch):
    hatched = []
    monkeypatch.setattr(drawn.Board, "hatch", lambda _, x, y, w, h: hatched.append((y, w)))
    drawn.board()
    rungs = {rung.name: rung.time for rung in hopper_rungs.rungs(128)}
    ((y, w),) = hatched
    (name,) = [name for last, name in pairwise(drawn.STEPS.values()) if rungs[last] < 0.98 * rungs[name]]
    assert name == "persistent" and w == pytest.approx(340 * drawn.LIMIT / rungs[name])
    assert y == 37 + 25 * [*drawn.STEPS.values()].index(name)
    assert "below 2 %: read nothing into it" in BOARD.read(8)


def test_what_the_sheet_reads_nothing_into_is_less_than_is_believed():
    sheet = (records.ROOT / "docs/chapters/hopper/sheet.md").read_text(encoding="utf-8")
    assert f"the kernel of the first picture's {beside():.0f} %" in " ".join(sheet.split())
    assert [*drawn.STEPS][-1] == "late" and "*Late* changed less" in sheet
    assert "nothing into two per cent" in sheet and drawn.BELIEVED == 2
    source = (records.ROOT / "snippets/hopper/hopper_steps.py").read_text(encoding="utf-8")
    assert "the median of thirty rounds" in sheet and "Each setting has 30 rounds" in source
    steps = [row("hopper_steps", "steps_128", n=drawn.N, causal=True, step=step) for step in drawn.STEPS]
    wide = [max(each["gain"] - each["low"], each["high"] - each["gain"]) / each["gain"] for each in steps]
    assert 100 * max(wide) < drawn.BELIEVED
    rungs = {rung.name: rung.time for rung in hopper_rungs.rungs(128)}
    # Two runs of one kernel may differ by more.
    assert "compare no bars of two runs" in sheet and abs(beside() * rungs["late"] / drawn.LIMIT - 100) < 5
    assert 100 * abs(rungs["late"] / rungs["held"] - 1) < drawn.BELIEVED
    lost = rungs["persistent"] - rungs["overlap"]  # pairs win nearly all of it back, and single blocks the rest
    assert 0.9 < (rungs["persistent"] - rungs["paired"]) / lost < 0.98
    assert 0.98 * rungs["overlap"] < rungs["singles"] < rungs["overlap"]


def test_a_ladder_that_awaits_its_run_is_a_sketch_that_says_so_and_steps_back_at_persistent(monkeypatch):
    monkeypatch.setattr(drawn, "took", lambda *_: {})
    written = drawn.board().read(8)
    assert "not to scale" in written and not any("%" in word for word in written[:-1])
    rough = list(zip(drawn.SKETCH, drawn.STEPS.values(), strict=True))
    assert [name for (last, _), (length, name) in pairwise(rough) if length < last] == ["persistent"]


def test_ours_is_the_last_step_of_the_ladder():
    own = [name for name in hopper_rungs.STEPS.values() if name in {rung.name for rung in hopper_rungs.rungs(128)}]
    assert own == [*drawn.STEPS.values(), "cuDNN"]


def test_the_clocks_of_a_score_are_those_of_the_budget():
    written = BOARD.read(2)
    for head_dim in (64, 128, 256):
        found = row("hopper_budget", "clocks", head_dim=head_dim)
        line = [str(head_dim), f"{found['matmuls']:g}", f"{found['exp2']:g}"]
        at = written.index(line[0], written.index("d"))
        assert written[at : at + 3] == line and written[at + 3].startswith(f"{found['one_after_other']:.0f}")


def test_each_side_waits_for_the_bits_of_the_budget():
    phases, written = records.table("hopper_budget", "phases"), BOARD.read(4)
    for name, column in (("use", "use"), ("place", "tile"), ("full", "wait_for_full"), ("free", "wait_for_free")):
        at = written.index(name)
        assert written[at + 1 : at + 7] == [str(found[column]) for found in phases]


def test_registers_and_bytes_are_those_of_the_budget():
    two = row("hopper_budget", "budget", head_dim=128, consumers=2, stages=2)
    three = row("hopper_budget", "budget", head_dim=128, consumers=3)
    said = joined(5)
    assert f"{two['accumulator']} + {two['scores']} + {two['weights']} = {two['all_three']}" in said
    assert f"two: {two['granted']}" in said and f"three: {three['granted']}" in said
    assert f"= {two['rings']:,}" in said and f"{H100['shared memory per block'].value:,}" in said
    third = row("hopper_budget", "budget", head_dim=128, stages=3)["rings"]
    assert f"{third:,}, does not fit" in said and third > H100["shared memory per block"].value


def test_the_schedule_is_that_of_the_figure():
    bars, _ = hopper_timeline.schedule(hopper_timeline.CHOICES[0])
    (product,) = {bar.clocks for bar in bars if bar.line == "tensor cores"}
    (exp2,) = {bar.clocks for bar in bars if bar.line == "consumer 0"}
    assert f"{2 * product:.0f} - {exp2:.0f} = {2 * product - exp2:.0f} clocks" in joined(6)
    assert f"busy {2 * product:.0f} of {2 * product + exp2:.0f}" in BOARD.read(6)


def test_program_0_has_the_blocks_that_the_shares_count():
    single, paired = drawn.shares()
    found = row("hopper_shares", "shares", head_dim=128, n=drawn.N)
    mean = 16 * 128 * 129 / 2 / H100["sms"].value
    assert round(sum(single) / mean, 3) == found["in_turn"] and f"mean: {mean:.1f}" in BOARD.read(7)
    assert round(sum(map(sum, paired)) / mean, 3) == found["paired"]
    assert f"{sum(single)} ÷ {sum(map(sum, paired))} = {found['gain']:.2f}" in BOARD.read(7)


def test_with_the_last_heads_singly_the_busiest_has_what_the_kernels_rule_gives_it():
    work = pytest.importorskip("kernels.hopper.work")
    sms, blocks = int(H100["sms"].value), drawn.N // PLAN.block_q
    assert work.units_of(drawn.HEADS, blocks, sms, True, PLAN.singles)[2] == drawn.SINGLE
    has, found = drawn.dealt(), row("hopper_shares", "shares", head_dim=128, n=drawn.N)
    assert len(has) == sms and sum(has) == drawn.HEADS * blocks * (blocks + 1) / 2
    assert round(max(has) * sms / sum(has), 3) == found["dealt"]
    assert (has[0], has[-1]) == (7 * 129 + 49 + 48, 6 * 129 + 115 + 114) and max(has) == has[-1]
    assert f"{drawn.SINGLE} heads singly: {max(has)}" in BOARD.read(7)
