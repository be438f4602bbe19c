"""A drawing's text alternative has only numbers that are drawn or written, every drawing is shown, and tested."""

import re
from xml.etree import ElementTree

import pytest

from scripts.records import ROOT
from tests.docs.page_text import DOCS, DRAWINGS, PICTURE, drawing_text

PLAIN_NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?")
SHOWN_DRAWINGS = [
    (page.relative_to(DOCS).as_posix(), words, DRAWINGS / source.rpartition("/")[2])
    for page in sorted(DOCS.rglob("*.md"))
    for words, source in PICTURE.findall(page.read_text(encoding="utf-8"))
    if "assets/drawings/" in source
]


def numbers(text):
    return {number.rstrip(",") for number in PLAIN_NUMBER.findall(text)}


@pytest.mark.parametrize("page, words, drawing", SHOWN_DRAWINGS, ids=[drawing.stem for _, _, drawing in SHOWN_DRAWINGS])
def test_the_text_alternative_says_what_is_drawn(page, words, drawing):
    written = PICTURE.sub("", (DOCS / page).read_text(encoding="utf-8")).replace("{,}", ",")
    drawn = " ".join(ElementTree.parse(drawing).getroot().itertext())
    unknown = numbers(words) - numbers(drawn) - numbers(written)
    assert not unknown, f"docs/{page}: the alternative of {drawing.name} says {unknown}, and nothing draws that"


@pytest.mark.parametrize("chapter", sorted(path.name for path in (DOCS / "chapters").iterdir()))
def test_a_chapter_whose_drawings_have_numbers_tests_them(chapter):
    with_numbers = [
        drawing.name
        for drawing in sorted(DRAWINGS.glob(f"{chapter}-*.svg"))
        if re.search(r"\d[\d.,]*\d", drawing_text(drawing.stem))
    ]
    tests = ROOT / "tests" / "chapters" / chapter.replace("-", "_") / "test_page.py"
    missing = f"write {tests.relative_to(ROOT)}: it holds {with_numbers} against the example"
    assert not with_numbers or tests.is_file(), missing


def test_every_drawing_is_shown_and_every_chapter_has_one():
    files = {path.name for path in DRAWINGS.glob("*.svg")}
    card_files = {f"path-{chapter.name}.svg" for chapter in (DOCS / "chapters").iterdir()}
    missing = card_files - files
    assert not missing, f"draw {missing} into docs/assets/drawings, for the chapter's card"
    shown = {drawing for _, _, drawing in SHOWN_DRAWINGS}
    wide = {drawing.with_stem(f"{drawing.stem}-wide").name for drawing in shown}
    unused = files - card_files - {drawing.name for drawing in shown} - wide
    assert not unused, f"no page shows {unused} of docs/assets/drawings: show or delete them"
