"""Words in square brackets with a mark behind them: ``[about half the time of]{fact=name}``.

The words of a fact have to be those that the fact returns today. ``{claim=name}`` is what pages have that aren't
converted yet: a check of that name in tests/claims/ computes it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from xml.etree.ElementTree import Element

from markdown import Extension, Markdown
from markdown.inlinepatterns import InlineProcessor

MARK = re.compile(r"\{(claim|fact)=([a-z][\w.]*)\}")


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
        said = data[match.end() : end]
        words = Element("span", {"class": f"hb-{mark[1]}", f"data-{mark[1]}": mark[2]})
        if mark[1] == "fact":
            words.set("title", self.fact(mark[2], " ".join(said.split())))
        words.text = said  # Markdown goes on inside it
        return words, match.start(), mark.end()


class Marks(Extension):
    """fact: holds a fact's name and words to what it returns; returns what it rests on, to be shown on hover"""

    def __init__(self, fact: Callable[[str, str], str]):
        super().__init__()
        self.fact = fact

    def extendMarkdown(self, md: Markdown) -> None:
        # After code (190) and escapes (180), which hold brackets of their own; before links (160).
        md.inlinePatterns.register(MarkProcessor(self.fact), "mark", 175)
