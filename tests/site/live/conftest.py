"""The live pieces: their models in QuickJS, and each on the page that lists all, in the browser."""

from urllib.parse import urlencode

import pytest

from scripts.records import ROOT
from scripts.site.live import Pieces


@pytest.fixture(scope="session")
def pieces() -> Pieces:
    return Pieces(ROOT / "docs" / "live")


def start_piece(page, name: str):
    piece = page.locator(f"#live-{name}")
    piece.scroll_into_view_if_needed()
    piece.locator("live-piece[ready]").wait_for()
    return piece


@pytest.fixture
def open_piece(visit):
    """Opens a piece, started, in the state that the address asks for: ``open_piece("online_softmax", step=2)``."""

    def open_in_state(name: str, width: int = 1280, **state):
        address = urlencode({f"{name}.{key}": value for key, value in state.items()})
        page = visit.reuse_tab(f"live/?{address}#live-{name}", width)
        page.emulate_media(reduced_motion="reduce")  # every picture comes to rest at once
        return start_piece(page, name)

    return open_in_state


def words_outside(piece) -> int:
    """How many words leave the picture that a piece shows, to the left or right; a halo may, by 2.5 pixels."""
    return piece.locator("svg.stage:visible").evaluate("""(stage) => {
        const all = stage.getBoundingClientRect();
        return [...stage.querySelectorAll("text")].map((each) => each.getBoundingClientRect())
            .filter(({ left, right }) => left < all.left - 3 || right > all.right + 3).length;
    }""")
