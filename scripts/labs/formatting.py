"""How the grader writes a number, a list, a sentence and a heading."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor


def pluralize(count: int, singular: str) -> str:
    """``1 place``, ``2 places``"""
    return f"{count} {singular}" if count == 1 else f"{count} {singular}s"


def join_words(names: Iterable[str], joint: str = "and") -> str:
    """``x``, ``x and y``, ``x, y and out``"""
    *others, last = names
    return f"{', '.join(others)} {joint} {last}" if others else last


def with_full_stop(text: str) -> str:
    """The sentence with a full stop, if it has no end of its own."""
    return text if text.endswith((".", "?", "!")) else f"{text}."


def format_number(value: Tensor) -> str:
    """One number; a byte also in base 16, where each of its halves is a digit."""
    if value.is_floating_point():
        return f"{value.item():.7g}"
    return f"{value.item()} (0x{value.item():02x})" if value.dtype == torch.uint8 else str(value.item())


def two_digits(value: float) -> str:
    """Two digits, and no exponent where none is needed: ``0.4``, ``0.00012``, ``1.2e-07``"""
    return f"{value:.2g}"


def format_heading(heading: str) -> str:
    """A heading without the marks of its source: chapter 5, “The smallest kernel”."""
    chapter, _, title = heading.replace("`", "").partition(", ")
    return f"{chapter}, “{title.strip('*')}”"
