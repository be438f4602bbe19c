"""What only the kernel at work does: three programs at once, an open step, a sentence that waits, and a guess."""

import re
from collections import Counter
from itertools import pairwise

import pytest
from bs4 import BeautifulSoup

from scripts.records import ROOT
from tests.site.live.conftest import start_piece
from tests.site.live.test_pieces import MIN_TOUCH_PIXELS, every_width

PAGE = ROOT / "docs" / "chapters" / "first-kernel" / "index.md"
GUESSES = {
    "queries": "Q was a wrong guess",
    "keys": "K, yes. And V just as often",
    "values": "V, yes. And K just as often",
}

# The sentence once a millisecond or so, from the press until the picture rests.
PRESS = """(piece) => new Promise((rested) => {
    const said = [], look = () => {
        const says = piece.querySelector(".hb-live__says");
        said.push([says.textContent.trim(), says.getAttribute("aria-busy")]);
        if (says.getAttribute("aria-busy") === "true") requestAnimationFrame(look);
        else rested(said);
    };
    piece.querySelector(".hb-live__main").click();
    look();
})"""

# A press every 300 ms, until the address is broken; after each, and before the next: the sentence, the button, and when.
THUMB = """async (piece, keyboard) => {
    const seen = [], text = (part) => piece.querySelector(part).textContent.trim();
    const press = (what) => keyboard && !text(".hb-live__main").startsWith("Break")
        ? what.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true })) : what.click();
    const look = () => seen.push([text(".hb-live__says"), text(".hb-live__main"), performance.now()]);
    while (seen.length < 120 && !seen.at(-1)?.[0].startsWith("Now")) {
        press(piece.querySelector(".hb-live__main"));
        look();
        await new Promise((later) => setTimeout(later, 300));
        look();
    }
    return seen;
}"""


def sentence_text(piece) -> str:
    return piece.locator(".hb-live__says").inner_text()


def guess_button(piece, table: str):
    return piece.get_by_role("button", name=re.compile(f"^[QKV] {table}"))


def test_the_captions_are_of_one_line(pieces):
    first_caption, last_caption = re.search(r'caption="(.*?) \| (.*?)"\}\none_head', PAGE.read_text()).groups()
    for caption, end in ((first_caption, "."), (last_caption, "?")):
        assert 40 <= len(caption) <= 85 and caption.endswith(end)


@pytest.mark.parametrize(
    ("step", "benches"), [(0, []), (1, [1]), (4, [5]), (5, [5, 3, 1]), (6, [5, 5, 1]), (7, [5, 5, 5])]
)
def test_each_bench_names_what_it_holds_and_only_that(pieces, step, benches):
    """In the first picture program 0 is done, program 1 holds a key, and program 2 its query."""
    still = BeautifulSoup(pieces.draw_state("one_head", {"step": str(step)}), "html.parser")
    names = re.compile("^(query|key|scores|weights|value|output)$")
    rows = Counter(float(name["y"]) for name in still.select_one("svg.wide").find_all("text", string=names))
    assert [rows[y] for y in sorted(rows)] == benches


def test_the_first_picture_shows_three_programs_and_where_each_is_in_the_code(pieces):
    still = BeautifulSoup(pieces.draw_state("one_head", {}), "html.parser")
    assert [each.text for each in still.select(".hb-live__programs small")] == ["done", "running", "running"]
    places = {step.text.split("#")[-1].strip() for step in still.select(".hb-live__code p:has(b)")}
    assert places == {"Load my query 2", "Score every key 1", "Store my row 0"}
    wires = still.select("svg.wide path.stroke:is(.query, .key):not(.thin)")
    assert len(wires) == 4, "two numbers of a query, two of a key"


@every_width
def test_one_step_is_open_and_nothing_jumps(open_piece, width):
    piece = open_piece("one_head", width, step=0)
    button, heights, opened = piece.locator(".hb-live__main"), set(), []
    for _ in range(6):
        heights.add(piece.locator(".hb-live__code").bounding_box()["height"])
        opened += piece.locator(".hb-live__code .open > p").all_inner_texts()
        assert piece.locator(".hb-live__code > li:visible").count() == (5 if width > 900 or not opened else 1)
        code = piece.locator(".hb-live__code").evaluate(
            "(code) => [code.scrollHeight - code.clientHeight, code.scrollWidth - code.clientWidth]"
        )
        assert code == [0, 0], "a line has no room"
        button.press("Enter")
    assert len(heights) == 1 and len(opened) == len(set(opened)) == 5


def test_before_it_runs_the_kernel_has_only_the_names_of_its_steps(pieces):
    still = lambda step: BeautifulSoup(pieces.draw_state("one_head", {"step": str(step)}), "html.parser")
    lines = [len(still(step).select(".hb-live__code code")) for step in range(3)]
    assert lines == [0, 4, 4] and len(still(0).select(".hb-live__code > li > p")) == 5


def test_where_scores_are_made_it_says_that_nothing_is_divided(pieces):
    assert "Each key came and left a score (not divided by √d)" in pieces.draw_state("one_head", {"step": "2"})


