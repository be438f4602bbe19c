"""Draws the pictures that other sites show beside a link, into docs/assets: `.venv/bin/python -m scripts.draw_cards`.

There's a card for each chapter and one for the site. It's drawn if its drawing, its words or its colours have changed,
and that's known from a digest of them inside its file: pixels differ from machine to machine.
"""

from __future__ import annotations

import hashlib
import re
import struct
import sys
import zlib
from base64 import b64encode
from html import escape

from mkdocs.config import load_config
from playwright.sync_api import Browser, sync_playwright

from scripts import browser
from scripts.records import ROOT
from scripts.site.meta.cards import Card, Cards
from scripts.site.pages import home, navigation
from scripts.site.pages.navigation import Chapter

DOCS = ROOT / "docs"
LOGO = ROOT / "scripts" / "site" / "theme" / ".icons" / "handbook" / "logo.svg"
COLOUR = re.compile(r"--hb-([\w-]+): light-dark\((#\w{6}), ")
CONFIG = load_config(str(ROOT / "mkdocs.yml"))
CARDS = Cards(navigation.chapters(CONFIG.extra["chapters"], DOCS), DOCS)
PNG_HEADER_BYTES = 33  # the signature and the first chunk
SIZE = {"width": 1200, "height": 630}
PROMISE = "From three lines of PyTorch to kernels that keep a GPU busy."
STYLE = """
body { margin: 0; display: grid; grid-template-columns: 620px 580px; height: 630px;
  background: var(--hb-paper); color: var(--hb-ink); font-family: "Handbook Sans", sans-serif; }
h1 { font: 600 72px/1.12 "Handbook Serif", serif; letter-spacing: -0.01em; margin: 30px 0 36px; }
p { font: italic 32px/1.3 "Handbook Serif", serif; color: var(--hb-soft); margin: 0; }
.words { padding: 70px 40px 0 70px; }
.words svg { width: 72px; color: var(--hb-rose); }
.drawing { border-left: 2px solid var(--hb-line); display: grid; place-items: center; }
.drawing svg { width: 510px; max-width: none !important; height: auto; }
"""
# The drawings of chapters are more than twice as wide as high: they lie below the words, not beside them.
WIDE_DRAWING_STYLE = """
body { grid-template: auto minmax(0, 1fr) / 1200px; }
h1 { font-size: 64px; margin: 10px 0 8px; white-space: nowrap; }
p { text-wrap: balance; }
.words { padding: 36px 60px 28px; }
.words svg { width: 30px; vertical-align: middle; margin-right: 14px; }
.name { font: 600 26px "Handbook Serif", serif; vertical-align: middle; }
.drawing { border: 0; border-top: 2px solid var(--hb-line); padding: 14px; }
.drawing svg { width: 100%; height: 100%; }
"""
FONT_FACES = {"sans": ("Sans", "400 600", "normal"), "serif": ("Serif", "400 600", "normal")}
FONT_FACES |= {"serif-italic": ("Serif", "400", "italic")}
CUT_OFF_TEXTS = """[...document.querySelectorAll("h1, p, .drawing svg")].filter((part) => {
  const [inner, outer] = [part, part.parentElement].map((each) => each.getBoundingClientRect());
  return part.scrollWidth > part.clientWidth || inner.bottom > outer.bottom || inner.right > outer.right;
}).map((part) => part.textContent)"""


def main() -> None:
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser.executable(), args=browser.FLAGS)
        for card in CARDS.all_cards():
            if not is_current(card):
                draw(card, chromium)
                print(f"docs/{card.address}: drawn")
        chromium.close()


def is_current(card: Card) -> bool:
    file = DOCS / card.address
    return file.exists() and b"Source\0" + source_digest(card) in file.read_bytes()


def draw(card: Card, chromium: Browser) -> None:
    """Raises SystemExit if its words don't fit."""
    page = chromium.new_page(viewport=SIZE)
    page.set_content(document(card))
    page.add_style_tag(content=font_faces())
    page.evaluate("document.fonts.ready")
    cut_off, screenshot = page.evaluate(CUT_OFF_TEXTS), page.screenshot()
    page.close()
    if cut_off:
        sys.exit(f"docs/{card.address}: too long for its card: {', '.join(cut_off)}")
    file = DOCS / card.address
    file.parent.mkdir(exist_ok=True)
    source = png_chunk(b"tEXt", b"Source\0" + source_digest(card))
    file.write_bytes(screenshot[:PNG_HEADER_BYTES] + source + screenshot[PNG_HEADER_BYTES:])


def document(card: Card) -> str:
    """A card as a page, of its drawing and the colours of today; a chapter's has its number, title and question."""
    light = dict(COLOUR.findall((DOCS / "stylesheets" / "colours.css").read_text(encoding="utf-8")))
    colours = "".join(f"--hb-{name}: {colour};" for name, colour in light.items())
    colours += "--hb-accent: var(--hb-rose);"
    logo, drawing = (path.read_text(encoding="utf-8") for path in (LOGO, card.drawing))
    style, name, title, text = STYLE, "", CONFIG.site_name, PROMISE
    if card.chapter:
        style, name = STYLE + WIDE_DRAWING_STYLE, f'<span class="name">{title}</span>'
        title, text = card.chapter.numbered_title, question(card.chapter)
    return (
        f"<!doctype html><style>:root {{{colours}}}{style}</style>"
        f'<div class="words">{logo}{name}<h1>{escape(title)}</h1>'
        f"<p>{escape(text)}</p></div>"
        f'<div class="drawing">{drawing[drawing.index("<svg") :]}</div>'
    )


def question(chapter: Chapter) -> str:
    """What the home page asks below a chapter's title."""
    text = home.question(chapter, home.front_matter((DOCS / "index.md").read_text(encoding="utf-8")))
    if not text:
        sys.exit(f"neither docs/chapters/{chapter.name}/index.md nor docs/index.md has a question for {chapter.name}")
    return text


def font_faces() -> str:
    """The site's, within the document: a page without an address may not read them from the disk."""
    rule = "@font-face {{ font-family: 'Handbook {}'; font-weight: {}; font-style: {}; src: url(data:{};base64,{}); }}"
    files = ((DOCS / "assets" / "fonts" / f"{name}.woff2", properties) for name, properties in FONT_FACES.items())
    return "".join(
        rule.format(*properties, "font/woff2", b64encode(file.read_bytes()).decode()) for file, properties in files
    )


def source_digest(card: Card) -> bytes:
    return hashlib.sha256(document(card).encode()).hexdigest().encode()


def png_chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


if __name__ == "__main__":
    main()
