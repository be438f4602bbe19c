"""Words that claim something of records, marked where they stand: ``[in every setting]{claim=name}``.

The mark changes nothing that a reader sees. A check of that name in tests/claims/ computes the claim from the records.
"""

from __future__ import annotations

import re
from xml.etree.ElementTree import Element

from markdown import Extension, Markdown
from markdown.inlinepatterns import InlineProcessor

NAME = re.compile(r"\{claim=([a-z]\w*)\}")


class ClaimProcessor(InlineProcessor):
    def handleMatch(self, match: re.Match, data: str) -> tuple[Element | None, int | None, int | None]:
        depth = 1
        for end in range(match.end(), len(data)):
            depth += {"[": 1, "]": -1}.get(data[end], 0)
            if depth == 0:
                break
        named = NAME.match(data, end + 1) if depth == 0 else None
        if not named:
            return None, None, None
        words = Element("span", {"class": "hb-claim", "data-claim": named[1]})
        words.text = data[match.end() : end]  # Markdown goes on inside it
        return words, match.start(), named.end()


class Claims(Extension):
    def extendMarkdown(self, md: Markdown) -> None:
        # After code (190) and escapes (180), which hold brackets of their own; before links (160).
        md.inlinePatterns.register(ClaimProcessor(r"\[", md), "claim", 175)


def makeExtension(**options) -> Claims:
    return Claims(**options)