def test_what_is_counted_is_named(open_piece):
    for width in (1280, 390):
        piece = open_piece("one_head", width, step=7)
        drawing = piece.locator("svg.stage:visible")
        label, counts = drawing.get_by_text("a block for"), drawing.locator("text", has_text="×")
        last = counts.locator("visible=true").last.bounding_box()
        assert label.bounding_box()["x"] >= last["x"] + last["width"]
        assert drawing.get_by_text("each load").is_visible()


def test_the_code_is_beside_the_benches_and_on_a_phone_below_the_sentence(open_piece):
    for width in (1280, 390):
        piece = open_piece("one_head", width)
        picture, button, code = (
            piece.locator(f".hb-live__{part}").bounding_box() for part in ("picture", "main", "code")
        )
        assert 0 <= button["y"] - picture["y"] - picture["height"] <= 24
        assert (code["y"] > button["y"]) == (width == 390)
        if width > 390:
            bench = piece.locator("svg.stage:visible path").first.bounding_box()
            assert code["x"] > bench["x"] + bench["width"]


def test_a_sentence_is_said_once_its_picture_rests_and_before_that_what_is_being_done(visit):
    page = visit("live/?one_head.step=0#live-one_head")
    page.emulate_media(reduced_motion="no-preference")
    piece = start_piece(page, "one_head")
    for meanwhile, then in (
        ("Program 0: load my query …", "Query 0 arrives"),
        ("Program 0: score every key …", "Each key came"),
    ):
        *moving, (sentence, busy) = piece.evaluate(PRESS)
        assert len(moving) > 3 and {text for text, _ in moving} == {meanwhile}
        assert sentence.startswith(then) and busy == "false"
    page.emulate_media(reduced_motion="reduce")
    [(sentence, _)] = piece.evaluate(PRESS)
    assert sentence.startswith("Exponentials")


@pytest.mark.parametrize("hand", ["mouse", "keyboard"])
def test_a_quick_thumb_sees_what_each_step_says_and_the_verdict(visit, hand):
    """A press while the picture moves only brings it to its end; the last sentence stands before anything is broken."""
    page = visit("live/?one_head.step=0#live-one_head")
    page.emulate_media(reduced_motion="no-preference")
    piece = start_piece(page, "one_head")
    seen = piece.evaluate(THUMB, hand == "keyboard")
    starts = (
        "Query 0",
        "Each key",
        "Exponentials",
        "Three values",
        "Which table",
        "Its own",
        "[3.67",
        "Now the address",
    )
    assert not [start for start in starts if not any(said.startswith(start) for said, _, _ in seen)]
    start = next(time for said, _, time in seen if said.startswith("[3.67"))
    end = next(time for _, button, time in seen if button.startswith("Break"))
    assert end - start > 700


def test_without_motion_the_verdict_stands_for_a_second_too(open_piece):
    piece = open_piece("one_head", step=6)
    button = piece.locator(".hb-live__main")
    pressed = button.evaluate("(button) => [1, 2, 3].map(() => (button.click(), button.textContent.trim()))")
    assert pressed == ["Run program 2"] * 3 and sentence_text(piece).startswith("[3.67")
    piece.get_by_role("button", name="Break a key’s address").wait_for()


def test_there_is_time_to_read_what_is_only_said_in_the_end(open_piece):
    piece = open_piece("one_head", step=0)
    piece.get_by_role("button", name="Play").click()
    piece.page.wait_for_timeout(2500)
    assert sentence_text(piece).startswith("Query 0 arrives")
    piece.get_by_role("button", name="Pause").click()


def heavy(piece) -> list[str]:
    """The buttons that are filled: what is to be pressed."""
    buttons = piece.locator(".hb-live__guesses button > span, .hb-live__main")
    filled = "(button) => getComputedStyle(button).backgroundColor !== 'rgba(0, 0, 0, 0)' && button.innerText"
    return [text for text in (button.evaluate(filled) for button in buttons.all()) if text]


@pytest.mark.parametrize("hand", ["mouse", "touch", "keyboard"])
@pytest.mark.parametrize("table", GUESSES)
def test_the_guess_comes_first_stays_marked_and_the_end_says_whether_it_was_right(visit, hand, table):
    tab = visit.tab("light", 390, touch=True) if hand == "touch" else visit.tab("light", 1280)
    page = visit.go(tab, "live/#live-one_head")
    page.emulate_media(reduced_motion="reduce")
    piece = start_piece(page, "one_head")
    button = guess_button(piece, table)
    box, letter = button.bounding_box(), button.locator("b").inner_text()
    assert min(box["width"], box["height"]) >= MIN_TOUCH_PIXELS
    assert heavy(piece) == ["Q queries", "K keys", "V values"]
    assert sentence_text(piece).endswith("Guess: press Q, K or V.")
    {"mouse": button.click, "touch": button.tap, "keyboard": lambda: button.press("Space")}[hand]()
    page.mouse.move(0, 0)
    assert heavy(piece) == [f"{letter} {table}", "Run program 1"]
    assert sentence_text(piece).startswith(f"Noted: {letter}.")
    button.press("End")
    assert sentence_text(piece).startswith(GUESSES[table]) and heavy(piece) == [f"{letter} {table}"]
    assert button.evaluate("(button) => button === document.activeElement")
    other = guess_button(piece, next(each for each in GUESSES if each != table))
    assert other.get_attribute("aria-disabled") == "true"
    other.click(force=True)
    assert heavy(piece) == [f"{letter} {table}"], "a guess after the end is none"


