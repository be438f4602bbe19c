"""The kernel with parts left out: bars to scale, and a guess before each run."""

import json
import re

import pytest
from bs4 import BeautifulSoup

from scripts import records
from scripts.chapters import plot
from scripts.chapters.first_kernel import worked
from tests.site.live.test_pieces import every_width

CLOCKS = {row["left_out"]: round(row["all"]) for row in plot.rows_with(records.table("ablation", "clocks"), n=512)}
MEASURED = [CLOCKS[left_out] for left_out in ("nothing", "passes", "sums", "both")]
every_step = pytest.mark.parametrize("step", range(4))


def still(pieces, **state):
    return BeautifulSoup(
        pieces.draw_state("ablation", {key: str(value) for key, value in state.items()}), "html.parser"
    )


def clocks_of(stage) -> list[float]:
    """How long each bar is, where the first is as long as it was measured."""
    widths = [float(bar["width"]) for bar in stage.select("rect:not(.track)")]
    return [width / widths[0] * MEASURED[0] for width in widths]


def numbers(stage) -> list[int]:
    """What stands at the bars."""
    found = [
        re.fullmatch(r"(\d+)( clocks)?", each.text) for each in stage.select("text.label:not(.strong)")
    ]  # a guess is bold
    return [int(each[1]) for each in found if each]


@every_step
@pytest.mark.parametrize("size", ["narrow", "wide", "printed"])
def test_each_step_measures_one_more_and_its_bar_is_as_long_as_its_number(pieces, size, step):
    stage = still(pieces, step=step, guesses="38 75 20").select_one(f"svg.{size}")
    there = 4 if size == "printed" else step + 1
    assert numbers(stage) == MEASURED[:there]
    assert clocks_of(stage) == pytest.approx(MEASURED[:there], abs=0.01)
    line, first = stage.select_one("path.ink.thin:not(.guess)")["d"], stage.select_one("rect.violet")["width"]
    assert line.startswith(f"M{first} ") and len(stage.select("rect.soft")) == there - 1
    assert len(stage.select(".knob")) == (size != "printed" and step < 3)
    edges = [float(re.match(r"M(\S+)", each["d"])[1]) for each in stage.select("path.guess")]
    assert [edge / float(first) * MEASURED[0] for edge in edges] == pytest.approx(
        [] if size == "printed" else [38, 75, 20][: step + 1], abs=0.01
    )


def test_a_row_says_what_is_left_out(pieces):
    rows = still(pieces).select_one("svg.printed").select("text.label.ink[x='0']")
    names = ["without the passes", "without the sums", "without both"]
    (kernel,) = plot.rows_with(records.table("ablation", "times"), n=512, left_out="nothing")
    time = round(kernel["median"])
    assert [row.text for row in rows] == [
        f"measured: our {time} ms",
        *names,
    ]


def test_the_sentences_have_what_was_measured(pieces):
    says = [still(pieces, step=step).select_one(".hb-live__says").text for step in range(4)]
    assert [[int(number) for number in re.findall(r"\d+", each)] for each in says] == [[each] for each in MEASURED]
    nothing, passes, sums, both = MEASURED
    assert passes == nothing, "nothing’s won"
    assert sums == pytest.approx(worked.alu_clocks(worked.WARPS), abs=2), "the passes are the longest, and we see them"
    assert both < worked.alu_clocks(worked.WARPS) / 3, "loads and loops are left"


@pytest.mark.parametrize("step", [1, 2, 3])
def test_a_bar_grows_evenly_and_nothing_is_given_away_before_it_stops(pieces, step):
    pieces.draw_state("ablation", {})
    for part in (0.1, 0.5, 0.99):
        drawn, label, waits = json.loads(
            pieces.engine.eval(f"""{{
                const piece = modules["ablation.js"].default;
                const state = {{ ...piece.initial, step: {step}, guesses: "45 45 45" }};
                const canvas = {{ width: 1040, elapsed: {part} * piece.duration(state) }};
                const drawn = modules["lit-html"].text(piece.picture(state, () => 0, canvas));
                JSON.stringify([drawn, drawn.match(/aria-label="(.*?)"/)[1], piece.meanwhile(state)]);
            }}""")
        )
        stage = BeautifulSoup(drawn, "html.parser").select_one("svg:not(.printed)")
        assert clocks_of(stage) == pytest.approx([*MEASURED[:step], part * MEASURED[step]], abs=0.01)
        told = [int(number) for number in re.findall(r"\d+", label.split("measured")[1])]
        assert numbers(stage) == MEASURED[:step] == told
        assert (
            stage.text.count("your guess: 45") == step and len(re.findall("off|close|right on", stage.text)) == step - 1
        )
        assert not stage.select(".knob") and not re.search(r"\d", waits)


