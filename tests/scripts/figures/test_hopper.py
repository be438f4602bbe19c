"""The figures of the Hopper kernel draw the records; its schedule keeps the kernel's order."""

from itertools import pairwise

import pytest

from kernels.bench.cost import attention_flops
from scripts import records
from scripts.figures.hopper import (
    call_cost,
    hopper_beside,
    hopper_changes,
    hopper_ladder,
    hopper_rungs,
    hopper_timeline,
)
from scripts.figures.plot import where
from tests.claims.rows import chip_of
from tests.scripts.figures.controls import choose, points, visible


def steps(head_dim, n, causal):
    rows = records.table("hopper_steps", f"steps_{head_dim}")
    return {row["step"]: row for row in where(rows, n=n, causal=causal)}


def rungs_of(head_dim, n, causal):
    """Each mechanism of the kernel's own plan, from the portable kernel up."""
    hopper = pytest.importorskip("kernels.hopper.plan")
    plan = hopper.plan_for(head_dim, causal, n)
    # A plan of work that is not causal has them, to no effect.
    shared, halved = (["paired", "singles"], ["halved"]) if causal else ([], [])
    own = ["overlap", "persistent", *shared, "held", "turns", "lazy", *halved, "late"]
    return ["flash_attention", "specialised", *(step for step in own if getattr(plan, step))]


@pytest.mark.parametrize("head_dim", [64, 128, 256])
def test_the_ladder_is_the_records(head_dim):
    figure = hopper_ladder.figure()
    choose(figure, "Head dimension d", str(head_dim))
    traces = visible(figure)
    assert {*traces.pop(0).x} == {None}
    for setting in hopper_ladder.SETTINGS:
        found = steps(head_dim, *setting)
        ladder, cudnn = traces.pop(0), traces.pop(0)
        wanted = [step for step in hopper_ladder.STEPS if step in found and step != "sdpa_cudnn"]
        assert wanted == rungs_of(head_dim, *setting)
        assert list(ladder.x) == [found[step]["speed"] for step in wanted]
        assert list(cudnn.x) == [found["sdpa_cudnn"]["speed"]]
        said = [[each[of] for of in ("gain", "low", "high")] for each in map(found.get, wanted)]
        assert [[*numbers] for _, *numbers in ladder.customdata] == said
        left, right = figure.layout.xaxis.range
        assert all(left + 20 < x < right - 20 for x in (*ladder.x, *cudnn.x)), "cut"
    assert not traces


@pytest.mark.parametrize("head_dim, last", [(64, "late"), (128, "late"), (256, "lazy")])
def test_the_lines_of_the_ladder_are_the_steps_of_its_heads_in_their_order(head_dim, last):
    """The axis takes them from the first lines that are drawn."""
    ladder, rungs = hopper_ladder.figure(), hopper_rungs.figure()
    choose(ladder, "Head dimension d", str(head_dim))
    choose(rungs, "Heads", f"d = {head_dim}")
    for figure, end in ((ladder, "cuDNN"), (rungs, "the limit")):
        lines = list(dict.fromkeys(name for trace in visible(figure) for name in trace.y))
        assert figure.layout.yaxis.type == "category" and figure.layout.yaxis.categoryarray is None
        order = [*hopper_rungs.STEPS.values(), "the limit"]
        assert lines == sorted(lines, key=order.index) and lines[-1] == end
        assert lines[lines.index("cuDNN") - 1] == last


