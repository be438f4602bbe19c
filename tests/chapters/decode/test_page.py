"""Chapter 11's drawings of pages and of shares."""

import re

from tests.chapters.rows import rows
from tests.docs.page_text import DOCS, drawing_text


def svg(name):
    return (DOCS / "assets" / "drawings" / f"{name}.svg").read_text(encoding="utf-8")


def test_the_drawn_pages_are_those_of_the_snippet():
    filled = re.findall(r'data-page="(\d)".*?height="([\d.]+)"', svg("decode-pages"))
    assert {int(page): float(high) / 96 * 16 for page, high in filled} == {6: 16, 1: 16, 2: 1, 5: 8}
    last = rows("kv_cache", "pages")[-1]
    assert (last["pages_0"], last["pages_1"]) == ("[6, 1, 2]", "[5]")
    shown = drawing_text("decode-pages")
    assert f"{last['length_0']} tokens" in shown and f"{last['length_1']} tokens" in shown
    assert shown.count("free") == last["free"] == 4
    assert f"token 20 of sequence 0: page {[6, 1, 2][20 // 16]}, row {20 % 16}" in shown


def test_the_drawn_shares_are_equal():
    blocks = re.findall(r'data-block="(\w)(\d)"', svg("decode-split"))
    assert blocks == [("A", str(i)) for i in range(7)] + [("B", "0"), ("B", "1")]
    assert "sequence A, 7 blocks B, 2 blocks" in drawing_text("decode-split")
    assert [len(blocks) // 3 * p + min(p, len(blocks) % 3) for p in range(4)] == [0, 3, 6, 9]  # as start_of
