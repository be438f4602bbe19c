"""A loop and a launch: each query once, no two programs on an SM at once, and nothing before the press."""

import json
from itertools import pairwise

import pytest
from bs4 import BeautifulSoup

every_count = pytest.mark.parametrize("sms, turns", [(1, 6), (2, 3), (3, 2), (4, 2), (5, 2), (6, 1)])


def drawing(pieces, sms: int, step: int, turns=float("inf"), size: int = 1040, printed: bool = False):  # turns: passed
    pieces.load("launch.js")
    elapsed = f"modules['launch.js'].default.duration() / 6 * {turns}".replace("inf", "Infinity")
    picture = f"picture({{sms: {sms}, step: {step}}}, () => 0, {{width: {size}, elapsed: {elapsed}}})"
    html = pieces.engine.eval(f"JSON.stringify(modules['lit-html'].text(modules['launch.js'].default.{picture}))")
    return BeautifulSoup(json.loads(html), "html.parser").select("svg.stage")[printed]


def blocks(stage, look: str) -> dict[str, tuple[float, float, float]]:
    """From the number on a block to its start and its end, in turns, and its lane."""
    left, turn = (float(stage.rect[side]) / (1 if side == "x" else 6) for side in ("x", "width"))
    middles = {(float(each["x"]), float(each["y"])): each.text for each in stage.select("text.middle.strong")}
    boxes = [[float(block[side]) for side in ("x", "width", "y")] for block in stage.select(f"rect.{look}")]
    on = lambda x, y: next(text for (a, b), text in middles.items() if x < a < x + turn and y < b < y + 24)
    found = {on(x, y): ((x - left) / turn, (x + wide - left) / turn, y) for x, wide, y in boxes}
    assert len(found) == len(boxes), "a query has two blocks"
    return found


@every_count
@pytest.mark.parametrize("step, size, printed", [(1, 350, False), (2, 1040, False), (0, 350, True), (3, 640, True)])
def test_each_query_has_a_turn_on_an_sm_and_the_launch_is_done_with_the_last(pieces, sms, turns, step, size, printed):
    stage = drawing(pieces, sms, step, size=size, printed=printed)
    loop, programs = (blocks(stage, look) for look in ("ink:not(.program)", "program"))
    assert [loop[query][0] for query in sorted(programs)] == pytest.approx(range(6), abs=0.01)
    assert [end - start for start, end, _ in [*loop.values(), *programs.values()]] == pytest.approx([1] * 12, abs=0.03)
    assert len({(round(start), lane) for start, _, lane in programs.values()}) == 6, "two on one SM at once"
    assert len({lane for *_, lane in programs.values()}) == sms
    assert max(programs.values(), key=lambda each: each[1])[1] == pytest.approx(turns, abs=0.03)
    assert f"done after {turns} turn" in stage.text and len(stage.select(".knob")) == 1 - printed


@every_count
def test_nothing_is_given_away_before_it_happens(pieces, sms, turns):
    assert not drawing(pieces, sms, 0).select("rect.ink") and "after" not in str(drawing(pieces, sms, 0))
    assert all(float(bar["width"]) >= 0 for bar in drawing(pieces, sms, 1, 0.001, size=350).select("rect"))
    for now in (0.6, turns - 0.3, 5.7):
        stage = drawing(pieces, sms, 1, now)
        assert ("after" in stage.text) == (now >= turns) and "after" not in stage["aria-label"]
        ends = [max(end for _, end, _ in blocks(stage, look).values()) for look in ("ink:not(.program)", "program")]
        assert ends == pytest.approx([now, min(now, turns)], abs=0.03)


@pytest.mark.parametrize("sms", range(1, 7))
def test_the_first_launch_is_in_order_and_each_has_another_than_the_one_before(pieces, sms):
    dealt = [blocks(drawing(pieces, sms, step), "program") for step in range(1, 7)]
    orders = [sorted(each, key=lambda query: (round(each[query][0]), each[query][2])) for each in dealt]
    assert orders[0] == [*"012345"] and all(one != other for one, other in pairwise(orders))


@pytest.mark.parametrize("width", [1280, 390, 320])
def test_the_piece_keeps_its_height_and_its_words_inside(open_piece, width):
    piece = open_piece("launch", width)
    stage, height = piece.locator("svg.stage:visible"), piece.bounding_box()["height"]
    told = piece.page.locator("#live-launch[data-done]")
    assert not told.count(), "the caption waits for the press"
    for change in [*"123456", "", *"123456", "", *"123456"]:
        piece.get_by_role("slider").fill(change) if change else piece.locator(".hb-live__main").press("Enter")
        assert piece.bounding_box()["height"] == height and stage.bounding_box()["height"] <= 260
        edges = "(words) => words.map((each) => each.getBoundingClientRect()).flatMap((box) => [box.left, box.right])"
        left, right = (stage.evaluate(f"(stage) => stage.getBoundingClientRect().{side}") for side in ("left", "right"))
        assert all(left - 0.1 <= edge <= right + 0.1 for edge in stage.locator("text").evaluate_all(edges))
    assert told.count()
