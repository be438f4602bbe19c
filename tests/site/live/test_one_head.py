"""What only the kernel at work does: a walk line by line, two runs, and code beside the bench."""

import re
from itertools import pairwise

import pytest
from bs4 import BeautifulSoup

from tests.site.live.conftest import start_piece, words_outside
from tests.site.live.test_pieces import every_width

# Whether anything filled in the drawing reaches into the listing, and where all that is filled is.
FILLED = """(piece) => {
    const box = (part) => part.getBoundingClientRect();
    const code = [...piece.querySelectorAll(".hb-live__code p, .hb-live__code li li")].map(box);
    const filled = [...piece.querySelectorAll("svg.stage:not(.printed) rect")].map(box);
    const covers = (a, b) => a.right > b.left && a.left < b.right && a.bottom > b.top && a.top < b.bottom;
    return [JSON.stringify(filled), filled.some((a) => code.some((b) => covers(a, b)))];
}"""
LINES, WRONG_LINES = 15, 17  # presses of program 0; then the two others


def after_press(piece, look):
    """What ``look`` sees in the four seconds after a press, by a clock that waits for each look."""
    piece.locator(".hb-live__main").click()
    seen = [look()]
    for _ in range(100):
        piece.page.clock.run_for(40)
        seen.append(look())
    return seen


def sentence_text(piece) -> str:
    return piece.locator(".hb-live__says").inner_text()


@pytest.mark.parametrize(("wrong", "rows", "loads"), [("false", 0, [1, 3]), ("true", 3, [1, 6, 3, 0])])
def test_in_the_end_it_counts_what_was_loaded_and_strikes_what_is_wrong(pieces, wrong, rows, loads):
    """Rows of the output that are struck through, and how often a query, key or value was loaded."""
    last = 2 + (WRONG_LINES if wrong == "true" else LINES)
    still = BeautifulSoup(pieces.draw_state("one_head", {"step": str(last), "wrong": wrong}), "html.parser")
    counted = [
        int(text.text[:-1]) for text in still.select("svg.wide text.middle.strong.ink") if text.text.endswith("×")
    ]
    assert list(dict.fromkeys(counted)) == loads and len(counted) == 9
    assert counted[3:6] == ([6, 3, 0] if rows else [3, 3, 3])  # of the keys
    assert len(still.select("svg.wide text.wrong")) == 2 * rows


@pytest.mark.parametrize(
    ("step", "held", "done"),
    [(0, 0, 0), (2, 1, 0), (5, 3, 0), (12, 5, 0), (14, 5, 0), (15, 5, 1), (16, 5, 2), (17, 5, 3)],
)
def test_the_bench_of_the_last_program_names_what_it_holds_and_all_that_are_done_are_pale(pieces, step, held, done):
    still = BeautifulSoup(pieces.draw_state("one_head", {"step": str(step)}), "html.parser")
    names = re.compile("^(query|key|scores|weights|value|output)$")
    assert len(still.select_one("svg.wide").find_all("text", string=names)) == held
    pale = [each for each in still.select("svg.wide g[opacity='0.4']") if each.select("rect.ink")]
    assert [len(bench.find_all("text", string=names)) for bench in pale] == [0, 0, 5][3 - done :]
    stored = [["6.33", "3.67"], ["5", "5"], ["3.67", "6.33"]]
    assert all(
        row == [each.text for each in bench.select("text.ink")][-6:-4]
        for row, bench in zip(stored, pale[:-1], strict=False)
    )
    assert len(still.select_one("svg.printed").find_all("text", string=names)) == 3 * 5, "paper keeps it"


@pytest.mark.parametrize(("step", "forgotten"), [(7, 0), (8, 2), (14, 2)])
def test_query_and_key_are_pale_once_the_row_is_whole_and_nothing_says_that_they_make_exponentials(
    pieces, step, forgotten
):
    still = BeautifulSoup(pieces.draw_state("one_head", {"step": str(step)}), "html.parser")
    names = {each.text for each in still.select("svg.wide text[opacity='0.4']")}
    signs = [each.text for each in still.select("svg.wide text.middle.soft")]
    assert names == ({"query", "key"} if forgotten else set())
    assert signs.count("·") == (0 if forgotten else 1)


@pytest.mark.parametrize(("step", "tinted"), [(4, 0), (5, 4), (6, 4), (11, 0)])
def test_a_row_that_is_made_anew_is_tinted_at_all_its_places(pieces, step, tinted):
    still = BeautifulSoup(pieces.draw_state("one_head", {"step": str(step)}), "html.parser")
    grounds = still.select("svg.wide rect.rose-fill[opacity='0.2']")
    assert len(grounds) == tinted and len({ground["height"] for ground in grounds}) <= 1


