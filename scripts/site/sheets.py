"""The page that has every whiteboard sheet, in the order of their index."""

from __future__ import annotations

import re

from scripts.records import ROOT

MARK = "<!-- every sheet -->"
FOLDER = ROOT / "docs" / "whiteboard"


def with_every_sheet(markdown: str) -> str:
    """The page's Markdown, its mark replaced by the sheets that the index links to, each with a heading one level down."""
    if MARK not in markdown:
        return markdown
    index = (FOLDER / "index.md").read_text(encoding="utf-8")
    names = dict.fromkeys(re.findall(r"^\| \[[^]]*\]\(([\w-]+\.md)\)", index, re.MULTILINE))
    sheets = [re.sub(r"^#", "##", (FOLDER / name).read_text(encoding="utf-8"), flags=re.MULTILINE) for name in names]
    return markdown.replace(MARK, "\n\n".join(sheets))
