"""Turns the glossary's terms into abbreviations, which Material explains wherever they are used."""

from __future__ import annotations

import re
from pathlib import Path

TAG = re.compile(r'<abbr title="([^"]*)">(.*?)</abbr>|<(/?)(details|a|h[1-6])\b', re.DOTALL)
TERM = re.compile(r"^(\S.*)\n:   (.+)$", re.MULTILINE)


def terms(docs: Path) -> dict[str, str]:
    """term -> explanation, in plain words, of the terms that are explained on hover."""
    text = (docs / "glossary.md").read_text(encoding="utf-8").partition("## Terms\n")[2].partition("\n## ")[0]
    return {term: re.sub(r" Chapter \d+\.$|<!--.*?-->|`", "", explanation) for term, explanation in TERM.findall(text)}


def terms_by_chapter(docs: Path) -> dict[int, list[str]]:
    """number of a chapter -> the terms of which the glossary says that the chapter explains them."""
    text = (docs / "glossary.md").read_text(encoding="utf-8")
    by_chapter: dict[int, list[str]] = {}
    for term, explanation in TERM.findall(text):
        if chapter := re.search(r" Chapter (\d+)\.$", explanation):
            by_chapter.setdefault(int(chapter[1]), []).append(term)
    return by_chapter


def abbreviations(docs: Path) -> str:
    """Markdown that explains each term, also in the plural and at the start of a sentence."""
    lines = []
    for term, explanation in terms(docs).items():
        plurals = [term, f"{term}s"] if term[-1] not in "0123456789s" else [term]
        for word in [*plurals, *(word[0].upper() + word[1:] for word in plurals if word[0].islower())]:
            lines.append(f"*[{word}]: {explanation}")
    return "\n\n".join(lines)  # a block each: of a block of many, the rest is gone through again for each


def explain_once(html: str) -> str:
    """``html`` with each term explained once, where it's first read.

    That's not in a heading or a link, and in what is folded only if it's nowhere else.
    """
    first: dict[str, int] = {}
    folded: dict[str, int] = {}
    inside: list[str] = []
    for tag in TAG.finditer(html):
        explanation, _, end, name = tag.groups()
        if end:
            inside.remove(name)
        elif name:
            inside.append(name)
        elif {*inside} <= {"details"}:
            (folded if inside else first).setdefault(explanation, tag.start())
    kept = {*(folded | first).values()}
    return TAG.sub(lambda tag: tag[2] if tag[2] is not None and tag.start() not in kept else tag[0], html)
