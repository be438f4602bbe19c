"""A score from the products of eight threads: what they hold after each step, who hands to whom, and nothing early."""

import json
import re
from itertools import chain, groupby

import pytest
from bs4 import BeautifulSoup

from scripts.chapters.first_kernel import worked

NUMBERS = [1, 2, 0, 2, 1, 3, 1, 2], [3, 1, 3, 2, 1, 0, 3, 1]  # the query and the key
TWO_AWAY, NEIGHBOURS = [2, 3, 0, 1, 6, 7, 4, 5], [1, 0, 3, 2, 5, 4, 7, 6]
STRAIGHT = [(thread, thread) for thread in range(8)]
SHUFFLED = [*enumerate(TWO_AWAY), *STRAIGHT], [*enumerate(NEIGHBOURS), *STRAIGHT]
THROUGH_MEMORY = [(0, 0), (4, 4)], [(0, 4), (0, 0), (0, 0), (4, 4)], [(0, 7), (0, 0), (0, 0), *STRAIGHT]
LINES = [], [], *SHUFFLED, *THROUGH_MEMORY  # that a step adds, from whose column to whose
ROWS, BARRIERS = (2, 3, 4, 5, 6, 7, 9), (0, 0, 0, 0, 1, 1, 2)  # after each step


def drawing(pieces, step, size=1040, numbers=NUMBERS, part="Infinity", printed=False):  # part: of the step's time
    pieces.load("add_up.js")
    state = json.dumps({"step": step} | {n: str(row)[1:-1] for n, row in zip(("query", "key"), numbers, strict=True)})
    picture = f"picture({state}, () => 0, {{width: {size}, elapsed: {part} * 500}})"
    html = pieces.engine.eval(f"JSON.stringify(modules['lit-html'].text(modules['add_up.js'].default.{picture}))")
    return BeautifulSoup(json.loads(html), "html.parser").select("svg.stage")[printed]


def says(pieces, step: int) -> str:
    drawn = pieces.draw_state("add_up", {"step": str(step)})
    return BeautifulSoup(drawn, "html.parser").select_one(".hb-live__says").text


def held(stage) -> dict[float, list[int]]:
    """From a row's height to its numbers."""
    rows = groupby(stage.select("text.label.strong.middle"), lambda each: each["y"])
    return {float(y): [int(each.text) for each in row] for y, row in rows if float(y) > 31}


@pytest.mark.parametrize("size", [288, 350, 1040])
@pytest.mark.parametrize("numbers", [NUMBERS, ([3, 0, 1, 2, 2, 3, 3, 1], [1, 2, 3, 3, 1, 2, 0, 3])])
@pytest.mark.parametrize("step, shown, printed", [*((step, step, False) for step in range(7)), (0, 6, True)])
def test_each_step_adds_its_numbers_its_lines_and_its_barrier(pieces, step, shown, printed, size, numbers):
    products = [a * b for a, b in zip(*numbers, strict=True)]
    halves = [products[thread] + products[other] for thread, other in enumerate(TWO_AWAY)]
    one, other = sum(products[:4]), sum(products[4:])
    rows = [*numbers, products, halves, [one] * 4 + [other] * 4, [one, other], *([one + other] * n for n in (1, 1, 8))]
    found = held(stage := drawing(pieces, step, size, numbers, printed=printed))
    for line_to_come in stage.select('[opacity="0.25"]'):
        line_to_come.decompose()
    assert [*found.values()] == rows[: ROWS[shown]]
    column = {float(each["x"]): int(each.text) for each in stage.select("text.soft.middle")}
    ends = [re.findall(r"[MLH]([\d.]+)", each["d"]) for each in stage.select("path:not(.ink)")]
    assert sorted(tuple(column[float(x)] for x in each) for each in ends) == sorted(chain(*LINES[: shown + 1]))
    barriers = [float(re.search(r" (\S+)H", each["d"])[1]) for each in stage.select("path.dashes")]
    assert len(barriers) == BARRIERS[shown] == sum("barrier: wait" in each.text for each in stage.select("text.ink"))
    memory_and_readers = zip([*found][5::2], [*found, 999][6::2], strict=False)
    assert all(above + 4 <= y <= below - 16 for y, (above, below) in zip(barriers, memory_and_readers, strict=True))


@pytest.mark.parametrize("step", range(1, 7))
def test_nothing_is_there_before_its_press_and_a_step_goes_from_top_to_bottom(pieces, step):
    before, *during, after = drawing(pieces, step - 1), *(drawing(pieces, step, part=part) for part in (0, 0.5, 1))
    assert during[0].text == before.text and str(during[0]).count("<path") == str(before).count("<path")
    now = [*held(during[1]).values()]
    assert [*held(before).values()] == now[: len(held(before))] and now == [*held(after).values()][: len(now)]
    score = str(sum(a * b for a, b in zip(*NUMBERS, strict=True)))
    assert all((score in words) == (step > 4) for words in (says(pieces, step), drawing(pieces, step)["aria-label"]))


def test_the_last_sentence_counts_what_was_pressed_and_what_a_real_warp_does(pieces):
    within, to, across, back = worked.SUM_STEPS
    real = f"With {worked.WARPS} warps of {worked.LANES} it’s {within} + {across} shuffles, and {to + back} for shared memory."
    assert f"Multiplying took 1 step, adding up {len(LINES) - 2}. {real}" in says(pieces, 6)


@pytest.mark.parametrize("width", [1280, 390, 320])
def test_the_piece_keeps_its_height_and_its_words_inside(open_piece, width):
    piece = open_piece("add_up", width)
    stage, height = piece.locator("svg.stage:visible"), piece.bounding_box()["height"]
    for _ in range(7):
        assert piece.bounding_box()["height"] == height and stage.bounding_box()["height"] <= 330
        assert not stage.evaluate("""(stage) => {
            const all = stage.getBoundingClientRect();
            const words = [...stage.querySelectorAll("text")].map((each) => [each.textContent, each.getBoundingClientRect()]);
            return words.filter(([, a], i) => a.left < all.left - 0.1 || a.right > all.right + 0.1 || words.slice(i + 1)
                .some(([, b]) => a.left < b.right && b.left < a.right && a.top + 4 < b.bottom && b.top + 4 < a.bottom));
        }""")  # fmt: skip
        piece.locator(".hb-live__main").press("Enter")