def test_the_walk_begins_before_anything_runs_and_says_where_each_program_is(pieces):
    def status(step):
        still = BeautifulSoup(pieces.draw_state("one_head", {"step": str(step)}), "html.parser")
        return [each.text for each in still.select(".hb-live__programs small")]

    assert status(0) == ["waiting"] * 3
    assert status(1) == ["running", "waiting", "waiting"]
    assert status(LINES) == ["done", "waiting", "waiting"]
    assert status(LINES + 2) == ["done"] * 3


@every_width
def test_one_step_is_open_and_nothing_jumps(open_piece, width):
    piece = open_piece("one_head", width, step=0)
    button, heights, opened = piece.locator(".hb-live__main"), set(), []
    for _ in range(LINES + 1):
        heights.add(piece.locator(".hb-live__code").bounding_box()["height"])
        opened += piece.locator(".hb-live__code .open > p").all_inner_texts()
        assert piece.locator(".hb-live__code > li:visible").count() == (5 if width > 900 or not opened else 1)
        code = piece.locator(".hb-live__code").evaluate(
            "(code) => [code.scrollHeight - code.clientHeight, code.scrollWidth - code.clientWidth]"
        )
        assert code == [0, 0], "a line has no room"
        button.press("Enter")
    steps = [opened[0], *(other for one, other in pairwise(opened) if one != other)]
    assert len(heights) == 1 and len(steps) == len(set(steps)) == 5


def test_a_line_that_loads_has_one_line_beside_the_benches(open_piece):
    for step in (2, 4, 11):
        now = open_piece("one_head", 1440, step=step).locator(".hb-live__code .now").last
        assert "tl.load" in now.inner_text() and now.bounding_box()["height"] == 20


def test_before_it_runs_the_kernel_has_only_the_names_of_its_steps(pieces):
    still = lambda step: BeautifulSoup(pieces.draw_state("one_head", {"step": str(step)}), "html.parser")
    lines = [len(still(step).select(".hb-live__code code")) for step in (0, 1, 4)]
    assert lines == [0, 4, 5] and len(still(0).select(".hb-live__code > li > p")) == 5


def test_the_code_is_beside_the_benches_and_on_a_phone_between_picture_and_button(open_piece):
    for width in (1280, 390):
        piece = open_piece("one_head", width, step=5)
        picture, button, code, line, switch = piece.evaluate(  # at one moment: the page may still move to the piece
            "(piece) => ['picture', 'main', 'code', 'code .open > p', 'tick'].map((part) => piece.querySelector(`.hb-live__${part}`))"
            ".map((part) => part.getBoundingClientRect().toJSON())"
        )
        end = picture["y"] + picture["height"]
        if width == 390:
            assert end <= code["y"] <= end + 24
            end = code["y"] + code["height"]
        assert 0 <= button["y"] - end <= 24
        assert switch["height"] >= 44 and abs(switch["x"] + switch["width"] - code["x"] - code["width"]) < 1
        if width > 390:
            bench = piece.locator("svg.stage:visible path").first.bounding_box()
            assert code["x"] > bench["x"] + bench["width"]
        else:
            assert switch["y"] < line["y"] + line["height"] / 2 < switch["y"] + switch["height"]


@pytest.fixture
def moving_piece(visit):
    """Opens the piece at a step with motion on, whose clock stands still until it's told to run."""

    def open_at(step):
        page = visit(f"live/?one_head.step={step}#live-one_head", width=1440)
        page.emulate_media(reduced_motion="no-preference")
        piece = start_piece(page, "one_head")
        page.clock.install()
        page.clock.pause_at(page.evaluate("Date.now()") + 1000)
        return piece

    return open_at


def test_a_line_says_at_once_what_it_does_and_a_whole_program_when_its_picture_rests(moving_piece):
    piece = moving_piece(LINES - 1)
    look = lambda: sentence_text(piece)
    [sentence] = set(after_press(piece, look))
    assert sentence.startswith("[6.33, 3.67] goes out")
    says = after_press(piece, look)
    moving = says.count("The same lines run, with a query of its own.")
    assert moving > 3 and len(set(says[:moving])) == 1
    [sentence] = set(says[moving:])
    assert sentence.startswith("Its own row")
    piece.page.emulate_media(reduced_motion="reduce")
    [sentence] = set(after_press(piece, look))
    assert sentence.startswith("[3.67")


