"""What a new chapter needs besides its folders: its line in README.md, a title of its own, and its card."""

import struct

import pytest

from scripts.draw_cards import CARDS, DOCS, SIZE, is_current

CHAPTERS = [card.chapter for card in CARDS.chapter_cards.values()]


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda chapter: chapter.name)
def test_the_readme_names_every_chapter_of_a_part(chapter):
    readme = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    line = f"{chapter.number} {chapter.title}"
    assert not chapter.part or line in readme, f"README.md, the table of parts: add {line!r} to {chapter.part!r}"
    assert chapter.part in readme, f"README.md, the table of parts: add the part {chapter.part!r}"


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda chapter: chapter.name)
def test_no_chapter_still_has_the_title_that_it_was_copied_with(chapter):
    sheet = DOCS / "chapters" / chapter.name / "sheet.md"
    headings = [chapter.title, sheet.read_text(encoding="utf-8").partition("\n")[0] if sheet.is_file() else ""]
    assert not [heading for heading in headings if heading.lower().endswith("example")]


@pytest.mark.parametrize("card", CARDS.all_cards(), ids=lambda card: card.address)
def test_a_card_is_of_todays_drawing(card):
    assert card.drawing.is_file(), f"{card.address} wants a drawing, docs/assets/drawings/{card.drawing.name}"
    assert is_current(card), f"docs/{card.address} isn't of today's drawing: .venv/bin/python -m scripts.draw_cards"
    image = (DOCS / card.address).read_bytes()
    assert struct.unpack(">II", image[16:24]) == (SIZE["width"], SIZE["height"]) and len(image) < 100_000


def test_no_card_is_left_of_a_chapter_that_is_gone():
    expected = {f"{name}.png" for name in CARDS.chapter_cards}
    assert {file.name for file in (DOCS / "assets" / "cards").glob("*")} <= expected
