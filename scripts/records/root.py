"""Where the rooms are, and what can be wrong with a snippet or its record."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


class RecordError(Exception):
    """A snippet or its record cannot be used.  The message names it, what is wrong and what to do."""


class Missing(RecordError):
    """The snippet has not been run yet."""


class Stale(RecordError):
    """The record is not the outcome of running today's source on a GPU."""
