"""Puts today's words of every fact onto the pages, and says which fact has none: ``make facts``.

With each change it prints what to read again: the sentence, figures whose text alternative uses the same fact, and
boards and whatever else imports it.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator

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
    chapter = facts.chapter_of_page(page)
    for match, old_words, name in reversed([*facts.marks(text)]):
        where = f"docs/{page}:{text.count(chr(10), 0, match.start()) + 1}: "
        try:
            words = facts.find(name, chapter)()
        except (facts.FactError, NoPhrase, records.RecordError) as error:
            wrong.insert(0, f"{where}{error}")
            continue
        if words != old_words:
            fact = facts.full_name(name, chapter)
            read_again = [facts.sentence(text, match, words), *figures_with(fact), *importers_of(fact)]
            changes.insert(0, "\n    ".join([f"{where}{old_words!r} is now {words!r}", *read_again]))
            text = f"{text[: match.start(1)]}{words}{text[match.end(1) :]}"
    return text, changes, wrong


def figures_with(fact: str) -> Iterator[str]:
    """Yields a request to read the text alternative of each figure that uses a fact, ``chapter.name``."""
    for path in sorted(records.ROOT.glob("scripts/chapters/*/figures/*.py")):
        chapter = path.parents[1].name
        if fact in {facts.full_name(mark, chapter) for mark in facts.MARK.findall(path.read_text(encoding="utf-8"))}:
            yield f"also read the ALT of figure {path.stem}"


def importers_of(fact: str) -> Iterator[str]:
    """Yields a request to read each file of scripts/chapters that imports a fact, ``chapter.name``."""
    chapter, _, name = fact.partition(".")
    for path in sorted(records.ROOT.glob("scripts/chapters/**/*.py")):
        imports = (node for node in ast.walk(ast.parse(path.read_bytes())) if isinstance(node, ast.ImportFrom))
        if any(
            node.module == f"scripts.chapters.{chapter}.facts" and name in {each.name for each in node.names}
            for node in imports
        ):
            yield f"also read {path.relative_to(records.ROOT).as_posix()}"


if __name__ == "__main__":
    sys.exit(main())
