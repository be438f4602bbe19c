"""What other sites show beside a link: a card for each chapter and one for the site, drawn from what it says today."""

import struct

import pytest
from mkdocs.exceptions import PluginError

from scripts.draw_cards import CARDS, DOCS, SIZE, is_current
from scripts.site.meta.cards import Cards
from scripts.site.pages import navigation


@pytest.mark.parametrize("card", CARDS.all_cards(), ids=lambda card: card.address)
def test_a_card_is_of_todays_drawing(card):
    assert card.drawing.is_file(), f"{card.address} wants a drawing, docs/assets/drawings/{card.drawing.name}"
    assert is_current(card), f"docs/{card.address} isn't of today's drawing: .venv/bin/python -m scripts.draw_cards"
    image = (DOCS / card.address).read_bytes()
    assert struct.unpack(">II", image[16:24]) == (SIZE["width"], SIZE["height"]) and len(image) < 100_000


def test_no_card_is_left_of_a_chapter_that_is_gone():
    expected = {f"{name}.png" for name in CARDS.chapter_cards}
    assert {file.name for file in (DOCS / "assets" / "cards").glob("*")} <= expected


def test_a_chapter_without_its_drawing_is_named(tmp_path):
    chapter = navigation.Chapter("nowhere", 1, "", "Nowhere", "# Nowhere")
    with pytest.raises(PluginError, match=r"cards/nowhere\.png wants docs/assets/drawings/path-nowhere\.svg"):
        _ = Cards([chapter], tmp_path).card_of("chapters/nowhere/notes.md").alternative
