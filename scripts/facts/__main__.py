"""Says where a page's words aren't what its facts return today: ``.venv/bin/python -m scripts.facts [--write]``.

``--write`` puts today's words onto the pages.
"""

from __future__ import annotations

import sys

from scripts import facts, records
from scripts.facts.words import NoWords

DOCS = records.ROOT / "docs"


def main(arguments: list[str]) -> int:
    write, wrong = "--write" in arguments, []
    for path in sorted(DOCS.rglob("*.md")):
        page, text = path.relative_to(DOCS).as_posix(), path.read_text(encoding="utf-8")
        found, fault = today(page, text)
        wrong += fault
        if found != text and write:
            path.write_text(found, encoding="utf-8")
            print(f"docs/{page}: rewritten")
        elif found != text:
            wrong.append(f"docs/{page}: words to rewrite; .venv/bin/python -m scripts.facts --write does it")
    print("\n".join(wrong))
    return int(bool(wrong))


def today(page: str, text: str) -> tuple[str, list[str]]:
    """Returns a page with today's words in it, and what's wrong with facts that have none."""
    wrong = []
    for match, said, name in reversed([*facts.marks(text)]):
        try:
            words = facts.find(name, facts.chapter_of(page))()
        except (facts.FactError, NoWords, records.RecordError) as error:
            line = text.count("\n", 0, match.start()) + 1
            wrong.append(f"docs/{page}, line {line}: {error}")
            continue
        if words != said:
            text = f"{text[: match.start(1)]}{words}{text[match.end(1) :]}"
    return text, wrong


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
