"""A drawing has no number with a unit that its page does not compute, and its text alternative none of its own."""

import re

import pytest

from tests.docs.equations import equations
from tests.docs.pages import CODE, DOCS, DRAWINGS, PICTURE, VALUE, blocks, drawn, value
from tests.docs.quantities import NUMBER, known

PLAIN = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?")
BESIDE = {
    "kitchen",
    "does-it-fit",
}  # tests of their chapters compute them
SHOWN = [
    (page.relative_to(DOCS).as_posix(), words, DRAWINGS / source.rpartition("/")[2])
    for page in sorted(DOCS.rglob("*.md"))
    for words, source in PICTURE.findall(page.read_text(encoding="utf-8"))
    if "assets/drawings/" in source
]
BY_DRAWING = pytest.mark.parametrize("page, words, drawing", SHOWN, ids=[drawing.stem for _, _, drawing in SHOWN])


def numbers(text):
    return {number.rstrip(",") for number in PLAIN.findall(text)}


def labels(drawing):
    return re.sub(r"\bB per clock", "bytes per clock", drawn(drawing))


def computed(page):
    """The numbers on a page that an equation or a mark computes, that are quoted, or that have a unit and are known."""
    found = blocks(page)
    sure = {(each.line, start) for each in equations(found) if each.verdict == "holds" for start in each.numbers}
    typed = {match[0] for block in found for match in PLAIN.finditer(block.text) if (block.line, match.start()) in sure}
    quoted = {value for block in found for value in re.findall(f"{VALUE}([^{VALUE}]+){VALUE}", block.text)}
    return typed | quoted | {quantity.split()[0] for quantity in with_unit(page)}


def with_unit(page):
    """The numbers with a unit that are vouched for on a page."""
    return {quantity for quantity in known(page, tuple(blocks(page))) if NUMBER.fullmatch(quantity)}


def awaited(page):
    """How many numbers a page quotes from runs that are awaited."""
    quoted = re.findall(r"`(#!value [^`]+)`", (DOCS / page).read_text(encoding="utf-8"))
    return sum(value(source) == CODE for source in quoted)


@BY_DRAWING
def test_the_text_alternative_says_what_is_drawn(page, words, drawing):
    written = " ".join(block.text for block in blocks(page))
    assert numbers(words) - numbers(drawn(drawing)) - numbers(written) == set()
    assert set(NUMBER.findall(words)) - set(NUMBER.findall(labels(drawing))) - with_unit(page) == set()


@BY_DRAWING
def test_what_is_drawn_is_computed_on_the_page(page, words, drawing):
    missing = {quantity.split()[0] for quantity in NUMBER.findall(labels(drawing))} - computed(page)
    if missing and drawing.stem not in BESIDE and len(missing) <= (count := awaited(page)):
        pytest.skip(f"{count} values of {page} await their run")
    assert bool(missing) == (drawing.stem in BESIDE), missing


def test_every_drawing_is_shown():
    assert {path.name for path in DRAWINGS.glob("*.svg")} == {drawing.name for _, _, drawing in SHOWN}
