"""Reads ``about.toml`` of each lab without importing the lab, and writes the lab as a notebook."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

CATALOGUE = "scripts/labs/catalogue"


@dataclass(frozen=True)
class LabPage:
    """name: of its page, ``vector-add``   chapter: of that of its chapter, ``first-kernel``"""

    name: str
    number: int
    title: str
    chapter: str
    minutes: int
    functions: tuple[str, ...] = ()

    @property
    def numbered_title(self) -> str:
        return f"{self.number} · {self.title}"

    @property
    def page(self) -> str:
        return f"labs/{self.name}.md"

    @property
    def file(self) -> str:
        """The reader's file."""
        return f"{self.number:02d}_{self.name.replace('-', '_')}.py"

    def chapter_link(self, chapters: dict) -> str:
        chapter = chapters[self.chapter]
        return f"[{chapter.number or 'primer'}]({chapter.page})"

    def head(self, chapters: dict) -> str:
        """The line below the title of its page."""
        chapter = chapters[self.chapter]
        where = f"chapter {chapter.number}" if chapter.number else "the primer"
        return (
            f"*Lab {self.number}, for [{where}](../{chapter.page}). About {self.minutes} minutes. "
            f"Your file: `labs/{self.file}`. The grader: `make lab N={self.number}`. "
            f'The same as a notebook: <a href="../{self.name}.ipynb" download>{self.name}.ipynb</a>.*'
        )


def all_labs(root: Path) -> list[LabPage]:
    """All labs, by number."""
    labs = []
    for path in root.glob(f"{CATALOGUE}/*/about.toml"):
        settings = tomllib.loads(path.read_text(encoding="utf-8"))
        name = path.parent.name.replace("_", "-")
        values = (settings[each] for each in ("number", "title", "chapter", "minutes"))
        labs.append(LabPage(name, *values, tuple(settings["functions"])))
    return sorted(labs, key=lambda lab: lab.number)


TASK = re.compile(
    r"^# (?P<title>.+?)$\n+<!-- lab .*? -->\n+(?P<task>.*?)^(?:``` source|!\[|## )", re.DOTALL | re.MULTILINE
)
LINK = re.compile(r"\]\(\.\./(?P<page>[\w/-]+)\.md(?P<anchor>#[\w-]+)?\)")
MARKS = re.compile(r"<!--.*?-->")
SETUP_CELL = """\
# Open the notebook from within a copy of the repository, in a Jupyter whose Python has torch and triton.
import os
import sys
from pathlib import Path

here = Path.cwd()
sys.path[:0] = [str(folder) for folder in (here, *here.parents) if (folder / "scripts" / "labs").is_dir()][:1]
os.environ["TRITON_INTERPRET"] = "1"  # where each load and store can be followed; without this line a GPU is taken
from scripts.labs import grade"""


def write_notebooks(site_dir: str, root: Path, site_url: str) -> None:
    """Each lab as a notebook beside its page: the task, the file to begin with, and a cell that grades in place."""
    for lab in all_labs(root):
        path = Path(site_dir, "labs", f"{lab.name}.ipynb")
        nbformat.write(notebook(lab, root, site_url), path)


def notebook(lab: LabPage, root: Path, site_url: str):
    page = TASK.search((root / "docs" / lab.page).read_text(encoding="utf-8"))
    folder = lab.name.replace("-", "_")
    start = (root / CATALOGUE / folder / "start.py").read_text(encoding="utf-8").rstrip()
    arguments = "".join(f", {name}={name}" for name in lab.functions)
    cells = [
        new_markdown_cell(f"# {page['title']}\n\n{to_site(page['task'], site_url)}", id="task"),
        new_code_cell(SETUP_CELL, id="setup"),
        new_code_cell(start, id="yours"),
        new_code_cell(f'grade("{lab.name}"{arguments})', id="grade"),
    ]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return new_notebook(cells=cells, metadata={"kernelspec": kernel})


def to_site(markdown: str, site_url: str) -> str:
    """The Markdown of a page, with links that hold elsewhere and without marks."""
    links = LINK.sub(lambda link: f"]({site_url.rstrip('/')}/{link['page']}/{link['anchor'] or ''})", markdown)
    return MARKS.sub("", links).strip()
