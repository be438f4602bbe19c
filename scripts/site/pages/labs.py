"""The labs as pages know them: what ``about.toml`` says, read without importing a lab."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

CATALOGUE = "scripts/labs/catalogue"


@dataclass(frozen=True)
class Lab:
    """name: of its page, ``vector-add``   chapter: of that of its chapter, ``first-kernel``"""

    name: str
    number: int
    title: str
    chapter: str
    minutes: int

    @property
    def numbered(self) -> str:
        return f"{self.number} · {self.title}"

    @property
    def page(self) -> str:
        return f"labs/{self.name}.md"

    @property
    def file(self) -> str:
        """The reader's file."""
        return f"{self.number:02d}_{self.name.replace('-', '_')}.py"

    def chapter_linked(self, chapters: dict) -> str:
        chapter = chapters[self.chapter]
        return f"[{chapter.number or 'primer'}](../chapters/{chapter.name}.md)"

    def head(self, chapters: dict) -> str:
        """The line below the title of its page."""
        chapter = chapters[self.chapter]
        where = f"chapter {chapter.number}" if chapter.number else "the primer"
        return (
            f"*Lab {self.number}, for [{where}](../chapters/{chapter.name}.md). About {self.minutes} minutes. "
            f"Your file: `labs/{self.file}`. The grader: `make lab N={self.number}`.*"
        )


def every(root: Path) -> list[Lab]:
    """All labs, by number."""
    found = []
    for path in root.glob(f"{CATALOGUE}/*/about.toml"):
        said = tomllib.loads(path.read_text(encoding="utf-8"))
        name = path.parent.name.replace("_", "-")
        found.append(Lab(name, said["number"], said["title"], said["chapter"], said["minutes"]))
    return sorted(found, key=lambda lab: lab.number)