def test_a_second_guess_takes_the_place_of_the_first(open_piece):
    piece = open_piece("one_head")
    for table, letter in (("values", "V"), ("queries", "Q")):
        guess_button(piece, table).click()
        assert sentence_text(piece).startswith(f"Noted: {letter}.")
    piece.locator(".hb-live__main").press("End")
    assert sentence_text(piece).startswith(GUESSES["queries"])


@every_width
def test_the_name_of_a_table_is_on_its_highest_pile(open_piece, width):
    """So it rises with what is loaded, and touches neither its blocks nor, in the end, what is counted."""
    tops = []
    for step in range(8):
        piece = open_piece("one_head", width, step=step)
        tops.append([guess_button(piece, each).locator("span").bounding_box()["y"] for each in GUESSES])
    floor = tops[0][0] - tops[1][0]
    loaded = [[round((tops[0][0] - top) / floor, 1) for top in each] for each in tops]
    assert loaded == [[0, 0, 0], [1, 0, 0], [1, 1, 0], [1, 1, 0], [1, 1, 1], [1, 2, 1], [1, 2, 2], [2.1, 4.1, 4.1]]


def test_a_guess_while_the_last_program_runs_has_its_verdict(visit):
    page = visit("live/?one_head.step=6#live-one_head")
    page.emulate_media(reduced_motion="no-preference")
    piece = start_piece(page, "one_head")
    piece.evaluate(
        """(piece) => {
            piece.querySelector(".hb-live__main").click();
            piece.querySelector(".hb-live__guesses button").click();
        }"""
    )
    assert sentence_text(piece).startswith("Q was a wrong guess")


@pytest.mark.parametrize(("program", "says"), [(0, "Three programs"), (1, "Its own row"), (2, "[3.67")])
def test_a_click_on_a_program_runs_it_to_its_end_or_takes_it_back(open_piece, program, says):
    piece = open_piece("one_head")
    piece.get_by_role("button", name=re.compile(f"^program {program}")).click()
    assert sentence_text(piece).startswith(says)


def test_nobody_has_to_guess_and_a_broken_address_asks_something_else(open_piece):
    piece = open_piece("one_head", step=7)
    assert sentence_text(piece).startswith("[3.67, 6.33] is the last row")
    piece.get_by_role("button", name="Break a key’s address").click()
    assert guess_button(piece, "keys").get_attribute("aria-disabled") == "true"
    assert sentence_text(piece).endswith("Which keys will the programs read?")
    broken = open_piece("one_head", wrong="true", step=5)
    assert heavy(broken) == ["Run program 1"] and "it should be [6.33, 3.67]" in sentence_text(broken)


def test_a_broken_address_is_struck_through_where_the_code_opens(open_piece):
    piece = open_piece("one_head", wrong="true", step=0)
    assert piece.locator(".hb-live__code .open > p").inner_text() == "# Score every key"
    assert piece.locator(".hb-live__code .now del").inner_text().strip() == "* HEAD_DIM"


def test_each_block_has_the_number_of_its_program_whichever_address(pieces):
    for wrong in ("false", "true"):
        still = BeautifulSoup(pieces.draw_state("one_head", {"step": "7", "wrong": wrong}), "html.parser")
        blocks = [text for text in still.select("svg.wide text.small.middle") if text.text.strip() in {"0", "1", "2"}]
        assert len(blocks) == 3 + 9 + 9


@every_width
def test_no_head_of_a_column_touches_the_next(open_piece, width):
    piece = open_piece("one_head", width, step=4)
    names = [
        piece.locator("svg.stage:visible text.small.middle").get_by_text(name, exact=True).bounding_box()
        for name in ("query", "key", "weights", "value", "output")
    ]
    assert all(other["x"] - one["x"] - one["width"] >= 6 for one, other in pairwise(names))


def test_paper_has_the_picture_alone_with_the_names_of_its_tables_apart(open_piece):
    piece = open_piece("one_head", step=0)
    piece.page.emulate_media(media="print")
    assert not piece.locator(":is(.hb-live__code, .hb-live__guesses, button):visible").count()
    names = [
        piece.locator("svg.printed text", has_text=name).bounding_box() for name in ("Q queries", "K keys", "V values")
    ]
    assert all(one["x"] + one["width"] + 20 < other["x"] for one, other in pairwise(names))
    edges = piece.locator("svg.printed path.thin:not(.dashes):is(.query, .key)").evaluate_all(
        "(paths) => paths.map((path) => path.getBBox()).filter(({ y }) => y < 120).map(({ x, width }) => [x, x + width])"
    )
    assert edges[3][0] - edges[2][1] > 20, "the tables touch"
    piece.page.emulate_media(media="screen")
