"""Every question of every chapter can be answered, and the page says why each choice is right or wrong."""

import pytest
from bs4 import BeautifulSoup

from scripts.records import ROOT
from tests.site.test_browser import axe_violations

MODEL = "quiz.model.js"
CHAPTERS = sorted(path.parent.name for path in (ROOT / "docs" / "chapters").glob("*/index.md"))
CHOICES = ["(a) 4", "(b) 6"]


def why_unanswerable(pieces, choices: list[str], paragraphs: list[str]) -> str:
    """Why a question can't be answered; empty if it can."""
    (answer,) = pieces.calls(MODEL, "readAnswer", [[paragraphs]])
    letters = pieces.calls(MODEL, "letterOf", [[choice] for choice in choices])
    if letters != sorted(set(letters)) or "" in letters:
        return f"the choices are {letters}"
    if len(answer["right"]) != 1:
        return f"right is {answer['right']}"
    if sorted(answer["said"]) != letters:
        return f"the choices are {letters}, and something is said to {sorted(answer['said'])}"
    return ""


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_every_question_has_one_right_choice_and_a_reason_for_each(site, pieces, chapter):
    page = BeautifulSoup((site / "chapters" / chapter / "index.html").read_text(), "html.parser")
    answers = page.select("details.question")
    questions = [answer for answer in answers if answer.summary.text.startswith("Answer to")]
    assert len(questions) >= 3
    for answer in questions:
        choices = [item.text for item in answer.find_previous_sibling().select("ul > li")]
        paragraphs = [part.text for part in answer.find_all(recursive=False) if part.name != "summary"]
        assert not why_unanswerable(pieces, choices, paragraphs), answer.summary.text
    for exercise in [
        answer for answer in answers if answer not in questions
    ]:  # of the reader's own numbers: no choices
        assert exercise.summary.text.startswith("How to check") and exercise.find_previous_sibling().name == "p"


@pytest.mark.parametrize(
    ("choices", "paragraphs"),
    [
        (CHOICES, ["(a) forgets.", "(b) forgets."]),
        (CHOICES, ["(a). Yes.", "(b). Yes."]),
        (CHOICES, ["(b). Yes. (a) forgets."]),
        (CHOICES, ["(b). Yes.", "(c) forgets."]),
        (["4", "(b) 6"], ["(b). Yes."]),
        (["(a) 4", "(a) 6"], ["(a). Yes."]),
    ],
    ids=["none right", "two right", "one unexplained", "another explained", "no letter", "a letter twice"],
)
def test_a_question_that_cannot_be_answered_is_noticed(pieces, choices, paragraphs):
    assert why_unanswerable(pieces, choices, paragraphs)
    assert not why_unanswerable(pieces, CHOICES, ["(b). Yes.", "More of it.", "(a) forgets."])


def test_what_is_said_to_a_choice_goes_on_to_the_next_one(pieces):
    (answer,) = pieces.calls(
        MODEL, "readAnswer", [[["(b). Yes.", "Because (a) is less.", "(a) and (c) forget.", "Twice."]]]
    )
    assert answer == {"right": ["b"], "said": {"b": [0, 1], "a": [2, 3], "c": [2, 3]}}


def test_progress_counts_what_the_questions_offer(pieces):
    questions = [{"right": right, "letters": ["a", "b"]} for right in "aba"]
    answers = [[questions, chosen] for chosen in (["a", None, "b"], ["a", "b", "a"], ["c", None, None])]
    part, whole, stale = pieces.calls(MODEL, "progress", answers)
    assert part.startswith("2 of 3 answered, 1 right") and whole.startswith("3 of 3 answered, 3 right")
    assert "answered" not in stale


def test_a_reader_answers_comes_back_and_forgets(visit):
    page = visit("chapters/number-formats/", width=390)
    assert page.locator(".hb-quiz").count() == 0
    page.locator("#questions").scroll_into_view_if_needed()
    question = page.get_by_role("group", name="Question 1")
    question.get_by_role("button", name="(a)").click()
    assert question.get_by_role("status").inner_text().startswith("Wrong. (a)")
    question.get_by_role("button", name="(b)").press("Enter")
    assert question.get_by_role("status").inner_text().startswith("Right. ")
    page.get_by_role("group", name="Question 2").get_by_role("button", name="(a)").press("Space")
    progress = page.locator(".hb-quiz__progress")
    assert "2 of 4 answered, 1 right" in progress.inner_text()
    assert question.locator("xpath=following-sibling::details").first.get_attribute("open") is None
    assert not axe_violations(page)

    page.reload()
    page.locator("#questions").scroll_into_view_if_needed()
    progress.wait_for()
    assert "2 of 4 answered, 1 right" in progress.inner_text()
    assert question.get_by_role("button", pressed=True).inner_text().startswith("(b)")
    page.get_by_role("button", name="Forget my answers").click()
    assert question.get_by_role("status").inner_text() == ""
    assert question.get_by_role("button", pressed=True).count() == 0
    assert page.evaluate("localStorage.getItem(`quiz ${location.pathname}`)") is None
    assert question.get_by_role("button", name="(a)").evaluate("(button) => button === document.activeElement")
