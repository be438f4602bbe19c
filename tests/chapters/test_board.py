"""Boards: new ink has its colour, what is erased is gone, and no words run off the board or over others."""

from itertools import combinations
from xml.etree import ElementTree

import pytest

from scripts.chapters.board import NEW_INK_COLOUR, OLD_INK_COLOUR, Board, OffTheBoard
from scripts.chapters.handwriting import Unwritable
from scripts.records import ROOT
from scripts.site.pages import sheets

BOARDS = [name.replace("-", "_") for name in sheets.sheet_pages(ROOT)]
TOUCH = 2  # pixels that two words may share: their areas are a little larger than their ink


def example_board() -> Board:
    board = Board()
    board.step("One.")
    board.write(100, 50, "one")
    with board.group("passing"):
        board.write(100, 90, "passing")
    board.step("Two.")
    board.erase("passing")
    with board.withhold():
        board.write(100, 130, "two")
    return board


def count_parts(svg: str, colour: str) -> int:
    """How many things a picture has in this colour."""
    root = ElementTree.fromstring(svg)
    return sum(len(group) for group in root.iter("{http://www.w3.org/2000/svg}g") if group.get("stroke") == colour)


def test_what_is_new_has_its_colour_and_then_the_ink_of_all():
    board = example_board()
    assert (count_parts(board.svg(1), NEW_INK_COLOUR), count_parts(board.svg(1), OLD_INK_COLOUR)) == (2, 0)
    assert (count_parts(board.svg(2), NEW_INK_COLOUR), count_parts(board.svg(2), OLD_INK_COLOUR)) == (1, 1)


def test_what_is_named_stays_when_all_else_is_rubbed_out():
    board = example_board()
    board.step("Three.")
    board.erase(keep=("passing",))
    assert board.read(3) == []  # it went in the second step
    board = Board()
    board.step("One.")
    board.write(100, 50, "one")
    with board.group("kept"):
        board.write(100, 90, "kept")
    board.step("Two.")
    board.erase(keep=("kept",))
    assert board.read(2) == ["kept"]


def test_what_is_rubbed_out_is_read_no_more():
    board = example_board()
    assert board.read(1) == ["one", "passing"] and board.read(2) == ["one", "two"]


def test_the_answer_can_be_kept_back():
    board = example_board()
    assert len(board.answer_numbers(2)) == 1 and not board.answer_numbers(1)
    assert count_parts(board.svg(2, answers_shown=0), NEW_INK_COLOUR) == 0


def test_answers_come_one_after_the_other():
    board = example_board()
    board.step("Three.")
    for text in ("three", "four"):
        with board.withhold():
            board.write(100, 200, text)
    none, one, all_answers = (count_parts(board.svg(3, answers_shown=count), NEW_INK_COLOUR) for count in (0, 1, None))
    assert 0 == none < one < all_answers


def test_what_is_on_paper_is_printed_alone():
    board = Board()
    board.step("a sum")
    board.write(100, 40, "by hand")
    with board.group("printed"):
        board.box(40, 80, 200, 60)
    board.step("nothing on paper")
    assert board.paper_steps() == [1]
    paper = ElementTree.fromstring(board.paper_svg(1))
    assert paper.get("viewBox") == "36 75 208 69"  # a box is closed a pixel higher
    assert len(paper.findall(".//{*}path")) == 1


def test_what_runs_off_the_board_is_refused():
    board = example_board()
    with pytest.raises(OffTheBoard, match="step 2: far too long for its place runs off the board"):
        board.write(400, 50, "far too long for its place")


def test_a_sign_that_cannot_be_written_is_refused():
    with pytest.raises(Unwritable, match="cannot write ж"):
        example_board().write(100, 50, "ж")


def test_writing_too_small_for_paper_is_refused():
    with pytest.raises(ValueError, match="too small"):
        example_board().write(100, 50, "small", 0.5)


def test_powers_are_raised():
    board = example_board()
    width = [
        right - left for left, _, right, _ in (board.write(100, y, text) for y, text in ((20, "e2"), (180, "e^{2}")))
    ]
    assert width[1] < width[0]
    board.write(200, 200, "10⁻³ ≈ ½ · √2 ÷ ∞ → ℓ′")  # noqa: RUF001


def test_the_same_board_is_drawn_alike_each_time():
    assert example_board().svg(2) == example_board().svg(2)


@pytest.mark.parametrize("name", BOARDS)
def test_no_words_lie_over_others(name):
    board = sheets.draw_board(name)
    for step in range(1, board.steps + 1):
        words = [ink for ink in board.ink if ink.text and ink.is_visible(step)]
        overlapping = [
            (a.text, b.text)
            for a, b in combinations(words, 2)
            if overlap(a.area, b.area) and not 0 < a.removed_by_answer <= b.answer_number
        ]
        assert overlapping == [], f"step {step}"


def overlap(a, b) -> bool:
    return all(min(a[i + 2], b[i + 2]) - max(a[i], b[i]) > TOUCH for i in (0, 1))


def test_a_third_of_the_later_pictures_show_old_marks_beside_new_ones():
    """More than a title or a note: at least three marks of earlier steps."""
    later, kept = 0, {}
    for name in BOARDS:
        board = sheets.draw_board(name)
        steps = range(2, board.steps + 1)
        old = [sum(ink.is_visible(step) and ink.step < step for ink in board.ink) for step in steps]
        later, kept[name] = later + len(steps), sum(marks >= 3 for marks in old)
    assert sum(kept.values()) >= later / 3, kept


@pytest.mark.parametrize("name", BOARDS)
def test_every_step_draws_something_and_says_what(name):
    board = sheets.draw_board(name)
    for step, shows in enumerate(board.step_descriptions, 1):
        assert any(ink.step == step for ink in board.ink), f"step {step} draws nothing"
        says = len(shows.split()) > 4 and shows.endswith(".")
        assert says, f"step {step} of scripts/chapters/{name}/board.py: say in sentences what it shows, not {shows!r}"
