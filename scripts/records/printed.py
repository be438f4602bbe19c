"""What an output may hold: text without what steers a terminal, and no more than a page can show."""

from __future__ import annotations

import json
import re

LARGEST = 200_000  # characters of an output: a page is to be read
STEERING = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # colours, moves, erasures
    r"|\x1b[\]PX^_][^\x1b\x07]*(?:\x07|\x1b\\)"  # titles, links and other strings
    r"|\x1b[ -/]*[0-~]"
    r"|[\x00-\x08\x0b-\x1f\x7f-\x9f]"  # a NUL, a bell, a carriage return; not a tab or the end of a line
)


def plain(value: object) -> object:
    """The same text, list or mapping without terminal sequences and control characters."""
    if isinstance(value, str):
        return STEERING.sub("", value)
    if isinstance(value, list):
        return [plain(each) for each in value]
    if isinstance(value, dict):
        return type(value)({key: plain(each) for key, each in value.items()})
    return value


def too_large(outputs: list) -> str | None:
    """What is said of the first output of a cell that is too large, if one is."""
    for size in (len(json.dumps(output)) for output in outputs):
        if size > LARGEST:
            return f"left an output of {size / 1000:.0f} KB, at most {LARGEST / 1000:.0f} are wanted: show less"
    return None
