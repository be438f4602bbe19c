"""The presenter of a sheet: its screens, its clocks, its keys, its shorter versions and the projector's window."""

import re
import time

import pytest
from playwright.sync_api import Page, expect

from scripts.records import ROOT
from scripts.site.pages import sheets

NAME = "online-softmax"
STEPS = sheets.steps(sheets.sheet_pages(ROOT)[NAME].read_text(encoding="utf-8"))
POLL = int(re.search(r"poll after step (\d+)", sheets.sheet_pages(ROOT)[NAME].read_text(encoding="utf-8"))[1])
TITLES = [step.drawing.split("**")[1] for step in STEPS]


FOCUS = "document.activeElement.localName"


@pytest.fixture
def presenter(request, visit):
    page: Page = visit.tab("light", 1280)
    page.clock.install()  # before the page's scripts: what they began on another clock they could not cancel on this
    visit.go(page, f"chapters/{getattr(request, 'param', NAME)}/sheet/")
    page.get_by_role("button", name="Present", exact=True).click()
    return page.locator("dialog.hb-presenter")


def words_of(step: sheets.Step) -> str:
    """Some words of a step's speech without punctuation."""
    return re.search(r"[A-Za-z, ]{25,}", step.speech)[0].strip()


def press_keys(presenter, *keys: str) -> None:
    for key in keys:
        presenter.page.keyboard.press(key)


def clock_texts(presenter) -> tuple[str, str]:
    return tuple(presenter.locator(f".hb-presenter__{name}").text_content() for name in ("step", "whole"))


def clock_seconds(clock: str) -> int:
    """The seconds that a clock shows, negative if it has a minus."""
    minutes, rest = clock.removeprefix("−").split(":")  # noqa: RUF001
    return (60 * int(minutes) + int(rest)) * (1 if clock[0].isdigit() else -1)


def step_title(presenter) -> str:
    return presenter.locator(".hb-presenter__where").text_content().partition(" · ")[2]


def test_the_arrows_lead_through_every_step_and_the_polls_behind_their_steps(presenter):
    titles = [step_title(presenter)]
    for _ in range(len(STEPS) + 1):
        press_keys(presenter, "ArrowRight")
        titles.append(step_title(presenter))
    assert list(dict.fromkeys(titles)) == TITLES and len(titles) == len(TITLES) + 2
    press_keys(presenter, "ArrowRight")
    assert step_title(presenter) == TITLES[-1]  # the last screen stays
    press_keys(presenter, "ArrowLeft", "ArrowLeft")
    assert step_title(presenter) == TITLES[-3]


def test_a_step_has_its_picture_its_sentence_its_speech_and_what_comes_next(presenter):
    image = presenter.locator(".hb-presenter__stage img")
    assert image.get_attribute("src").endswith(f"/assets/boards/{NAME}/1-ask.svg")
    expect(presenter.locator(".hb-presenter__say blockquote")).to_be_visible()
    assert words_of(STEPS[0]) in presenter.locator(".hb-presenter__notes").inner_text()
    figure = presenter.get_by_role("link", name="Figure").first
    assert figure.get_attribute("target") == "_blank"  # the lesson goes on in this tab
    assert presenter.locator(".hb-presenter__next").text_content() == f"Next: {TITLES[1]}"


def test_the_clocks_stand_until_they_are_started_and_then_count_down(presenter):
    whole = sum(step.minutes[0] for step in STEPS)
    assert clock_texts(presenter) == (f"{STEPS[0].minutes[0]}:00", f"{whole}:00")
    presenter.page.clock.run_for(5000)
    assert clock_texts(presenter)[1] == f"{whole}:00"
    press_keys(presenter, " ")
    presenter.page.clock.run_for(61_500)  # and what the test itself takes, which may be seconds
    step, left = clock_texts(presenter)
    assert step.startswith(f"{STEPS[0].minutes[0] - 2}:5") and left.startswith(f"{whole - 2}:5")
    press_keys(presenter, " ")
    paused = clock_texts(presenter)
    presenter.page.clock.run_for(60_000)
    assert clock_texts(presenter) == paused


