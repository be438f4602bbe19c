"""The root of the repository, and the errors of a snippet or its record."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


class RecordError(Exception):
    """A snippet or its record can't be used. The message names it, says what's wrong and what to do."""


class Missing(RecordError):
    """The snippet has never run."""


class Stale(RecordError):
    """The source changed since the record was made."""


class UnsuitableMachine(RecordError):
    """No record can be made on this machine."""


def text_of(path: Path) -> str:
    """Returns the text of a file; raises RecordError with its name if it isn't UTF-8."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        where = "/".join(path.parts[-3:])
        raise RecordError(f"{where} isn't UTF-8: byte {error.start} can't be read") from error
