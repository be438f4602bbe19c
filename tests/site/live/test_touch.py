"""Each piece answers a finger on a phone: a tap, and where there is something to drag, a drag."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Locator

from tests.site.live.test_pieces import NAMES

STEPS = 8  # of a drag

# What is tapped, by role and name, and what the piece then says; a slider is tapped at its right end.
TAPPED = {
    "balloon": ("button", "Step", "out of memory"),
    "bits": ("button", "mantissa bit 3", "stored\t0.09375"),
    "block": ("button", "place 2:", "Place 2: "),
    "calculator": ("slider", "Sequences at once", "does not fit"),
    "cells": ("checkbox", "copy with", "cells 0, 1, 2 and 3"),
    "decode": ("button", "The next token comes", "the past has 4 in A"),
    "flash": ("checkbox", "causal", "2 of the 4 need a mask"),
    "overflow": ("button", "Set score 1 to 100", "e to the 100 does not fit FP16"),
    "program": ("slider", "Stride", "12.5 %"),
    "ring": ("button", "Step", "Use 1 of V is there"),
    "row": ("slider", "q · k, key 2", "99"),
    "stream": ("button", "Step", "2 of 3"),
    "tile": ("slider", "Edge", "72 fetches for 432 FLOP"),
    "trips": ("button", "Step", "The scale writes the scores"),
    "words": ("button", "on", "from on"),
}


@pytest.fixture
def phone(visit):
    return visit.go(visit.tab("light", 390, touch=True), "live/")


def started(page, name: str) -> Locator:
    piece = page.locator(f"#live-{name}")
    piece.scroll_into_view_if_needed()
    piece.locator("live-piece[ready]").wait_for()
    return piece


def said(piece: Locator) -> str:
    """All that it shows, and what its drawings are called."""
    drawings = "(drawings) => drawings.map((drawing) => drawing.getAttribute('aria-label'))"
    return " ".join([piece.inner_text(), *piece.get_by_role("img").evaluate_all(drawings)])


def drag(piece: Locator, what: Locator, right: float, down: float) -> None:
    what.scroll_into_view_if_needed()
    box = what.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    finger = piece.page.context.new_cdp_session(piece.page)
    for step in range(STEPS + 1):
        points = [{"x": x + step / STEPS * right, "y": y + step / STEPS * down}]
        finger.send("Input.dispatchTouchEvent", {"type": "touchMove" if step else "touchStart", "touchPoints": points})
        piece.page.wait_for_timeout(20)  # a frame, in which the page would begin to scroll
    finger.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    piece.page.wait_for_timeout(100)


def test_a_tap_is_answered(phone):
    for name, (role, label, expected) in TAPPED.items():
        piece = started(phone, name)
        control = piece.get_by_role(role, name=label, exact=role == "button" and label in ("Step", "on")).first
        assert expected not in said(piece), f"{name} says it before it is touched"
        box = control.bounding_box()
        control.tap(position={"x": box["width"] - 3, "y": box["height"] / 2} if role == "slider" else None)
        assert expected in said(piece), name


def test_an_arrow_follows_the_finger_and_the_page_stays(phone):
    piece = started(phone, "dot")
    arrow, k = piece.locator("circle").nth(1), piece.get_by_label("k", exact=True)
    before = k.input_value()
    stays(phone, lambda: drag(piece, arrow, 0, -80))  # up the page, on which it would scroll
    assert k.input_value() != before


def test_a_kernel_follows_the_finger_along_the_roof_and_the_page_stays(phone):
    piece = started(phone, "roof")
    grip = piece.locator(".hb-live__grip")
    grip.scroll_into_view_if_needed()
    before = grip.bounding_box()["x"]
    stays(phone, lambda: drag(piece, grip, 60, -90))
    assert abs(grip.bounding_box()["x"] - before - 60) < 6


def stays(page, dragged: Callable[[], None]) -> None:
    """A page that goes along with the finger scrolls, and takes the finger away from what it drags."""
    page.evaluate("addEventListener('pointercancel', () => (window.taken = true), true)")
    dragged()
    assert not page.evaluate("window.taken")


def test_a_question_is_answered_by_a_tap(visit):
    page = visit.go(visit.tab("light", 390, touch=True), "chapters/number-formats/")
    page.locator("#questions").scroll_into_view_if_needed()
    question = page.get_by_role("group", name="Question 1")
    question.get_by_role("button", name="(a)").tap()
    assert question.get_by_role("status").inner_text().startswith("Wrong. (a)")


def test_every_piece_is_touched():
    assert {*TAPPED, "dot", "roof"} == set(NAMES)