@pytest.mark.parametrize("head_dim", [64, 128, 256])
@pytest.mark.parametrize("n, causal", hopper_ladder.SETTINGS)
def test_the_text_alternative_of_the_ladder_is_true(head_dim, n, causal):
    found = steps(head_dim, n, causal)
    gain, speed = ({step: row[of] for step, row in found.items()} for of in ("gain", "speed"))
    long = n == 16384
    if long or head_dim == 256:
        assert found["specialised"]["low"] > 1
    else:
        assert found["specialised"]["high"] < 1
    if not long:
        assert gain["persistent"] < 0.95 if causal and head_dim == 256 else gain["persistent"] > 1.02
    elif not causal:
        assert 0.97 < gain["persistent"] < 1.03
    else:
        assert gain["persistent"] < (1 if head_dim == 64 else 0.75)
        won = (speed["paired"] - speed["persistent"]) / (speed["overlap"] - speed["persistent"])
        assert won > 1.2 if head_dim == 64 else 0.9 < won < 0.98
    if causal and not long:
        assert gain["paired"] > 1.2
    assert {"paired", "singles"} <= found.keys() if causal else not {"paired", "singles"} & found.keys()
    assert 1.01 < gain.get("singles", 1.02) < 1.05
    if head_dim == 128:
        assert 1.01 < gain["held"] < 1.04 if causal else 0.995 < gain["held"] < 1.005
    assert ("turns" in found) == {64: long or not causal, 128: causal and not long, 256: causal}[head_dim]
    if "turns" in found:
        low, high = {64: (1.01, 1.03), 128: (0.99, 1.01), 256: (0.97, 0.995)}[head_dim]
        assert low < gain["turns"] < high
    assert 1.02 < gain.get("lazy", 1.03) < 1.08
    assert ("halved" in found) == (causal and head_dim == 64)
    assert ("late" in found) == {64: True, 128: long or not causal, 256: False}[head_dim]
    for step in ("halved", "late"):
        if step in found:
            assert 0.98 < gain[step] < 1.02 if long else 1.005 < gain[step] < 1.05


def test_the_text_alternative_of_the_rungs_is_true():
    rungs = [rung for rung in hopper_rungs.rungs(128) if rung.name not in ("cuDNN", "the limit")]
    back = [rung.name for before, rung in pairwise(rungs) if rung.time > before.time]
    assert {*back} - {"late"} == {"persistent"} and rungs[-1].name == "late"
    portable, _, _, persistent, *_, held, late = (rung.time for rung in rungs)
    assert persistent > 1.2 * portable and 0.99 * held < late < 1.01 * held
    times = {rung.name: rung.time for rung in hopper_rungs.rungs(256)}
    for head_dim in (128, 256):
        of = {rung.name: rung.time for rung in hopper_rungs.rungs(head_dim)}
        assert 0.9 < (of["persistent"] - of["paired"]) / (of["persistent"] - of["overlap"]) < 0.98
        assert 0.98 * of["overlap"] < of["singles"] < of["overlap"]
    assert times["singles"] < times["turns"] < 1.05 * times["singles"]
    limit = times.pop("the limit")
    assert limit < times["lazy"] == min(times.values()) and [*times][-2:] == ["lazy", "cuDNN"]


@pytest.mark.parametrize("head_dim", [64, 128, 256])
def test_every_change_is_drawn_and_is_the_records(head_dim):
    figure = hopper_changes.figure()
    choose(figure, "Head dimension d", str(head_dim))
    drawn = [x for trace in visible(figure) if trace.mode == "markers" for x in trace.x]
    wanted = [
        row["gain"]
        for setting in hopper_changes.SETTINGS
        for step, row in steps(head_dim, *setting).items()
        if step not in hopper_ladder.STEPS
    ]
    left, right = figure.layout.xaxis.range
    assert drawn == wanted and left + 0.02 < min(wanted) < max(wanted) < right - 0.02
    said = [[*each[2:]] for trace in visible(figure) if trace.mode == "markers" for each in trace.customdata]
    rows = [row for setting in hopper_changes.SETTINGS for row in steps(head_dim, *setting).values()]
    assert said == [[row["low"], row["high"]] for row in rows if row["step"] not in hopper_ladder.STEPS]


def test_the_text_alternative_of_the_changes_is_true():
    for head_dim in hopper_changes.HEAD_DIMS:
        for setting in hopper_changes.SETTINGS:
            changed = steps(head_dim, *setting)
            gain = {step: row["gain"] for step, row in changed.items() if step in hopper_changes.CHANGES}
            assert 0.96 < gain.pop("turns=True", 1) < 1.02
            tried = {step: gain.pop(step) for step in ("halved=True", "late=True") if step in gain}
            new = {(1024, True): ["halved=True", "late=True"], (16384, True): ["halved=True"]}
            assert [*tried] == (new.get(setting, []) if head_dim == 128 else [])
            for each in tried.values():
                assert 0.98 < each < 1.03 if setting == (1024, True) else each < 0.95
            stages = {"stages=2", "stages=3", "stages=4", "stages=3 q_stages=1"} & gain.keys()
            kept = {step: gain.pop(step) for step in stages}
            assert max(gain.values()) < 0.98
            if head_dim == 128:
                first, second, *_ = sorted(gain, key=gain.get)
                assert first == "consumers=3 registers=160" and gain[first] < 0.5 and second == "stages=1"
                assert kept.keys() == {"stages=3 q_stages=1"}
                low, high = (0.98, 1.02) if setting[0] == 16384 else (0.8, 0.92)
                assert low < kept["stages=3 q_stages=1"] < high
            else:
                assert all(0.98 < each < 1.02 for each in kept.values()) and (head_dim == 64) == bool(kept)
    others = [row["gain"] for d in (64, 256) for each in hopper_changes.SETTINGS for row in steps(d, *each).values()]
    assert min(others) > 0.5