@pytest.mark.parametrize(
    ("step", "sentences"),
    [
        (8, ["Divide by their sum", "The output starts"]),
        (12, ["The loop’s lines run again.", "Value 1 is added", "The loop’s lines run again."]),
        (LINES - 1, ["[6.33, 3.67] goes out", "The same lines run", "Its own row"]),
    ],
)
def test_a_quick_press_goes_on_and_what_has_more_lines_is_brought_to_its_end(moving_piece, step, sentences):
    piece = moving_piece(step)
    for sentence in sentences:
        piece.locator(".hb-live__main").click()
        piece.page.clock.run_for(40)
        assert sentence_text(piece).startswith(sentence)


@pytest.mark.parametrize("step", [1, 3, 12, LINES - 1, LINES])
def test_what_flies_never_covers_the_code(moving_piece, step):
    piece = moving_piece(step)
    positions, covered = zip(*after_press(piece, lambda: piece.evaluate(FILLED)), strict=True)
    assert len(set(positions)) > 5 and not any(covered)


def test_picture_and_control_have_one_right_edge(open_piece):
    piece = open_piece("one_head", 1440, step=5)
    edges = [piece.locator(f".hb-live__{part}").bounding_box() for part in ("machine", "bar", "code")]
    assert len({round(box["x"] + box["width"]) for box in edges}) == 1


def test_there_is_time_to_read_what_is_only_said_in_the_end(open_piece):
    piece = open_piece("one_head", step=0)
    piece.get_by_role("button", name="Play").click()
    piece.page.wait_for_timeout(2500)
    assert sentence_text(piece).startswith("I’m program 0")
    piece.get_by_role("button", name="Pause").click()


@pytest.mark.parametrize("size", ["narrow", "wide"])
def test_the_names_of_all_tables_stay_on_one_line_above_the_highest_pile(pieces, size):
    tops = set()
    for step in (0, 2, 4, 11, 16, 17):
        stage = BeautifulSoup(pieces.draw_state("one_head", {"step": str(step)}), "html.parser").select_one(
            f"svg.{size}"
        )
        names = [name for name in stage.find_all("text", class_="cell") if name.text[1:2] == " "]
        assert [name.text for name in names] == ["Q queries", "K keys", "V values", "O output"]
        tops |= {float(name["y"]) for name in names}
        counts = [float(each["y"]) for each in stage.find_all("text", string=re.compile(r"^\d×$"))]
        assert len(counts) == (9 if step == 17 else 0) and all(y - 14 >= min(tops) for y in counts)
    assert len(tops) == 1


@pytest.mark.parametrize("width", [1440, 1280, 768])
@pytest.mark.parametrize("step", [2, 4, 11, LINES])
def test_an_arrow_goes_around_all_words_and_has_straight_sides(open_piece, width, step):
    piece = open_piece("one_head", width, step=step)
    crossed = piece.locator("svg.stage:visible").evaluate("""(stage) => {
        const texts = [...stage.querySelectorAll("text")].map((part) => [part.textContent, part.getBBox()]);
        const wires = [...stage.querySelectorAll("path")].filter((path) => path.getAttribute("d").includes("H") && path.getBBox().height > 20);
        const points = wires.flatMap((wire) => Array.from({ length: 400 }, (_, i) => wire.getPointAtLength((i * wire.getTotalLength()) / 400)));
        return [wires.length, wires.some((wire) => /[CQ]/.test(wire.getAttribute("d"))), texts.filter(([, { x, y, width, height }]) =>
            points.some((at) => at.x > x && at.x < x + width && at.y > y + 3 && at.y < y + height - 3)).map(([text]) => text)];
    }""")  # fmt: skip
    assert crossed == [0 if step == LINES else 2, False, []]


# Where the benches end, the programs' buttons, and how many signs touch a number.
BENCHES = """(piece) => {
    const all = (what) => [...piece.querySelectorAll(what)].filter((part) => part.checkVisibility());
    const box = (part) => part.getBoundingClientRect();
    const [stage] = all("svg.stage");
    const signs = all("svg.stage text").filter((text) => "·→×".includes(text.textContent)).map(box);
    const cells = all("svg.stage rect").map(box);
    return [
        [...stage.children].filter((part) => part.matches("path.line, path.ink:not(.thin)")).map((shelf) => box(shelf).bottom),
        all(".hb-live__programs button").map(box).map(({ top, bottom }) => [top, bottom]),
        signs.filter((a) => cells.some((b) => a.right > b.left - 1 && a.left < b.right + 1 && a.bottom > b.top && a.top < b.bottom)).length,
    ];
}"""


