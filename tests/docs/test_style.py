"""Callouts are always the same seven, each with its own title; questions fold; no page has a comment of its own."""

import re
from pathlib import Path

import pytest

from scripts.facts.unchecked_pages import is_unchecked

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
CALLOUTS = {
    "say": "Say this at the board",
    "metaphor": "Metaphor",
    "by-hand": "By hand",
    "teaching-note": "Teaching note",
    "trip": "Where students trip",
    "click": "The click",
    "production": "In production today",
}
# The build puts something in the place of these.
PLACEHOLDERS = re.compile(
    r"<!-- ((a (row|line) for )?every|chapter|hours|labs?|where the two|step|key|poll|demo"
    r"|the (kernels|modules|sheets|handbook|repository|path|run|sentence|table|two times))\b"
)
each_page = pytest.mark.parametrize(
    "page", sorted(DOCS.rglob("*.md")), ids=lambda page: page.relative_to(DOCS).as_posix()
)


@each_page
def test_callouts_are_the_known_ones(page):
    for mark, kind, title in re.findall(r'^\s*(!!!|\?\?\?\+?) ([\w-]+)(?: "(.*)")?$', page.read_text(), re.MULTILINE):
        folded = kind in ("question", "note")
        assert (mark, title) == ("!!!", CALLOUTS.get(kind)) or (mark == "???" and folded)


@each_page
def test_a_page_has_no_comment_but_those_that_the_build_fills(page):
    text = re.sub(r"`[^`]*`", "", page.read_text(encoding="utf-8"))
    assert [each for each in re.findall(r"<!--.*?-->", text, re.DOTALL) if not PLACEHOLDERS.match(each)] == []


def test_contributors_read_how_many_chapters_are_not_checked_and_have_no_facts():
    chapters = {path.parent.name: path.read_text(encoding="utf-8") for path in DOCS.glob("chapters/*/index.md")}
    unchecked = [name.replace("-", "_") for name, text in chapters.items() if is_unchecked(text)]
    without_facts = [name for name in unchecked if not (ROOT / "scripts/chapters" / name / "facts.py").exists()]
    text = (DOCS / "contributing.md").read_text(encoding="utf-8")
    assert f"\n{len(unchecked)} chapters begin with `numbers: unchecked`" in text
    assert f" {len(without_facts)} have no `facts.py`" in text
