"""A drawing's text alternative has only numbers that are drawn or written, and every drawing is shown."""

import re
from xml.etree import ElementTree

import pytest

from tests.docs.page_text import DOCS, DRAWINGS, PICTURE

PLAIN = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?")
SHOWN = [
    (page.relative_to(DOCS).as_posix(), words, DRAWINGS / source.rpartition("/")[2])
    for page in sorted(DOCS.rglob("*.md"))
    for words, source in PICTURE.findall(page.read_text(encoding="utf-8"))
    if "assets/drawings/" in source
]


def numbers(text):
    return {number.rstrip(",") for number in PLAIN.findall(text)}


@pytest.mark.parametrize("page, words, drawing", SHOWN, ids=[drawing.stem for _, _, drawing in SHOWN])
def test_the_text_alternative_says_what_is_drawn(page, words, drawing):
    written = PICTURE.sub("", (DOCS / page).read_text(encoding="utf-8")).replace("{,}", ",")
    drawn = " ".join(ElementTree.parse(drawing).getroot().itertext())
    assert numbers(words) - numbers(drawn) - numbers(written) == set()


def test_every_drawing_is_shown():
    on_the_path = {f"path-{chapter.name}.svg" for chapter in (DOCS / "chapters").iterdir()}
    assert {path.name for path in DRAWINGS.glob("*.svg")} == on_the_path | {drawing.name for _, _, drawing in SHOWN}
