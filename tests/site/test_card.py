"""What other sites show beside a link: a chapter's card is drawn from its own drawing."""

import pytest
from mkdocs.exceptions import PluginError

from scripts.site.meta.cards import Cards
from scripts.site.pages import navigation


def test_a_chapter_without_its_drawing_is_named(tmp_path):
    chapter = navigation.Chapter("nowhere", 1, "", "Nowhere", "# Nowhere", {})
    with pytest.raises(PluginError, match=r"cards/nowhere\.png wants docs/assets/drawings/path-nowhere\.svg"):
        _ = Cards([chapter], tmp_path).card_of("chapters/nowhere/notes.md").alternative
