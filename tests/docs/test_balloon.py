"""The drawn balloon is to scale."""

import re

from tests.docs.pages import DRAWINGS, drawn


def test_the_drawing_is_to_scale():
    text = (DRAWINGS / "balloon.svg").read_text(encoding="utf-8")
    sides = [(int(w), int(h)) for w, h in re.findall(r'<rect [^>]*?width="(\d+)" height="(\d+)"', text)]
    sliver, square, shares, output = sides
    assert sliver == output and square == shares and square[0] == square[1] == sliver[1] == 8 * sliver[0]
    assert "N = 8d" in drawn(DRAWINGS / "balloon.svg")