@pytest.mark.parametrize("width", [1440, 900, 700, 390, 320])
@pytest.mark.parametrize(("step", "runs"), [(0, 0), (5, 0), (LINES, 0), (LINES + 1, 1), (LINES + 2, 2)])
def test_the_program_that_runs_has_the_large_bench_and_the_others_thin_ones(open_piece, width, step, runs):
    piece = open_piece("one_head", width, step=step)
    shelves, buttons, touching = piece.evaluate(BENCHES)
    high = [after - before for before, after in pairwise(shelves)]
    assert all((height > 120) == (i == runs) and height >= 44 for i, height in enumerate(high, 1))
    assert all(shelf - 46 <= top for i, (shelf, (top, _)) in enumerate(zip(shelves, buttons, strict=True)) if i != runs)
    assert all(bottom <= shelf + 4 for shelf, (_, bottom) in zip(shelves, buttons, strict=True))
    assert all(one[1] <= other[0] for one, other in pairwise(buttons)), "one button covers another"
    assert not touching and not words_outside(piece)


@pytest.mark.parametrize(("program", "says"), [(0, "[6.33, 3.67] goes"), (1, "Its own row"), (2, "[3.67")])
def test_a_click_on_a_program_runs_it_to_its_end_and_another_takes_it_back(open_piece, program, says):
    piece = open_piece("one_head")
    button = piece.get_by_role("button", name=re.compile(f"^program {program}"))
    button.click()
    assert sentence_text(piece).startswith(says)
    button.click()
    assert button.locator("small").inner_text() == "waiting"


def test_a_second_click_brings_a_program_that_runs_to_its_end(moving_piece):
    piece = moving_piece(LINES)
    button = piece.get_by_role("button", name=re.compile("^program 1"))
    for says in ("The same lines run", "Its own row"):
        button.click()
        piece.page.clock.run_for(40)
        assert sentence_text(piece).startswith(says)


def test_a_switch_in_sight_breaks_the_address_and_the_walk_begins_anew(open_piece):
    piece = open_piece("one_head", step=LINES + 2)
    button = piece.locator(".hb-live__main")
    assert button.inner_text() == "Forget * HEAD_DIM"
    button.click()
    assert piece.get_by_label("forget * HEAD_DIM").is_checked()
    piece.get_by_label("forget * HEAD_DIM").uncheck()
    assert button.inner_text() == "Next line"
    piece.get_by_label("forget * HEAD_DIM").check()
    assert sentence_text(piece).endswith("What will be read for key 1?")
    piece.locator(".hb-live__main").click()
    assert sentence_text(piece).startswith("Key 1 should be [0, 1]. We read [0, 0]")


def test_a_broken_address_is_struck_through_where_the_code_opens(open_piece):
    piece = open_piece("one_head", wrong="true", step=0)
    assert piece.locator(".hb-live__code .open > p").inner_text() == "# Score every key"
    assert piece.locator(".hb-live__code .now del").inner_text().strip() == "* HEAD_DIM"


@pytest.mark.parametrize(("wrong", "step", "keys"), [("false", 4, 1), ("true", 6, 2)])
def test_the_numbers_that_were_read_are_marked_even_across_two_keys(pieces, wrong, step, keys):
    still = BeautifulSoup(pieces.draw_state("one_head", {"step": str(step), "wrong": wrong}), "html.parser")
    marked = [(text["x"], float(text["y"])) for text in still.select("svg.wide text.paper.strong")]
    read = [x for x, y in marked if y < 150]  # in memory
    assert len(read) == 2 and len(set(read)) == keys


def test_paper_has_the_picture_alone_with_the_names_of_its_tables_apart(open_piece):
    piece = open_piece("one_head", step=0)
    piece.page.emulate_media(media="print")
    assert not piece.locator(":is(.hb-live__code, button):visible").count()
    names = [
        piece.locator("svg.printed text", has_text=name).bounding_box() for name in ("Q queries", "K keys", "V values")
    ]
    assert all(one["x"] + one["width"] + 20 < other["x"] for one, other in pairwise(names))
    edges = piece.locator("svg.printed path.thin:not(.dashes):is(.query, .key)").evaluate_all(
        "(paths) => paths.map((path) => path.getBBox()).filter(({ y }) => y < 120).map(({ x, width }) => [x, x + width])"
    )
    assert edges[3][0] - edges[2][1] > 20, "the tables touch"
    piece.page.emulate_media(media="screen")