@pytest.mark.parametrize("head_dim", [64, 128, 256])
def test_the_lines_of_the_changes_are_those_that_were_tried(head_dim):
    """No line is empty, and each is written beside the axis."""
    figure = hopper_changes.figure()
    choose(figure, "Head dimension d", str(head_dim))
    of_settings = [set(trace.y) for trace in visible(figure) if trace.mode == "markers"]
    (middle,) = [trace for trace in visible(figure) if trace.mode == "lines"]
    assert set(middle.y) == set.union(*of_settings) and len(middle.y) == len(set(middle.y))
    assert "turns" in middle.y[0] and figure.layout.yaxis.type == "category"


@pytest.mark.parametrize("head_dim", [64, 128, 256])
def test_the_rungs_are_the_records_and_parts_of_the_limit(head_dim):
    figure = hopper_rungs.figure()
    choose(figure, "Heads", f"d = {head_dim}")
    measured, reckoned = visible(figure)
    found = steps(head_dim, 16384, True)
    assert points(measured) == {
        found[step]["median"]: name for step, name in hopper_rungs.STEPS.items() if step in found
    }
    least = 1e3 * attention_flops(16384, head_dim, 2048 // head_dim, causal=True) / chip_of("hopper_steps", "bf16 peak")
    assert list(reckoned.y) == ["the limit"] and reckoned.x[0] == pytest.approx(least)
    parts = [float(text.split(", ")[1].removesuffix(" %")) for text in measured.text]
    assert parts == pytest.approx([100 * least / time for time in measured.x], rel=0.01)


@pytest.mark.parametrize("label, setting", hopper_beside.CHOICES.items())
def test_the_speeds_beside_cudnn_are_the_records(label, setting):
    head_dim, causal, work = setting
    figure = hopper_beside.figure()
    choose(figure, "Heads", label)
    *lines, limit = visible(figure)
    assert set(limit.y) == {chip_of("beside_cudnn", "bf16 peak") / 1e12}
    for line, (form, look) in zip(lines, hopper_beside.FORMS.items(), strict=True):
        rows = where(records.table("beside_cudnn", work), form=form, head_dim=head_dim, causal=causal)
        assert line.name == look.name and len(rows) > 2
        assert points(line) == {row["n"]: row["speed"] for row in rows}


def test_the_text_alternative_of_the_speeds_beside_cudnn_is_true():
    forms = [*hopper_beside.FORMS]
    for label, setting in hopper_beside.CHOICES.items():
        head_dim, causal, work = setting
        rows = where(records.table("beside_cudnn", work), head_dim=head_dim, causal=causal)
        for n in (1024, 4096, 16384):
            ours, cudnn, fa4, portable = (where(rows, n=n, form=form)[0]["speed"] for form in forms)
            assert ours > cudnn, label
            if work == "backward":
                if head_dim == 64:
                    assert cudnn < min(ours, fa4) and (ours < fa4) == (n == 1024), label
                if head_dim == 128 and causal and n == 4096:
                    assert ours == pytest.approx(fa4, rel=0.01)
                elif head_dim == 128:
                    assert fa4 > ours > cudnn, label
                if head_dim == 256:
                    assert (cudnn < fa4 < ours) if not causal and n != 4096 else fa4 < cudnn < ours
                continue
            if n == 1024:
                assert (fa4 < min(ours, cudnn)) == (head_dim < 256)
            if n == 16384:
                assert fa4 == pytest.approx(ours, rel=0.03)
            if head_dim == 64 and n == 1024:
                assert 0.85 < portable / cudnn < 0.95
            elif n > 1024 and (head_dim == 64 or (head_dim == 128 and causal)):
                assert 0.99 < portable / cudnn < 1.07
            else:
                assert portable < min(ours, cudnn, fa4)


def test_every_call_of_the_record_has_a_line_with_what_it_costs():
    figure = call_cost.figure()
    rows = records.table("host_cost", "host_cost")
    names = [call_cost.name_of(row["work"], row["form"]) for row in rows if row["way"] == "eager"]
    assert len(names) == len(set(names)) == len(rows) / 2
    graph, gpu, eager = visible(figure)
    for trace, way, column in ((graph, "graph", "host"), (gpu, "graph", "done"), (eager, "eager", "host")):
        assert list(trace.y) == names
        assert list(trace.x) == [row[column] for row in where(rows, way=way)]


@pytest.mark.parametrize("choice", hopper_timeline.CHOICES, ids=lambda choice: choice.label)
def test_the_schedule_keeps_the_order_of_the_kernel(choice):
    bars, asked = hopper_timeline.schedule(choice)
    ends = {(bar.line, bar.consumer, bar.text): bar.end for bar in bars}
    starts = {(bar.line, bar.consumer, bar.text): bar.start for bar in bars}
    assert len(starts) == len(bars) == choice.consumers * 3 * hopper_timeline.BLOCKS
    for consumer in range(choice.consumers):
        for block in range(hopper_timeline.BLOCKS):
            softmax = (f"consumer {consumer}", consumer, str(block))
            scores, output = (("tensor cores", consumer, f"{name}{block}") for name in "SO")
            assert ends[scores] <= starts[softmax] and ends[softmax] <= starts[output]
            if block:  # the block after in time: its scores come before this one's output
                later = ("tensor cores", consumer, f"S{block - 1}")
                assert ends[softmax] <= starts[later] and ends[later] <= starts[output]
    for unit in ("tensor cores", "consumer"):  # all consumers share the exp2 units
        own = sorted((bar.start, bar.end) for bar in bars if bar.line.startswith(unit))
        assert all(end <= start for (_, end), (start, _) in pairwise(own)), "two at once"
    for tile, at in asked:  # before it is read, and not before the tile is free
        product = "S" if tile[0] == "K" else "O"
        block = int(tile[1:])
        assert at <= min(starts["tensor cores", c, f"{product}{block}"] for c in range(choice.consumers))
        if (before := block + choice.stages) < hopper_timeline.BLOCKS:
            assert at >= max(ends["tensor cores", c, f"{product}{before}"] for c in range(choice.consumers))


def test_no_bar_of_the_schedule_is_cut():
    """What is not drawn whole is left out, and dots say that it goes on."""
    figure = hopper_timeline.figure()
    for choice in hopper_timeline.CHOICES:
        choose(figure, "Choose", choice.label)
        bars = [trace for trace in visible(figure) if trace.type == "bar"]
        ends = [start + clocks for trace in bars for start, clocks in zip(trace.base, trace.x, strict=True)]
        assert ends and max(ends) <= hopper_timeline.SHOWN < figure.layout.xaxis.range[1]
        dots = [
            line
            for trace in visible(figure)
            for line, text in zip(trace.y, trace.text or [], strict=False)
            if text == "…"
        ]
        assert hopper_timeline.LINES["tensor cores"] in dots


def test_the_tensor_cores_are_as_busy_as_the_chapter_says():
    busy = {choice.label: hopper_timeline.busy(choice) for choice in hopper_timeline.CHOICES}
    assert busy.pop("d = 128, one alone") == pytest.approx(2 / 3)
    assert all(share == pytest.approx(1) for share in busy.values())


def test_the_schedule_has_the_kernels_plans():
    hopper = pytest.importorskip("kernels.hopper.plan")
    for choice in hopper_timeline.CHOICES:
        plans = [plan for (head_dim, _), plan in hopper.PLANS.items() if head_dim == choice.head_dim]
        plans = {(plan.block_k, plan.stages, plan.consumers) for plan in plans}
        assert {(*plan[:2], 1) for plan in plans} | plans >= {(choice.block_k, choice.stages, choice.consumers)}
