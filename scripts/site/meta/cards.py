"""The picture that other sites show beside a link: pages of a chapter have the chapter's card, all others the site's.

scripts/draw_cards.py draws the cards.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import unescape
from pathlib import Path

from mkdocs.exceptions import PluginError

from scripts.site.pages.navigation import Chapter, chapter_name

DESCRIPTION = re.compile(r"<desc>(.+?)</desc>", re.DOTALL)
SITE_ALTERNATIVE = (
    "Queries stay on the chip, keys and values stream past, and the square of scores is never written to memory."
)


@dataclass(frozen=True)
class Card:
    """
    address: below the site's root   drawing: what it is drawn from   chapter: None for that of the site
    """

    address: str
    drawing: Path
    chapter: Chapter | None = None

    @property
    def alternative(self) -> str:
        """A sentence for who does not see it; of a chapter, what the drawing says of itself.

        Raises:
            PluginError: if there is no such drawing, or it does not say what it shows.
        """
        if not self.chapter:
            return SITE_ALTERNATIVE
        description = DESCRIPTION.search(self.drawing.read_text(encoding="utf-8")) if self.drawing.is_file() else None
        if not description:
            raise PluginError(f"{self.address} wants docs/assets/drawings/{self.drawing.name}, a drawing with a <desc>")
        return " ".join(unescape(description[1]).split())


class Cards:
    def __init__(self, chapters: list[Chapter], docs: Path):
        drawings = docs / "assets" / "drawings"
        self.site_card = Card("assets/card.png", drawings / "flash-attention-streaming.svg")
        self.chapter_cards = {
            chapter.name: Card(f"assets/cards/{chapter.name}.png", drawings / f"path-{chapter.name}.svg", chapter)
            for chapter in chapters
        }

    def all_cards(self) -> list[Card]:
        return [self.site_card, *self.chapter_cards.values()]

    def card_of(self, source: str) -> Card:
        """That of a page, by its file in docs/."""
        return self.chapter_cards.get(chapter_name(source), self.site_card)