def test_a_step_that_takes_too_long_counts_on_below_zero_and_says_how_late_it_is(presenter):
    start = time.monotonic()
    press_keys(presenter, " ")
    presenter.page.clock.run_for((STEPS[0].minutes[0] + 3) * 60_000 + 500)
    shown = clock_texts(presenter)[0]
    took = time.monotonic() - start  # which the page's own clock may have gone on for
    assert -181.5 - took < clock_seconds(shown) <= -180
    assert presenter.locator(".hb-presenter__late").text_content() == "3 min behind"


def test_cut_to_twenty_minutes_it_has_the_steps_and_minutes_of_that_version_and_no_poll(presenter):
    presenter.get_by_label("Lesson of").select_option("20")
    presenter.locator(".hb-presenter__where").click()
    press_keys(presenter, " ", " ")  # started, and stopped again
    expected = [(name, step.minutes[20]) for name, step in zip(TITLES, STEPS, strict=True) if 20 in step.minutes]
    seen = {}
    for _ in range(2 * len(expected)):
        assert not presenter.locator(".hb-poll__answer").count()
        seen.setdefault(step_title(presenter), clock_texts(presenter)[0])
        press_keys(presenter, "ArrowRight")
    assert list(seen.items()) == [(name, f"{minutes}:00") for name, minutes in expected]
    assert clock_texts(presenter)[1] == "20:00"
    number = len(expected)
    assert presenter.locator(".hb-presenter__where").text_content().startswith(f"{number} of {number} · ")


def test_the_first_step_on_starts_the_clocks_and_a_later_one_does_not(presenter):
    late, start = presenter.locator(".hb-presenter__late"), presenter.locator("[data-does=pause]")
    assert (late.text_content(), start.text_content()) == ("not started", "Start")
    begun = time.monotonic()
    press_keys(presenter, "ArrowRight")
    assert late.text_content() != "not started" and start.text_content() == "Pause"
    presenter.page.clock.run_for(61_500)
    left = clock_texts(presenter)[1]
    took = time.monotonic() - begun  # which the page's own clock may have gone on for
    whole = 60 * sum(step.minutes[0] for step in STEPS)
    assert whole - 62.5 - took < clock_seconds(left) <= whole - 61
    press_keys(presenter, " ", "ArrowRight")
    assert start.text_content() == "Start"


def test_the_answer_comes_at_a_key_press(presenter):
    press_keys(presenter, *["ArrowRight"] * (POLL - 1))
    image, button = presenter.locator(".hb-presenter__stage img"), presenter.locator("[data-does=answer]")
    of_all = len(sheets.draw_board(NAME.replace("-", "_")).answer_numbers(POLL))
    assert image.get_attribute("src").endswith(f"/{POLL}-ask.svg") and button.inner_text() == f"Draw on a 0/{of_all}"
    for answers in range(1, of_all):
        press_keys(presenter, "a")  # one more at each press
        assert image.get_attribute("src").endswith(f"/{POLL}-ask{answers}.svg")
        assert button.inner_text() == f"Draw on a {answers}/{of_all}" and button.is_enabled()
    press_keys(presenter, "a", "a")  # and at the end nothing is taken back
    assert image.get_attribute("src").endswith(f"/{POLL}.svg")
    assert button.inner_text() == f"Draw on a {of_all}/{of_all}" and button.is_disabled()
    press_keys(presenter, "ArrowRight")  # the poll behind the step
    why = presenter.locator(".hb-poll__why").first
    assert presenter.locator(".hb-poll__answer").count() >= 3 and not why.is_visible()
    assert button.inner_text() == "Answers a"
    press_keys(presenter, "a")
    assert why.is_visible() and button.is_disabled()


