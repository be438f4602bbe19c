"""Which modules a file reaches by what it imports, read from the text.

An import counts wherever it stands, also inside a function, and in a text that is Python of its own, as a test hands it
to another process; so does a module that a text names, ``"kernels.bench.dram"``, but not one that an error names.
Importing a module runs the packages above it, so they count, too.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path

from scripts.records.root import naming, text_of
from scripts.records.source.library import files
from scripts.records.source.trees import remembered, walked

ROOMS = ("kernels", "tests")
NAMED = re.compile(rf"\b(?:{'|'.join(ROOMS)})(?:\.\w+)+")


class Imports:
    """Who imports whom among the modules of kernels/ and of tests/."""

    def __init__(self, root: Path):
        self.root = root
        self._asked: dict[str, frozenset[str]] = {}

    @cached_property
    def there(self) -> dict[str, Path]:
        return {name: path for room in ROOMS for name, path in files(self.root, room)}

    def reached(self, names: Iterable[str]) -> set[str]:
        """These names, those that they import, and so on, also what is not there: once it is, it is another module."""
        found: set[str] = set()
        waiting = [*names]
        while waiting:
            name = waiting.pop()
            if name not in found:
                found.add(name)
                package = name.rpartition(".")[0]
                waiting += [package] if package else []
                if name in self.there:
                    waiting += self.asked(name)
                elif self._is_package(package):
                    waiting += self.asked(package, lazily=True)
        return found

    def asked(self, name: str, lazily: bool = False) -> frozenset[str]:
        """What a module imports; ``lazily``, the modules in which a package looks for the names it is asked for."""
        key = f"{name}.*" if lazily else name
        if key not in self._asked:
            path = self.there[name]
            with naming(path):
                text = text_of(path)
                self._asked[key] = (
                    frozenset(f"{name}.{each}" for each in texts_of(text) if f"{name}.{each}" in self.there)
                    if lazily
                    else imported(text, name if self._is_package(name) else name.rpartition(".")[0])
                )
        return self._asked[key]

    def _is_package(self, name: str) -> bool:
        return name in self.there and self.there[name].stem == "__init__"


@remembered
def imported(source: str, package: str) -> frozenset[str]:
    """The names that a module of a package imports, modules and what is in them alike."""
    return frozenset(name for name in named(ast.parse(source), package) if name.partition(".")[0] in ROOMS)


@remembered
def texts_of(source: str) -> frozenset[str]:
    return frozenset(texts(walked(ast.parse(source))))


def named(tree: ast.AST, package: str) -> Iterator[str]:
    nodes = walked(tree)
    for node in nodes:
        if isinstance(node, ast.Import):
            for each in node.names:
                yield each.name
                yield f"{each.name.partition('.')[0]}.*"  # of a package by itself anything may be asked
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: -(node.level - 1) or None] if node.level else []
            module = ".".join([*above, *filter(None, [node.module])])
            yield module
            yield from (f"{module}.{each.name}" for each in node.names)
    for text in texts(nodes):
        yield from NAMED.findall(text)
        if "import" in text:
            try:
                inner = ast.parse(text)
            except (SyntaxError, ValueError):
                continue
            yield from named(inner, package)


def texts(nodes: list[ast.AST]) -> Iterator[str]:
    """The texts among the nodes of a tree, but for docstrings and for what an error or an assertion says."""
    silent = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    said = [node for node in nodes if isinstance(node, ast.Raise)]
    said += [node.msg for node in nodes if isinstance(node, ast.Assert) and node.msg]
    silent |= {id(each) for node in said for each in walked(node)}
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in silent:
            yield node.value
