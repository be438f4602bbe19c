"""The model has the schedule of chapter 9's figure and the bits of kernels/hopper/ring.py; the piece shows both."""

import ast
import random
from collections.abc import Callable
from itertools import pairwise

import pytest

from kernels.bench.hardware import H100
from scripts.figures.hopper import hopper_timeline
from scripts.records import ROOT

MODEL = "ring.model.js"
BLOCKS = hopper_timeline.BLOCKS
NAMES = {"scores": "S", "output": "O"}


def settings(many: int):
    """Their clocks are any multiples of 8 for a softmax, and for a product an eighth to four times as much."""
    drawn = random.Random(0)
    sizes = lambda: (16 * drawn.randint(1, 32), drawn.randint(1, 3), 2 * drawn.randint(1, 128), drawn.randint(1, 4))  # noqa: E731
    return [hopper_timeline.Choice("", *sizes()) for _ in range(many)]


def setting(stages=2, consumers=2, copy=0, product=512, softmax=512, **more):
    clocks = dict(copy=copy, product=product, softmax=softmax)
    return dict(stages=stages, consumers=consumers, **clocks) | {"blocks": BLOCKS} | more


def clocks(bars):
    """What a product takes in the figure, and a softmax."""
    return tuple(next(bar.clocks for bar in bars if (bar.line == "tensor cores") is tensor) for tensor in (True, False))


def of_figure(bars, asked):
    """Bars, and when each tile is asked for; uses count from 0, where the figure's blocks begin with the last."""
    use = lambda text: hopper_timeline.BLOCKS - 1 - int(text[-1])  # noqa: E731
    drawn = {(bar.text[:-1], use(bar.text), bar.consumer, bar.start, bar.end) for bar in bars}
    return drawn, [(text[0], use(text), at) for text, at in asked]


def of_model(run):
    drawn = {
        (NAMES.get(bar["kind"], ""), bar["use"], bar["consumer"], bar["start"], bar["end"])
        for bar in run["bars"]
        if bar["kind"] != "copy"
    }
    return drawn, [(note["tensor"], note["use"], note["at"]) for note in run["notes"] if note["what"] == "asked"]


def simulated(pieces, wanted):
    return pieces.calls(MODEL, "simulate", [[each] for each in wanted])


def drawn_of(pieces, wanted):
    """The same but for the moments, which nearly all of its bytes tell of."""
    pieces.load(MODEL)
    pieces.engine.eval(
        f"""modules.test = {{ drawn(wanted) {{
            const {{ bars, notes }} = modules["{MODEL}"].simulate(wanted);
            const done = bars.filter(({{ kind }}) => kind !== "copy");
            return {{ bars: done, notes: notes.filter(({{ what }}) => what === "asked") }};
        }} }}; 0"""
    )
    pieces.loaded.add("test")
    return pieces.calls("test", "drawn", [[each] for each in wanted])


@pytest.mark.parametrize(("blocks", "many"), [(BLOCKS, 400), (1, 2600), (2, 4000), (3, 3000)])
def test_the_schedule_is_that_of_the_figure(pieces, monkeypatch, blocks, many):
    """Where copies take no time. The figure asks for tiles at the end, so one stage may be too few for it."""
    monkeypatch.setattr(hopper_timeline, "BLOCKS", blocks)
    choices = settings(many)
    figures = [hopper_timeline.schedule(choice) for choice in choices]
    asked_for = [
        setting(choice.stages, choice.consumers, 0, *clocks(bars), blocks=blocks)
        for choice, (bars, _) in zip(choices, figures, strict=True)
    ]
    compared = 0
    for choice, (bars, asked), run in zip(choices, figures, drawn_of(pieces, asked_for), strict=True):
        starts = [bar.start for bar in bars if bar.line == "tensor cores"]
        products = {(bar.text, bar.consumer): bar.start for bar in bars if bar.line == "tensor cores"}
        late = any(
            at > products["SO"["KV".index(tile[0])] + tile[1:], consumer]
            for tile, at in asked
            for consumer in range(choice.consumers)
        )
        assert not (late and choice.stages > 1) and starts
        if not late:
            assert of_model(run) == of_figure(bars, asked), choice
            compared += 1
    assert compared >= 0.7 * len(choices)


def test_a_model_with_another_order_is_not_the_figure(pieces):
    choice = hopper_timeline.CHOICES[0]
    bars, asked = hopper_timeline.schedule(choice)
    (run,) = simulated(pieces, [setting(choice.stages, 1, 0, *clocks(bars))])  # a consumer missing
    assert of_model(run) != of_figure(bars, asked)
    (run,) = simulated(pieces, [setting(choice.stages + 1, choice.consumers, 0, *clocks(bars))])
    assert of_model(run)[1] != of_figure(bars, asked)[1]  # a tile too many: the producer asks earlier


def test_a_moment_keeps_its_barriers_as_they_were(pieces):
    (run,) = simulated(pieces, [setting(2, 1, copy=512)])
    for side in ("full", "free"):
        phases = [moment["rings"]["K"][0][side]["phases"] for moment in run["moments"]]
        assert phases[0] == 0 and phases[-1] == BLOCKS // 2 and phases == sorted(phases)


