"""Where the rooms are, and what can be wrong with a snippet or its record."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


class RecordError(Exception):
    """A snippet or its record cannot be used.  The message names it, what is wrong and what to do."""


class Missing(RecordError):
    """The snippet has not been run yet."""


class Waiting(Missing):
    """A part has not been run yet, or not since its source changed; the rest of the record is up to date.

    files: the files of that part
    """

    def __init__(self, message: str, files: list[str]):
        super().__init__(message)
        self.files = files


class Stale(RecordError):
    """The record is not the outcome of running today's source on a GPU."""


def text_of(path: Path) -> str:
    """The text of a file.

    Raises:
        RecordError: with the file, if it is not UTF-8.
    """
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise RecordError(f"{shown(path)} is not UTF-8: its byte {error.start} cannot be read") from error


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Turns what is no Python in a file into one sentence that names the file.

    Raises:
        RecordError: with the file and the line.
    """
    try:
        yield
    except SyntaxError as error:
        raise RecordError(f"{shown(path)}, line {error.lineno}: {error.msg}") from error
    except ValueError as error:  # a NUL, before Python 3.12
        raise RecordError(f"{shown(path)}: {error}") from error


def shown(path: Path) -> str:
    """The last parts of a path, as a message names a file of any root."""
    return "/".join(path.parts[-3:])


def is_hidden(path: Path) -> bool:
    """Whether an editor or a file system keeps the file for itself: ``.#scaling.py``, ``._scaling.py``."""
    return path.name.startswith(".")
