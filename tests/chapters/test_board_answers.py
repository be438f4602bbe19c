"""Until ``a`` is pressed, a picture has nothing of what the room is asked for."""

import re

import pytest

from scripts.site.pages import sheets
from tests.chapters.expected import EXPECTED

ANSWERS = [
    pytest.param(name, answer, id=f"{name}-{answer['step']}")
    for name, expected in EXPECTED.items()
    for answer in expected.get("answers", ())
]


@pytest.mark.parametrize(("name", "answer"), ANSWERS)
def test_an_answer_is_not_shown_with_its_question(name, answer):
    new = [ink for ink in sheets.board(name).ink if ink.step == answer["step"]]
    shown, kept = ([ink.text for ink in new if bool(ink.answer) is is_answer] for is_answer in (False, True))
    for pattern in answer.get("words", ()):
        assert [text for text in shown if re.search(pattern, text)] == []
        assert any(re.search(pattern, text) for text in kept)
    assert kept.count("") >= answer["strokes"]
