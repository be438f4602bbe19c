"""The one order of chapters, and what follows from it: navigation, sheets and snippets.

``extra: chapters`` in mkdocs.yml names each chapter by its page, ``docs/chapters/NAME.md``, alone or in a part. All
else comes from the folders: titles from the pages, a sheet for each chapter that has ``docs/whiteboard/NAME.md``, and
the snippets in the chapters' folders.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from mkdocs.exceptions import PluginError

from scripts.site.pages import labs

ROMAN = ["", "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII"]
SHOWN = re.compile(r"``` run\n\s*(\w+):|snippets/(\w+)\.ipynb")


@dataclass(frozen=True)
class Chapter:
    """
    name: of its page, ``first-kernel``   number: 0 is the primer   part: the title of its part, if it stands in one
    """

    name: str
    number: int
    part: str
    title: str
    text: str

    @property
    def folder(self) -> str:
        """What its folder is called in all rooms of code."""
        return self.name.replace("-", "_")

    @property
    def numbered(self) -> str:
        return f"{self.number} · {self.title}"


def chapters(order: list, docs: Path) -> list[Chapter]:
    """The chapters in their order.

    order: of ``chapter`` and ``{part: [chapter, ...]}``
    """
    named = []
    for entry in order:
        parts = entry.items() if isinstance(entry, dict) else [("", [entry])]
        named += [(name, part) for part, names in parts for name in names]
    found = []
    for number, (name, part) in enumerate(named):
        file = docs / "chapters" / f"{name}.md"
        if not file.is_file():
            raise PluginError(f"mkdocs.yml, extra.chapters: there is no docs/chapters/{name}.md")
        try:
            text = file.read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise PluginError(f"docs/chapters/{name}.md is not UTF-8: byte {error.start} cannot be read") from error
        found.append(Chapter(name, number, part, title(text), text))
    return found


def title(markdown: str) -> str:
    return re.search(r"^# (.+)$", markdown, re.MULTILINE)[1]


def snippets(chapters: list[Chapter], paths: dict[str, Path]) -> list[tuple[Chapter, list[str]]]:
    """Each chapter that has snippets, with these in the order in which its page first shows or links them.

    paths: snippet -> its file, ``…/snippets/CHAPTER/NAME.py``
    """
    folders = {chapter.folder: chapter for chapter in chapters}
    found: dict[str, list[str]] = {}
    for name, path in paths.items():
        if path.parent.name not in folders:
            raise PluginError(f"snippets/{path.parent.name}/ is the folder of no chapter in mkdocs.yml")
        found.setdefault(path.parent.name, []).append(name)

    def ordered(chapter: Chapter) -> list[str]:
        shown = [first or second for first, second in SHOWN.findall(chapter.text)]
        return sorted(
            found[chapter.folder], key=lambda name: (shown.index(name) if name in shown else len(shown), name)
        )

    return [(chapter, ordered(chapter)) for chapter in chapters if chapter.folder in found]


def navigation(nav: list, chapters: list[Chapter], snippets: list[tuple[Chapter, list[str]]], docs: Path) -> list:
    """The navigation of mkdocs.yml, in which a folder, such as ``whiteboard/``, stands for its pages."""
    folders = {
        "chapters/": chapter_entries(chapters),
        "notes/": beside(chapters, docs, "notes"),
        "whiteboard/": beside(chapters, docs, "whiteboard"),
        "labs/": [{lab.numbered: lab.page} for lab in labs.every(docs.parent)],
        "snippets/": [{chapter.numbered: [f"snippets/{name}.ipynb" for name in names]} for chapter, names in snippets],
    }

    def expanded(entries: list) -> list:
        found = []
        for entry in entries:
            if isinstance(entry, dict):
                found.append({name: expanded(each) if isinstance(each, list) else each for name, each in entry.items()})
            else:
                found += folders.get(entry, [entry])
        return found

    return expanded(nav)


def beside(chapters: list[Chapter], docs: Path, folder: str) -> list[dict]:
    """The pages of a folder that belong to a chapter, by its title."""
    pages = [(chapter.numbered, f"{folder}/{chapter.name}.md") for chapter in chapters]
    return [{title: page} for title, page in pages if (docs / page).is_file()]


def sheets(nav: list, docs: Path) -> list[Path]:
    """The whiteboard sheets in the order of the navigation, those that belong to no chapter among them."""
    return [page for page in below(nav, docs / "whiteboard") if page.name not in ("index.md", "all.md")]


def below(nav: list, folder: Path) -> list[Path]:
    """The pages of a folder of docs/ in the order of the navigation."""
    found = []
    for entry in nav:
        if isinstance(entry, dict):
            for inner in entry.values():
                found += below(inner if isinstance(inner, list) else [inner], folder)
        elif entry.startswith(f"{folder.name}/"):
            found.append(folder.parent / entry)
    return found


def chapter_entries(chapters: list[Chapter]) -> list[dict]:
    """Chapters with their numbers, those of a part below its title and Roman number."""
    entries: list[dict] = []
    parts: dict[str, list] = {}
    for chapter in chapters:
        entry = {chapter.numbered: f"chapters/{chapter.name}.md"}
        if not chapter.part:
            entries.append(entry)
            continue
        if chapter.part not in parts:
            parts[chapter.part] = []
            entries.append({f"{ROMAN[len(parts)]} · {chapter.part}": parts[chapter.part]})
        parts[chapter.part].append(entry)
    return entries
