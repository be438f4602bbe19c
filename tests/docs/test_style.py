"""Callouts are always the same seven, each with its own title; questions fold."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
CALLOUTS = {
    "say": "Say this at the board",
    "metaphor": "Metaphor",
    "by-hand": "By hand",
    "teaching-note": "Teaching note",
    "trip": "Where students trip",
    "click": "The click",
    "production": "In production today",
}


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=lambda page: page.relative_to(DOCS).as_posix())
def test_callouts_are_the_known_ones(page):
    for mark, kind, title in re.findall(r'^\s*(!!!|\?\?\?\+?) ([\w-]+)(?: "(.*)")?$', page.read_text(), re.MULTILINE):
        folded = kind in ("question", "note")
        assert (mark, title) == ("!!!", CALLOUTS.get(kind)) or (mark == "???" and folded)
