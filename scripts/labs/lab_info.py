"""What ``about.toml`` says of a lab, read without PyTorch: its number, its title, its files.

A lab is a folder of the catalogue.
"""

from __future__ import annotations

import ast
import re
import tomllib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CATALOGUE = Path("scripts/labs/catalogue")


class LabError(Exception):
    """What was asked for is not there; the message says what is."""


@dataclass(frozen=True)
class LabInfo:
    """``about.toml`` of a lab.

    slug: ``vector-add``, also the name of its page   chapter: its page, ``first-kernel``
    forbidden_names: those that the reader's file may not use, since they are the task: ``softmax``, or ``@``
    minutes: what it takes somebody who does it for the first time
    functions: what the reader writes, or has others call   triton: whether it is written in Triton
    """

    slug: str
    number: int
    title: str
    chapter: str
    minutes: int
    functions: tuple[str, ...]
    triton: bool
    forbidden_names: tuple[str, ...] = ()
    root: Path = ROOT

    @property
    def folder(self) -> str:
        """What its folder is called in scripts/labs/catalogue and in tests/labs."""
        return self.slug.replace("-", "_")

    @property
    def start(self) -> Path:
        """The file that the reader begins with."""
        return self.root / CATALOGUE / self.folder / "start.py"

    @property
    def file(self) -> str:
        """The reader's file, in labs/."""
        return f"{self.number:02d}_{self.folder}.py"

    @property
    def page(self) -> str:
        return f"docs/labs/{self.slug}.md"

    @cached_property
    def signatures(self) -> dict[str, tuple[str, ...]]:
        """Function -> the names of its arguments, as the start file has them."""
        tree = ast.parse(self.start.read_text(encoding="utf-8"))
        arguments = {node.name: node.args for node in tree.body if isinstance(node, ast.FunctionDef)}
        return {name: tuple(each.arg for each in arguments[name].args) for name in self.functions}


def all_labs(root: Path = ROOT) -> list[LabInfo]:
    """All labs, by number."""
    labs = [read(path, root) for path in sorted((root / CATALOGUE).glob("*/about.toml"))]
    return sorted(labs, key=lambda info: info.number)


def read(path: Path, root: Path = ROOT) -> LabInfo:
    settings = tomllib.loads(path.read_text(encoding="utf-8"))
    settings |= {name: tuple(each) for name, each in settings.items() if isinstance(each, list)}
    return LabInfo(slug=path.parent.name.replace("_", "-"), root=root, **settings)


def find(query: str, root: Path = ROOT) -> LabInfo:
    """The lab of that number or name.

    Raises:
        LabError: if there is none.
    """
    labs = all_labs(root)
    for info in labs:
        if query.strip().lower().replace("_", "-") in (str(info.number), f"{info.number:02d}", info.slug):
            return info
    names = ", ".join(f"{info.number} {info.slug}" for info in labs)
    raise LabError(f"There is no lab {query!r}; there are: {names}")


def chapters(root: Path = ROOT) -> list[str]:
    """The chapters in the order of mkdocs.yml; the place of each is its number."""
    listed = (root / "mkdocs.yml").read_text(encoding="utf-8").partition("\n  chapters:\n")[2]
    return re.findall(r"^ +- ([\w-]+)$", listed.partition("\nextra_css")[0], re.MULTILINE)


def heading(address: str, root: Path = ROOT) -> str:
    """``first-kernel#the-smallest-kernel`` in words: chapter 5, *The smallest kernel*.

    Raises:
        LabError: if neither the chapter nor its notes have such a heading.
    """
    chapter, _, anchor = address.partition("#")
    names = chapters(root)
    if chapter not in names:
        raise LabError(f"{address}: there is no chapter {chapter}")
    where = f"chapter {names.index(chapter)}" if names.index(chapter) else "the primer"
    for page, place in (("index.md", where), ("notes.md", f"the notes of {where}")):
        text = (root / "docs" / "chapters" / chapter / page).read_text(encoding="utf-8")
        for title in re.findall(r"^#{2,4} (.+?)(?: *\{.*\})?$", text, re.MULTILINE):
            if anchor_of(title) == anchor:
                return f"{place}, *{title}*"
    raise LabError(f"{address}: neither the page nor the notes of docs/chapters/{chapter} have such a heading")


def anchor_of(title: str) -> str:
    """The anchor that the site gives to a heading."""
    return re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", title.lower().encode("ascii", "ignore").decode()).strip())
