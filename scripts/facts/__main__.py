"""Puts today's words of every fact onto the pages, and says which fact has none: ``make facts``."""

from __future__ import annotations

import sys

from scripts import facts, records
from scripts.facts.phrases import NoPhrase

DOCS = records.ROOT / "docs"


def main() -> int:
    wrong = []
    for path in sorted(DOCS.rglob("*.md")):
        page, text = path.relative_to(DOCS).as_posix(), path.read_text(encoding="utf-8")
        new_text, changes, fault = rewrite(page, text)
        wrong += fault
        if changes:
            path.write_text(new_text, encoding="utf-8")
            print("\n".join(changes))
    print("\n".join(wrong) or "Each page says what its facts return today.")
    return int(bool(wrong))


def rewrite(page: str, text: str) -> tuple[str, list[str], list[str]]:
    """Returns a page with today's words in it, what has changed, and what's wrong with facts that have none."""
    changes, wrong = [], []
    for match, old_words, name in reversed([*facts.marks(text)]):
        where = f"docs/{page}:{text.count(chr(10), 0, match.start()) + 1}: "
        try:
            words = facts.find(name, facts.chapter_of_page(page))()
        except (facts.FactError, NoPhrase, records.RecordError) as error:
            wrong.insert(0, f"{where}{error}")
            continue
        if words != old_words:
            changes.insert(0, f"{where}{old_words!r} is now {words!r}")
            text = f"{text[: match.start(1)]}{words}{text[match.end(1) :]}"
    return text, changes, wrong


if __name__ == "__main__":
    sys.exit(main())