MARKED = [
    name for name, page in sheets.sheet_pages(ROOT).items() if "\n**draw** *[" in page.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("name", MARKED)
def test_a_sheet_that_marks_what_is_drawn_marks_it_for_every_answer_of_its_board(name):
    board = sheets.draw_board(name.replace("-", "_"))
    marked = [
        step.speech.count("**draw** *[") for step in sheets.steps(sheets.sheet_pages(ROOT)[name].read_text("utf-8"))
    ]
    assert marked == [len(board.answer_numbers(step)) for step in range(1, board.steps + 1)]


@pytest.mark.parametrize("presenter", MARKED, indirect=True)
def test_the_notes_go_on_from_the_line_that_a_key_press_draws(presenter):
    presenter.page.set_viewport_size({"width": 1366, "height": 768})
    notes = presenter.locator("aside")
    for _ in range(4):
        press_keys(presenter, "ArrowRight")
    while not presenter.locator(".hb-draw").count():
        press_keys(presenter, "ArrowRight")
    for line in presenter.locator(".hb-draw").all():
        press_keys(presenter, "a")
        below = line.bounding_box()["y"] - notes.bounding_box()["y"]
        at_end = notes.evaluate("(notes) => notes.scrollHeight - notes.clientHeight - notes.scrollTop < 1")
        assert abs(below) < 2 or (at_end and below > 0)
    assert notes.evaluate(SCROLLED) > 0


@pytest.mark.parametrize("presenter", ["first-kernel"], indirect=True)
@pytest.mark.parametrize("width", [1366, 390])  # the notes scroll, or the screen as a whole
def test_a_key_leads_to_the_questions_of_a_step_and_back_to_the_line_that_was_read(presenter, width):
    presenter.page.set_viewport_size({"width": width, "height": 768})
    button, first = presenter.locator("[data-does=questions]"), presenter.locator(".hb-asked").first
    scroller = presenter.locator("aside") if width > 720 else presenter
    press_keys(presenter, *["ArrowRight"] * 4, "a", "a")
    read = scroller.evaluate(SCROLLED)
    expect(first).not_to_be_in_viewport()
    for _ in range(2):
        press_keys(presenter, "q")
        expect(first).to_be_in_viewport()
        assert abs(first.bounding_box()["y"] - scroller.bounding_box()["y"]) < 2
        press_keys(presenter, "q")
        assert scroller.evaluate(SCROLLED) == read
    press_keys(presenter, "n", "q")  # hidden notes come back for it
    expect(first).to_be_in_viewport()
    press_keys(presenter, "ArrowRight")
    first.scroll_into_view_if_needed()
    press_keys(presenter, "q")  # another step has forgotten the line of the one before
    expect(first).to_be_in_viewport()
    assert scroller.evaluate(SCROLLED) != read
    while not presenter.locator(".hb-poll__answer").count():
        assert button.is_enabled()
        press_keys(presenter, "ArrowRight")
    assert button.is_disabled()  # a poll has none


def test_a_screen_that_is_left_keeps_its_answers(presenter):
    press_keys(presenter, *["ArrowRight"] * (POLL - 1), "a")
    image = presenter.locator(".hb-presenter__stage img")
    shown = image.get_attribute("src")
    press_keys(presenter, "ArrowRight", "ArrowLeft")
    assert image.get_attribute("src") == shown


@pytest.mark.parametrize("key", ["b", "."])  # the blank key of one remote and of another
def test_a_remotes_blank_key_empties_the_board_and_brings_it_back(presenter, key):
    projector = project(presenter)
    press_keys(presenter, key)
    assert not presenter.locator(".hb-presenter__stage img").count() and not projector.locator("img").count()
    press_keys(presenter, key)
    assert projector.locator("img").count()
    press_keys(presenter, key, "ArrowRight")
    assert projector.locator("img").count()


@pytest.mark.parametrize("presenter", ["first-kernel"], indirect=True)
def test_a_step_that_gives_up_two_minutes_gives_up_its_poll(presenter):
    text = sheets.sheet_pages(ROOT)["first-kernel"].read_text(encoding="utf-8")
    minutes = [step.minutes for step in sheets.steps(text)]
    after = [int(number) - 1 for number in re.findall(r"poll after step (\d+)", text)]
    assert any(30 in minutes[step] and minutes[step][0] - minutes[step][30] >= 2 for step in after)
    presenter.get_by_label("Lesson of").select_option("30")
    polls = 0
    for _ in range(2 * len(minutes)):
        polls += presenter.locator(".hb-poll__answer").count() > 0
        press_keys(presenter, "ArrowRight")
    assert polls == sum(30 in minutes[step] and minutes[step][0] - minutes[step][30] < 2 for step in after)


@pytest.mark.parametrize("presenter", ["first-kernel"], indirect=True)
def test_a_line_of_the_shorter_lessons_is_said_in_them_alone(presenter):
    for version, lines in (("0", set()), ("30", {"30 or 20"}), ("20", {"20", "30 or 20"})):
        presenter.get_by_label("Lesson of").select_option(version)
        press_keys(presenter, *["ArrowLeft"] * 14)
        found = set()
        for _ in range(14):
            notes = presenter.locator(".hb-presenter__notes [data-only]")
            found |= set(notes.evaluate_all("(lines) => lines.map((line) => line.dataset.only)"))
            press_keys(presenter, "ArrowRight")
        assert found == lines


SCROLLED = "(notes) => notes.scrollTop"
WHOLE = """(notes) => [...notes.querySelectorAll(".hb-presenter__notes > *")].some((line) =>
    Math.abs(line.getBoundingClientRect().top - notes.getBoundingClientRect().top) < 2)"""  # a line begins at the top


def test_up_and_down_scroll_the_notes_and_a_remote_turns_the_step(presenter):
    page, notes = presenter.page, presenter.locator("aside")
    page.set_viewport_size({"width": 1280, "height": 720})
    expect(presenter.locator(".hb-presenter__scrolls")).to_have_text("↑ ↓ scroll the notes")
    end = notes.locator(".hb-presenter__next")
    expect(end).not_to_be_in_viewport()
    press_keys(presenter, "ArrowDown")
    first = notes.evaluate(SCROLLED)
    assert 0 < first < notes.evaluate("(notes) => notes.clientHeight")  # the line last read stays in sight
    assert notes.evaluate(WHOLE)
    press_keys(presenter, *["ArrowDown"] * 9)
    expect(end).to_be_in_viewport()
    assert notes.evaluate(WHOLE)
    assert step_title(presenter) == TITLES[0] and page.evaluate(FOCUS) == "main"
    press_keys(presenter, *["ArrowUp"] * 9)
    assert notes.evaluate(SCROLLED) == 0
    press_keys(presenter, "ArrowDown", " ")
    assert notes.evaluate(SCROLLED) == first  # the clock's key leaves the notes where they are
    press_keys(presenter, "PageDown")
    assert step_title(presenter) == TITLES[1] and notes.evaluate(SCROLLED) == 0
    press_keys(presenter, "PageUp")
    assert step_title(presenter) == TITLES[0]


def test_up_and_down_scroll_the_screen_where_the_notes_lie_below_the_board(presenter):
    page = presenter.page
    page.set_viewport_size({"width": 390, "height": 720})
    page.wait_for_function(
        "(screen => screen.scrollHeight > screen.clientHeight)(document.querySelector('.hb-presenter'))"
    )
    press_keys(presenter, "ArrowDown")
    page.wait_for_function("document.querySelector('.hb-presenter').scrollTop > 0")


def test_beside_a_poll_the_notes_are_the_polls_and_the_steps_clock_goes_on(presenter):
    notes = presenter.locator(".hb-presenter__notes")
    press_keys(presenter, *["ArrowRight"] * POLL)
    presenter.page.clock.run_for(61_500)
    step = STEPS[POLL - 1]
    assert step_title(presenter) == TITLES[POLL - 1] and clock_texts(presenter)[0].startswith(f"{step.minutes[0] - 2}:")
    shown = notes.inner_text()
    assert "belongs to this step, whose clock goes on" in shown and words_of(step) not in shown
    assert "If two in three don't agree" in shown  # for the teacher: the room has the question alone
    press_keys(presenter, "a")
    assert notes.inner_text() == shown  # the answers open beside them, and nothing of the step's
    expect(presenter.locator(".hb-poll__why").last).to_be_visible()
    press_keys(presenter, "ArrowLeft")
    assert words_of(step) in notes.inner_text()


def test_a_poll_names_no_step_since_a_shorter_lesson_counts_its_own(presenter):
    presenter.get_by_label("Lesson of").select_option("30")
    projector, shown = project(presenter), presenter.locator(".hb-presenter__stage strong")
    while not shown.count():
        press_keys(presenter, "ArrowRight")
    assert shown.first.text_content() == projector.locator("strong").first.text_content() == "Poll."


@pytest.mark.parametrize("presenter", ["traffic"], indirect=True)  # whose speeches say what the room answers
def test_what_the_room_answers_is_shown_at_a_key_press_and_kept_back_again_after_a_poll(presenter):
    answer = presenter.locator(".hb-presenter__answer")
    press_keys(presenter, "ArrowRight", "ArrowRight")
    assert answer.count() and not answer.is_visible()
    press_keys(presenter, "a")
    assert answer.is_visible()
    press_keys(presenter, "ArrowRight", "a")  # the poll behind the step
    presenter.get_by_label("Lesson of").select_option("30")
    assert presenter.locator(".hb-presenter__notes p").count() > 1
    expect(answer).not_to_be_visible()


def test_the_projector_shows_the_picture_without_notes_and_its_keys_lead_on(presenter):
    with presenter.page.expect_popup() as opened:
        press_keys(presenter, "p")
    projector = opened.value
    assert (
        projector.locator("img").get_attribute("src").endswith("/1-ask.svg") and not projector.locator("aside").count()
    )
    assert projector.evaluate("document.images[0].decode().then(() => document.images[0].naturalWidth)") > 0
    projector.keyboard.press("ArrowRight")
    assert projector.locator("img").get_attribute("src").endswith("/2-ask.svg") and step_title(presenter) == TITLES[1]
    board = sheets.draw_board(NAME.replace("-", "_"))
    while step_title(presenter) != TITLES[-1]:  # past the polls
        projector.keyboard.press("ArrowRight")
    kept_back = "-ask" if board.answer_numbers(board.steps) else ""
    assert projector.locator("img").get_attribute("src").endswith(f"/{board.steps}{kept_back}.svg")
    with projector.expect_event("close"):
        press_keys(presenter, "Escape", "Escape")


def project(presenter) -> Page:
    """The projector's window, on a projector of 1920 by 1080."""
    with presenter.page.expect_popup() as opened:
        press_keys(presenter, "p")
    opened.value.set_viewport_size({"width": 1920, "height": 1080})
    return opened.value


@pytest.mark.parametrize("name", ["Start", "Next →", "Notes n"])
def test_after_a_click_on_a_button_the_keys_are_the_presenters(presenter, name):
    page, address = presenter.page, presenter.page.url
    presenter.get_by_role("button", name=name).click()
    assert page.evaluate(FOCUS) == "main"
    before = TITLES.index(step_title(presenter))
    press_keys(presenter, "ArrowRight")
    assert step_title(presenter) == TITLES[before + 1]
    press_keys(presenter, ",", ".", "n", "b", "/")
    page.evaluate("new Promise((started) => setTimeout(started, 300))")
    assert page.url == address and presenter.is_visible()


def test_no_key_reaches_the_theme_where_nothing_has_the_focus(presenter):
    page = presenter.page
    page.evaluate("""() => {
        addEventListener("keydown", () => (window.reached = true));
        document.activeElement.blur();
    }""")
    for key in ["n", ",", ".", "ArrowRight"]:
        press_keys(presenter, key)
    assert step_title(presenter) == TITLES[1] and not page.evaluate("window.reached")


def test_a_remote_leads_on_where_the_version_has_the_focus_and_leaves_the_version(presenter):
    select = presenter.get_by_label("Lesson of")
    select.focus()
    press_keys(presenter, "PageDown", "ArrowLeft", "ArrowRight")
    press_keys(presenter, "2", "End")
    assert (step_title(presenter), select.input_value()) == (TITLES[1], "0")
    select.select_option("20")
    assert presenter.page.evaluate(FOCUS) == "main"


def test_after_a_reload_the_lesson_goes_on_and_the_projector_follows(presenter):
    page, projector = presenter.page, project(presenter)
    press_keys(presenter, "ArrowRight", "ArrowRight", "a")
    page.clock.run_for(61_500)
    page.reload()
    expect(presenter).to_be_visible()
    expect(presenter.locator("[data-does=pause]")).to_have_text("Pause")
    left = clock_texts(presenter)[1]
    assert step_title(presenter) == TITLES[2] and left.startswith(f"{sum(step.minutes[0] for step in STEPS) - 2}:")
    assert presenter.locator(".hb-presenter__stage img").get_attribute("src").endswith("/3.svg")
    press_keys(presenter, "ArrowLeft")
    assert projector.locator("img").get_attribute("src").endswith("/2-ask.svg")
    projector.keyboard.press("ArrowLeft")
    assert step_title(presenter) == TITLES[0] and len(page.context.pages) == 2
    presenter.get_by_role("button", name="Close").click()
    page.reload()
    expect(page.get_by_role("button", name="Present", exact=True)).to_be_visible()
    assert not presenter.is_visible()


def test_one_escape_asks_and_the_second_closes(presenter):
    press_keys(presenter, "Escape")
    assert presenter.is_visible()
    expect(presenter.locator(".hb-presenter__said")).to_have_text("Press Esc again to close the lesson.")
    presenter.page.clock.run_for(2500)
    expect(presenter.locator(".hb-presenter__said")).to_have_text("")
    press_keys(presenter, "Escape")
    assert presenter.is_visible()  # the first one is forgotten
    press_keys(presenter, "Escape")
    expect(presenter).not_to_be_visible()


def test_the_back_row_sees_the_whole_board_reads_a_poll_and_answers_by_letter(presenter):
    projector = project(presenter)
    boxes = [projector.locator("img").bounding_box()]
    press_keys(presenter, *["ArrowRight"] * POLL, "a")
    answers, page = projector.locator("li"), presenter.locator(".hb-presenter__stage ul")
    for each in [answers.first, projector.locator("p").first]:
        assert float(each.evaluate("(text) => parseFloat(getComputedStyle(text).fontSize)")) >= 0.06 * 1080
    for each in [answers.first, page]:
        assert each.evaluate("(list) => getComputedStyle(list).listStyleType") == "upper-alpha"
    for box in [*boxes, projector.locator("p").first.bounding_box(), answers.last.bounding_box()]:  # and all of it fits
        assert box["x"] >= 0 and box["x"] + box["width"] <= 1920
        assert box["y"] >= 0 and box["y"] + box["height"] <= 1080


def test_the_notes_are_read_standing_and_grow(presenter):
    notes = presenter.locator(".hb-presenter__notes p").first
    size = "(text) => parseFloat(getComputedStyle(text).fontSize)"
    first = notes.evaluate(size)
    presenter.get_by_role("button", name="Larger notes").click()
    larger = notes.evaluate(size)
    presenter.get_by_role("button", name="Smaller notes").click()
    assert 22 <= first == notes.evaluate(size) < larger


def test_it_opens_from_a_file(site, chromium):
    page = chromium.browser.new_page()
    page.goto((site / "chapters" / NAME / "sheet" / "index.html").as_uri())
    page.get_by_role("button", name="Present", exact=True).click()
    with page.expect_popup() as opened:
        page.keyboard.press("p")
    assert opened.value.evaluate("document.images[0].decode().then(() => document.images[0].naturalWidth)") > 0
    page.keyboard.press("ArrowRight")
    assert step_title(page.locator("dialog.hb-presenter")) == TITLES[1]
    page.context.close()
