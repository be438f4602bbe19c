"""A sheet's minutes add up, also those of its shorter versions, and each step has its picture and its speech."""

import re
from collections import Counter

import pytest

from scripts.records import ROOT
from scripts.site.pages import sheets
from tests.docs.page_text import DOCS, tables

SHEETS = sheets.sheet_pages(ROOT)
STEPS = {name: sheets.steps(page.read_text(encoding="utf-8")) for name, page in SHEETS.items()}
MAX_WORDS_A_BREATH = 30  # words
POLL = re.compile(r"^<!-- poll after step (\d+) -->\n(.+?)(?=^<!--|^</div>|\Z)", re.MULTILINE | re.DOTALL)
MARK = re.compile(r"<!--.*?-->", re.DOTALL)


def path_of(sheet):
    return SHEETS[sheet].relative_to(ROOT)


def stated_minutes(sheet):
    """The minutes that a sheet says above its steps that it takes."""
    head = re.split("<!-- step ", SHEETS[sheet].read_text(encoding="utf-8"))[0]
    return {int(minutes) for minutes in re.findall(r"(\d+)[- ]minutes?\b", head)}


@pytest.mark.parametrize("sheet", STEPS)
def test_the_minutes_of_a_sheet_and_of_its_shorter_versions_add_up(sheet):
    head = stated_minutes(sheet)
    assert len(head) == 1, f"{path_of(sheet)}: above its steps it says how many minutes it takes, once, not {head}"
    (whole,) = head
    sums = {version: sum(step.minutes.get(version, 0) for step in STEPS[sheet]) for version in (0, 30, 20)}
    wanted = {0: whole, 30: 30 if whole > 30 else 0, 20: 20}
    marks = "`<!-- step 5 min, 30: 4, 20: 3 -->`, 0 is the whole lesson"
    assert sums == wanted, f"{path_of(sheet)}: the minutes of its steps add up to {sums}, not {wanted} ({marks})"
    for step in STEPS[sheet]:
        assert all(0 < minutes <= step.minutes[0] for minutes in step.minutes.values()), step.drawing


@pytest.mark.parametrize("sheet", STEPS)
def test_a_step_begins_when_those_before_it_have_ended(sheet):
    for version in (0, 30, 20):
        minutes = [step.minutes[version] for step in STEPS[sheet] if version in step.minutes]
        starts = [start for start in sheets.start_minutes(STEPS[sheet], version) if start is not None]
        assert starts == [sum(minutes[:i]) for i in range(len(minutes))]


@pytest.mark.parametrize("sheet", STEPS)
def test_there_is_a_picture_a_step(sheet):
    pictures = sheets.draw_board(folder := sheet.replace("-", "_")).steps
    where = f"scripts/chapters/{folder}/board.py"
    assert pictures == len(STEPS[sheet]), f"{where} draws {pictures} steps, {path_of(sheet)} has {len(STEPS[sheet])}"


def spoken_lines(step):
    return re.findall(r"^\*\*say\*\* (.+)$", step.speech, re.MULTILINE)


@pytest.mark.parametrize("sheet", STEPS)
def test_a_line_to_say_is_one_breath_and_each_step_answers_a_why(sheet):
    for step in STEPS[sheet]:
        lines = spoken_lines(step)
        long = [line for line in lines if len(line.split()) > MAX_WORDS_A_BREATH]
        assert not long, f"{path_of(sheet)}: more than {MAX_WORDS_A_BREATH} words to say in one breath: {long}"
        answers = any("why" in line.lower() for line in lines) or "?" in " ".join(lines)
        assert not lines or answers, f"{path_of(sheet)}: no line asks why in the step {step.drawing}"


@pytest.mark.parametrize("sheet", STEPS)
def test_a_sheet_has_two_polls_each_with_one_right_answer_and_what_every_answer_shows(sheet):
    polls = POLL.findall(SHEETS[sheet].read_text(encoding="utf-8"))
    expected_form = "`<!-- poll after step 3 -->`, the question, then `- ANSWER: what it shows`, the right one in bold"
    assert len(polls) == 2, f"{path_of(sheet)} has {len(polls)} polls and needs two: {expected_form}"
    for step, text in polls:
        assert 1 <= int(step) <= len(STEPS[sheet]), f"{path_of(sheet)}: there is no step {step}"
        answers = re.findall(r"^- (.+?): .+", text, re.MULTILINE)
        all_explained = len(answers) == len(re.findall(r"^- ", text, re.MULTILINE))
        assert len(answers) >= 3 and all_explained, (
            f"{path_of(sheet)}, poll after step {step}: {expected_form}, three or more"
        )
        right = [answer for answer in answers if answer.startswith("**")]
        assert len(right) == 1, f"{path_of(sheet)}: the poll after step {step} has {len(right)} answers in bold"


def test_the_letter_of_the_right_answer_cannot_be_guessed():
    """No letter is right in more than half of all polls, and the two of a sheet have different ones."""
    right = {}
    for sheet in STEPS:
        polls = [
            re.findall(r"^- (.)", text, re.MULTILINE)
            for _, text in POLL.findall(SHEETS[sheet].read_text(encoding="utf-8"))
        ]
        right[sheet] = ["ABCDE"[answers.index("*")] for answers in polls]
    letters = Counter(letter for both in right.values() for letter in both)
    assert max(letters.values()) <= letters.total() / 2, letters
    assert [sheet for sheet, both in right.items() if len(set(both)) < len(both)] == []


def test_every_board_belongs_to_a_sheet():
    boards = {path.parent.name.replace("_", "-") for path in ROOT.glob("scripts/chapters/*/board.py")}
    assert boards == {*SHEETS}, f"scripts/chapters/NAME/board.py or a sheet is missing: {boards ^ {*SHEETS}}"


def test_every_sheet_is_laid_out_in_steps():
    assert [str(path_of(sheet)) for sheet, steps in STEPS.items() if not steps] == [], "no `<!-- step 5 min -->` in it"


def test_the_talk_is_announced_with_its_minutes():
    (row,) = next(iter(tables("whiteboard/index.md")))  # the build adds a row for every other sheet
    (at_home,) = re.findall(r"a talk of (\d+) minutes", (DOCS / "index.md").read_text(encoding="utf-8"))
    assert {int(at_home), int(row["Minutes at the board"])} == {sum(step.minutes[0] for step in STEPS["talk"])}


def test_the_square_goes_up_in_the_minute_that_the_talk_says():
    (minute,) = re.findall(r"the square goes up there in minute (\d+)", SHEETS["talk"].read_text(encoding="utf-8"))
    (begins,) = [
        start
        for start, step in zip(sheets.start_minutes(STEPS["talk"]), STEPS["talk"], strict=True)
        if "The square goes up" in step.drawing
    ]
    assert int(minute) == begins
