"""The page of measurements: a section for each snippet that leaves tables, made from its record."""

from __future__ import annotations

from scripts import records

MARK = "<!-- every record -->"


def with_every_record(markdown: str) -> str:
    """The page's Markdown, its mark replaced by a heading and a fence for each snippet."""
    return markdown.replace(MARK, "\n\n".join(map(section, records.names()))) if MARK in markdown else markdown


def section(name: str) -> str:
    title = records.snippet(name).cells[0].source.splitlines()[0].removeprefix("# ")
    return f"## {title}\n\n``` record\n{name}\n```"