@every_width
def test_a_knob_that_is_let_go_where_it_was_is_a_guess(open_piece, width):
    piece = open_piece("ablation", width)
    box, start = piece.locator(".knob:visible").bounding_box(), piece.get_by_role("slider").input_value()
    piece.page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    assert piece.locator("svg.stage:visible text.end.ink").all_text_contents() == [start]


@every_width
def test_a_guess_stays_around_what_came_and_the_next_run_has_its_own(open_piece, width):
    piece = open_piece("ablation", width)
    stage, guess = piece.locator("svg.stage:visible"), piece.get_by_role("slider")
    knob, hollow = stage.locator(".knob"), stage.locator("path.guess")
    said = lambda: stage.locator("text.end.ink").all_text_contents()
    wide = lambda: hollow.last.evaluate("(part) => part.getBBox().width + 1")  # it begins at 1
    before = wide()
    start = int(guess.input_value())
    assert start not in MEASURED and said() == ["drag: your guess"]
    for key in ("PageDown", "ArrowLeft"):
        guess.press(key)
    time = int(guess.input_value())
    assert time < start and said() == [str(time)]
    assert wide() / before == pytest.approx(time / start, abs=0.001)
    piece.get_by_role("button", name="Without the passes").click()
    assert said() == [f"your guess: {time}, {MEASURED[1] - time} off", "drag: your guess"]
    assert guess.input_value() == str(start) and hollow.count() == 2 and knob.count() == 1
    assert not piece.locator("svg.printed :is(.guess, .knob)").count()
    piece.get_by_role("button", name="Without the sums").click()
    assert hollow.count() == 2, "nobody guessed the second"
    piece.get_by_role("button", name="Without both").click()
    assert not guess.count() and not knob.count() and len(said()) == 1
    piece.get_by_role("button", name="Again").click()
    assert said() == ["drag: your guess"]
    for off, words in ((0, "right on"), (4, "close"), (-4, "close"), (5, "5 off"), (-5, "5 off")):
        piece = open_piece("ablation", width, step=3, guesses=f"0 {MEASURED[2] + off} 0")
        assert said() == [f"your guess: {MEASURED[2] + off}, {words}"]


@pytest.mark.parametrize("width", [1280, 390, 320])
@pytest.mark.parametrize("guess", [0, 1, 18, 124, 130, 150])
def test_the_stage_is_low_and_no_words_leave_it_or_are_on_others_or_on_a_guess(open_piece, width, guess):
    """(The box of words with a halo is 2.5 pixels larger.)"""
    for step in (1, 3):
        piece = open_piece("ablation", width, step=step, guesses=f"{guess} {guess} {guess}")
        stage = piece.locator("svg.stage:visible")
        assert stage.bounding_box()["height"] <= 360
        assert not stage.evaluate("""(stage) => {
            const all = stage.getBoundingClientRect();
            const parts = [...stage.querySelectorAll("text, circle, path.ink:not(.guess, .thin)")];
            const boxes = parts.map((part) => [part.textContent || part.tagName, part.getBoundingClientRect()]);
            const there = boxes.filter(([, { height }]) => height);
            const out = there.filter(([text, { left, right }]) =>
                text !== "circle" && (left < all.left - 3 || right > all.right + 3));
            const marks = ([one, other]) => [one, other].every((name) => ["circle", "path"].includes(name));
            const both = there.flatMap(([one, a], i) => there.slice(i + 1).filter(([, b]) =>
                a.left < b.right && b.left < a.right && a.top + 4 < b.bottom && b.top + 4 < a.bottom
            ).map(([other]) => [one, other]));
            return [...out.map(([text]) => text), ...both.filter((pair) => !marks(pair))];
        }"""), step  # fmt: skip