def bits(side: str, function: str) -> Callable[[int, int], int]:
    """The bit that a function of kernels/hopper/ring.py waits for at a barrier, compiled from its own line."""
    tree = ast.parse((ROOT / "kernels" / "hopper" / "ring.py").read_text())
    (body,) = [node for node in tree.body if getattr(node, "name", "") == function]
    (wait,) = [
        node for node in ast.walk(body) if isinstance(node, ast.Call) and ast.unparse(node.func) == "mbarrier.wait"
    ]
    assert side in ast.unparse(wait.args[0])
    return lambda use, stages: eval(ast.unparse(wait.args[1]), {"use": use, "STAGES": stages})


@pytest.mark.parametrize("stages", [1, 2, 3, 4])
def test_each_side_waits_for_the_bit_of_the_kernel(pieces, stages):
    """A copy of a million clocks holds up the consumers at every use, and a softmax of a million the producer."""
    full, free = bits("full", "wait_for_tile"), bits("free", "fetch")
    slow_copies, slow_consumers = simulated(pieces, [setting(stages, 1, copy=10**6), setting(stages, 1, softmax=10**6)])

    def waits(run, worker, tensor, side):
        seen = [moment["waits"][worker] for moment in run["moments"]]
        seen = [wait for wait in seen if wait and wait["side"] == side and wait["tensor"] == tensor]
        return [
            (wait["place"], wait["bit"]) for wait, before in zip(seen, [None, *seen], strict=False) if wait != before
        ]

    expected = [(use % stages, full(use, stages)) for use in range(BLOCKS)]
    assert waits(slow_copies, 1, "K", "full") == expected
    expected = [(use % stages, free(use, stages)) for use in range(stages, BLOCKS)]
    assert set(waits(slow_consumers, 0, "K", "free") + waits(slow_consumers, 0, "V", "free")) <= set(expected)
    assert waits(slow_consumers, 0, "V", "free")[-1] == expected[-1]


def grid():
    return [
        setting(stages, consumers, copy, product, softmax)
        for stages in (1, 2, 3, 4)
        for consumers in (1, 2, 3)
        for copy in (0, 1, 512, 2000)
        for product in (100, 512)
        for softmax in (100, 2000)
    ]


def test_waiting_for_the_right_bit_nothing_hangs_and_nothing_is_read_that_is_not_there(pieces):
    for wanted, run in zip(grid(), simulated(pieces, grid()), strict=True):
        assert not run["hung"] and not any(bar["wrong"] for bar in run["bars"]), wanted
        assert len(run["bars"]) == (2 + 3 * wanted["consumers"]) * BLOCKS
        for units in ({"copy"}, {"scores", "output"}, {"softmax"}):  # one thing at a time
            work = sorted((bar["start"], bar["end"]) for bar in run["bars"] if bar["kind"] in units)
            assert all(end <= start for (_, end), (start, _) in pairwise(work))


@pytest.mark.parametrize("bug", ["producer", "consumers", "greedy"])
def test_waiting_for_another_bit_hangs_or_reads_what_is_not_there(pieces, bug):
    slow = [each | {"bug": bug} for each in grid() if each["copy"] >= each["product"]]
    for run in simulated(pieces, slow):
        hung, wrong = run["hung"], any(bar["wrong"] for bar in run["bars"])
        assert {"producer": hung and not run["bars"], "consumers": wrong, "greedy": True}[bug]
    if bug == "greedy":  # copies that take no time: the last use of each place has come before the first was read
        (run,) = simulated(pieces, [setting() | {"bug": bug}])
        assert any(bar["wrong"] for bar in run["bars"])


def test_the_starting_clocks_are_those_of_the_chapter(pieces):
    """512 clocks a product and 512 a softmax: 64 rows, 128 keys, d = 128."""
    bars, _ = hopper_timeline.schedule(hopper_timeline.CHOICES[0])
    assert clocks(bars) == (512, 512) and H100["wgmma rows"].value == 64
    one, two = simulated(pieces, [setting(stages, copy=512) for stages in (1, 2)])
    busy = [share for (share,) in [pieces.calls(MODEL, "busy", [[run["bars"]]]) for run in (one, two)]]
    assert busy[1] == pytest.approx(1) and busy[0] < 1


def test_the_reader_steps_changes_the_stages_and_sees_it_hang(open_piece):
    piece = open_piece("ring")
    text = lambda: piece.locator(".hb-live__told").inner_text()  # noqa: E731
    assert "free of place 0 ends phase 0" in text() and "use 2" in text()
    piece.get_by_role("button", name="Step", exact=True).press("Enter")
    assert "Use 1 of V is there" in text()
    piece.get_by_label("Waiting").select_option("producer")
    assert "Deadlock at clock 0" in text()
    piece.get_by_label("Waiting").select_option("consumers")
    assert "is not filled" in text()
    piece.get_by_label("Waiting").select_option("none")
    piece.get_by_label("Stages").press("ArrowRight")
    assert piece.get_by_role("img").first.locator("text", has_text="empty").count() == 5
    piece.get_by_role("button", name="Step", exact=True).click()
    assert piece.get_by_role("img").first.locator("text", has_text="use 0").count() == 2


def test_a_producer_that_does_not_wait_is_not_said_to_wait(pieces):
    told = lambda bug: pieces.still("ring", {"bug": bug, "step": "0"}).split("hb-live__told")[1]  # noqa: E731
    assert "waits" in told("none")
    assert "waits" not in told("greedy")
