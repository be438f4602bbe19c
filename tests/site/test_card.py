"""What other sites show beside a link: drawn here when it is missing, so `rm docs/assets/card.png` draws it anew.

It says within itself what it was drawn from, since the same drawing is not the same pixels on every machine.
"""

import hashlib
import struct
import zlib

from scripts.records import ROOT
from tests.site.test_colours import scheme

CARD = ROOT / "docs" / "assets" / "card.png"
DRAWING = ROOT / "docs" / "assets" / "drawings" / "streaming.svg"
LOGO = ROOT / "scripts" / "site" / "theme" / ".icons" / "handbook" / "logo.svg"
SIZE = {"width": 1200, "height": 630}
FACE = """
body { margin: 0; display: grid; grid-template-columns: 620px 580px; height: 630px;
  font-family: Liberation Sans, Arial, sans-serif; background: var(--hb-header); color: #fff; }
h1 { font: 700 72px/1.12 Liberation Serif, Georgia, serif; margin: 30px 0 36px; }
p { font-size: 30px; line-height: 1.4; margin: 0; opacity: 0.85; }
.words { padding: 70px 40px 0 70px; }
.words svg { width: 84px; fill: #ffc857; }
.drawing { background: var(--hb-paper); color: var(--hb-ink); display: grid; place-items: center; }
.drawing svg { width: 510px; max-width: none !important; height: auto; }
"""


def document() -> str:
    """The card as a page, of a drawing and the colours of today."""
    colours = "".join(f"--hb-{name}: {colour};" for name, colour in scheme("light").items())
    logo, drawing = (path.read_text(encoding="utf-8") for path in (LOGO, DRAWING))
    return (
        f"<!doctype html><style>:root {{{colours}}}{FACE}</style>"
        f'<div class="words">{logo}<h1>The Attention Kernel Handbook</h1>'
        "<p>From three lines of PyTorch to kernels that keep a GPU busy.</p></div>"
        f'<div class="drawing">{drawing[drawing.index("<svg") :]}</div>'
    )


def source() -> bytes:
    return hashlib.sha256(document().encode()).hexdigest().encode()


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def test_the_card_is_of_todays_drawing(chromium):
    if not CARD.exists():
        page = chromium.running.new_page(viewport=SIZE)
        page.set_content(document())
        shot = page.screenshot()
        page.close()
        begins = 33  # a PNG's signature and its header
        CARD.write_bytes(shot[:begins] + chunk(b"tEXt", b"Source\0" + source()) + shot[begins:])
    kept = CARD.read_bytes()
    assert struct.unpack(">II", kept[16:24]) == (SIZE["width"], SIZE["height"])
    assert b"Source\0" + source() in kept, (
        "the drawing or a colour has changed: rm docs/assets/card.png, and test again"
    )
    assert len(kept) < 200_000
