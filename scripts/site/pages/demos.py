"""Writes onto a sheet how long its demo takes, as measured, in the place of a comment."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

from mkdocs.exceptions import PluginError

MARK = "<!-- demo took -->"
SECONDS = "scripts/chapters/demo_seconds.json"


def fill_times(text: str, sheet: str, root: Path) -> str:
    """The sheet's Markdown, with the seconds, the machine and the day in the place of each mark.

    Raises:
        PluginError: if nothing was measured for this sheet.
    """
    if MARK not in text:
        return text
    measured = json.loads((root / SECONDS).read_text(encoding="utf-8"))
    folder = sheet.replace("-", "_")
    if folder not in measured["seconds"]:
        raise PluginError(
            f"the sheet {sheet} has {MARK}, {SECONDS} no {folder!r}: .venv/bin/python -m scripts.time_demos"
        )
    seconds, day = measured["seconds"][folder], date.fromisoformat(measured["measured"])
    where = f"on {measured['machine']}, {day.day} {day:%B %Y}"
    return text.replace(MARK, f"{seconds} second{'s' * (seconds > 1)} {where}")
