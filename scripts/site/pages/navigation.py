"""The one order of chapters, and what follows from it: navigation, sheets and snippets.

``extra: chapters`` in mkdocs.yml names each chapter by its folder, ``docs/chapters/NAME``, alone or in a part. All else
comes from the folders: the title from ``index.md``, notes and a sheet for each chapter that has ``notes.md`` and
``sheet.md``, a further page for each other file, and the snippets in the chapters' folders.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from string import ascii_lowercase

from mkdocs.exceptions import PluginError

from scripts.site.pages import labs

ROMAN = ["", "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII"]
OF_ITS_OWN = ["index.md", "notes.md", "sheet.md"]  # what each is, says its name
SHOWN_SNIPPET = re.compile(r"``` run\n\s*(\w+):|snippets/(\w+)\.ipynb")


@dataclass(frozen=True)
class Chapter:
    """
    name: of its folder, ``first-kernel``   number: 0 is the primer   part: the title of its part, if it stands in one
    text: of ``index.md``   further: the texts of the pages on which it goes on, by their addresses in docs/
    """

    name: str
    number: int
    part: str
    title: str
    text: str
    further: dict[str, str]

    @property
    def pages(self) -> dict[str, str]:
        """All that a reader of the chapter reads: texts by address."""
        return {self.page: self.text, **self.further}

    @property
    def all_text(self) -> str:
        return "\n".join(self.pages.values())

    @property
    def folder(self) -> str:
        """The name of its folders of code, in snippets/, scripts/ and tests/."""
        return self.name.replace("-", "_")

    @property
    def page(self) -> str:
        """In docs/, as its notes and its sheet are."""
        return f"chapters/{self.name}/index.md"

    @property
    def notes(self) -> str:
        return f"chapters/{self.name}/notes.md"

    @property
    def sheet(self) -> str:
        return f"chapters/{self.name}/sheet.md"

    @property
    def numbered_title(self) -> str:
        return f"{self.number} · {self.title}"


def chapters(order: list, docs: Path) -> list[Chapter]:
    """The chapters in their order.

    order: of ``chapter`` and ``{part: [chapter, ...]}``
    """
    names_and_parts = []
    for entry in order:
        parts = entry.items() if isinstance(entry, dict) else [("", [entry])]
        names_and_parts += [(name, part) for part, names in parts for name in names]
    in_order = []
    for number, (name, part) in enumerate(names_and_parts):
        folder = docs / "chapters" / name
        if not (folder / "index.md").is_file():
            raise PluginError(f"mkdocs.yml, extra.chapters: there is no docs/chapters/{name}/index.md")
        files = [folder / "index.md", *sorted(set(folder.glob("*.md")) - {folder / each for each in OF_ITS_OWN})]
        (_, text), *further = [(file.relative_to(docs).as_posix(), read(file, docs)) for file in files]
        in_order.append(Chapter(name, number, part, title(text), text, dict(further)))
    return in_order


def read(file: Path, docs: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise PluginError(f"{file.relative_to(docs.parent)} is not UTF-8: byte {error.start} cannot be read") from error


def title(markdown: str) -> str:
    return re.search(r"^# (.+)$", markdown, re.MULTILINE)[1]


def snippets(chapters: list[Chapter], paths: dict[str, Path]) -> list[tuple[Chapter, list[str]]]:
    """Each chapter that has snippets, with these in the order in which its pages first show or link them.

    paths: snippet -> its file, ``…/snippets/CHAPTER/NAME.py``
    """
    folders = {chapter.folder: chapter for chapter in chapters}
    by_folder: dict[str, list[str]] = {}
    for name, path in paths.items():
        if path.parent.name not in folders:
            raise PluginError(f"snippets/{path.parent.name}/ is the folder of no chapter in mkdocs.yml")
        by_folder.setdefault(path.parent.name, []).append(name)

    def in_page_order(chapter: Chapter) -> list[str]:
        shown = [first or second for first, second in SHOWN_SNIPPET.findall(chapter.all_text)]
        return sorted(
            by_folder[chapter.folder], key=lambda name: (shown.index(name) if name in shown else len(shown), name)
        )

    return [(chapter, in_page_order(chapter)) for chapter in chapters if chapter.folder in by_folder]


def expand(nav: list, chapters: list[Chapter], snippets: list[tuple[Chapter, list[str]]], docs: Path) -> list:
    """The navigation of mkdocs.yml, in which a folder, such as ``whiteboard/``, stands for its pages."""
    folders = {
        "chapters/": chapter_entries(chapters),
        "notes/": [{each.numbered_title: each.notes} for each in chapters if (docs / each.notes).is_file()],
        "whiteboard/": [{each.numbered_title: each.sheet} for each in chapters if (docs / each.sheet).is_file()],
        "labs/": [{lab.numbered_title: lab.page} for lab in labs.all_labs(docs.parent)],
        "snippets/": [
            {chapter.numbered_title: [f"snippets/{name}.ipynb" for name in names]} for chapter, names in snippets
        ],
    }

    def expand_entries(entries: list) -> list:
        result = []
        for entry in entries:
            if isinstance(entry, dict):
                result.append(
                    {name: expand_entries(each) if isinstance(each, list) else each for name, each in entry.items()}
                )
            else:
                result += folders.get(entry, [entry])
        return result

    return expand_entries(nav)


def pages(nav: list) -> Iterator[str]:
    """The pages of the navigation, in its order."""
    for entry in nav:
        if isinstance(entry, dict):
            for inner in entry.values():
                yield from pages(inner if isinstance(inner, list) else [inner])
        else:
            yield entry


def sheet_name(page: str) -> str:
    """What the board of a sheet is called: its chapter, or ``talk``; nothing if the page is no sheet."""
    folder, _, file = page.rpartition("/")
    if folder == "whiteboard":
        return "" if file in ("index.md", "all.md") else file.removesuffix(".md")
    return folder.removeprefix("chapters/") if folder.startswith("chapters/") and file == "sheet.md" else ""


def chapter_name(page: str) -> str:
    """The chapter of a page, ``balloon`` of ``chapters/balloon/notes.md``; nothing if it's of none."""
    return page.split("/")[1] if re.match(r"chapters/[^/]+/", page) else ""


def chapter_entries(chapters: list[Chapter]) -> list[dict]:
    """Chapters with their numbers and their further pages, ``5b``; those of a part below its title and number."""
    entries: list[dict] = []
    parts: dict[str, list] = {}
    for chapter in chapters:
        of_chapter = [{chapter.numbered_title: chapter.page}]
        for letter, (page, text) in zip(ascii_lowercase[1:], chapter.further.items(), strict=False):
            of_chapter.append({f"{chapter.number}{letter} · {title(text)}": page})
        if not chapter.part:
            entries += of_chapter
            continue
        if chapter.part not in parts:
            parts[chapter.part] = []
            entries.append({f"{ROMAN[len(parts)]} · {chapter.part}": parts[chapter.part]})
        parts[chapter.part] += of_chapter
    return entries
