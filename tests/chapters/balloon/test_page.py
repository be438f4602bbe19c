"""The chapter's drawing is to scale."""

import re

from tests.docs.page_text import DRAWINGS, drawing_text


def test_the_drawing_is_to_scale():
    text = (DRAWINGS / "balloon-metaphor.svg").read_text(encoding="utf-8")
    sides = [(int(w), int(h)) for w, h in re.findall(r'<rect [^>]*?width="(\d+)" height="(\d+)"', text)]
    sliver, square, shares, output = sides
    assert sliver == output and square == shares and square[0] == square[1] == sliver[1] == 8 * sliver[0]
    assert "N = 8d" in drawing_text("balloon-metaphor")
