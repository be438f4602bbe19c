"""The browser that set-up chose, and how it is started."""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# Otherwise Chromium asks Google's hosts for updates; a test must see no request but the page's.
FLAGS = ["--disable-background-networking", "--disable-component-update", "--disable-quic", "--disable-sync"]
FLAGS += ["--no-first-run"]
if os.geteuid() == 0:
    FLAGS += ["--no-sandbox"]  # Chromium's sandbox refuses root


def executable() -> str:
    """The browser's path.

    Raises FileNotFoundError where set-up has not chosen one: `python3 scripts/setup.py test` does.
    """
    return (ROOT / ".venv" / "browser").read_text()
