"""Words in square brackets with a mark behind them: ``[about half the time of]{fact=name}``.

They have to be those that the fact returns today.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from xml.etree.ElementTree import Element

from markdown import Extension, Markdown
from markdown.inlinepatterns import InlineProcessor

from scripts.facts import MARK


class MarkProcessor(InlineProcessor):
    def __init__(self, fact: Callable[[str, str], str]):
        super().__init__(r"\[")
        self.fact = fact

    def handleMatch(self, match: re.Match, data: str) -> tuple[Element | None, int | None, int | None]:
        depth = 1
        for end in range(match.end(), len(data)):
            depth += {"[": 1, "]": -1}.get(data[end], 0)
            if depth == 0:
                break
        mark = MARK.match(data, end + 1) if depth == 0 else None
        if not mark:
            return None, None, None
        words = data[match.end() : end]
        span = Element("span", {"class": "hb-fact", "data-fact": mark[1]})
        span.set("title", self.fact(mark[1], " ".join(words.split())))
        span.text = words  # Markdown goes on inside it
        return span, match.start(), mark.end()


class Marks(Extension):
    """Turns marked words on a page into a span that shows on hover what they rest on.

    fact: called with a fact's name and the words; stops the build unless the fact returns them, says what it rests on
    """

    def __init__(self, fact: Callable[[str, str], str]):
        super().__init__()
        self.fact = fact

    def extendMarkdown(self, md: Markdown) -> None:
        # After code (190) and escapes (180), which hold brackets of their own; before links (160).
        md.inlinePatterns.register(MarkProcessor(self.fact), "mark", 175)
