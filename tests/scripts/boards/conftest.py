"""A board whose record is missing or stale is skipped, as a figure is."""

from tests.scripts.figures.conftest import table  # noqa: F401
