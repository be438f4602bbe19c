"""What a run depends on: its own text, and every module of kernels/ and tests/ that it reaches by imports.

One rule, for snippets and for tests. We cut out what no run depends on (comments, docstrings, blank lines, what `raise`
is given) and hash the rest, module by module. The hash is of text, so it's the same on every Python.
"""

import ast
import hashlib
import io
import re
import tokenize
from collections.abc import Iterable, Iterator
from functools import cached_property, lru_cache
from itertools import accumulate
from pathlib import Path

from scripts.records.root import RecordError, text_of

HASHED_ROOMS = ("kernels", "tests")
DOTTED_NAME = re.compile(rf"\b(?:{'|'.join(HASHED_ROOMS)})(?:\.\w+)+")
DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
memoized = lru_cache(maxsize=1024)  # by the text itself, so nothing old is ever found


@memoized
def significant_text(source: str) -> str:
    """Returns a Python text without comments, docstrings, blank lines and the arguments of what is raised."""
    pieces, at = [], 0
    for begin, end in sorted(_insignificant_spans(source)):
        if begin >= at:  # else it's a comment inside a piece that's already cut out
            pieces.append(source[at:begin])
            at = end
    pieces.append(source[at:])
    return "\n".join(line.rstrip() for line in "".join(pieces).splitlines() if line.strip())


def _insignificant_spans(source: str) -> Iterator[tuple[int, int]]:
    """Yields where each piece begins and ends that no run depends on, in characters."""
    lines = source.splitlines(keepends=True)
    starts = [0, *accumulate(map(len, lines))]

    def place(line: int, offset: int) -> int:  # ast counts bytes
        return starts[line - 1] + len(lines[line - 1].encode()[:offset].decode())

    def end(node: ast.AST) -> int:
        return place(node.end_lineno, node.end_col_offset)

    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            yield end(node.exc.func), end(node.exc)
        elif isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            text = node.body[0]
            yield place(text.lineno, text.col_offset), end(text)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            begin = starts[token.start[0] - 1] + token.start[1]
            yield begin, begin + len(token.string)


def short_hash(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]


class Modules:
    """The modules of kernels/ and tests/ below a root: their files, what they import, their hashes."""

    def __init__(self, root: Path):
        self.files: dict[str, Path] = {}
        for room in HASHED_ROOMS:
            for path in sorted((root / room).rglob("*.py")):
                parts = path.relative_to(root).with_suffix("").parts
                if not path.name.startswith("."):
                    self.files[".".join(parts[:-1] if path.stem == "__init__" else parts)] = path
        self._hashes_and_names: dict[str, tuple[str, set[str]]] = {}

    def reachable(self, source: str) -> set[str]:
        """Returns the modules that a text imports, and those that they import, and so on."""
        waiting, reached = [*self._modules_named_in(source)], set()
        while waiting:
            name = waiting.pop()
            if name not in reached:
                reached.add(name)
                waiting += self._read(name)[1]
        return reached

    def digests(self, names: Iterable[str]) -> dict[str, str]:
        """Returns the hash of each of these modules."""
        return {name: self._read(name)[0] for name in sorted(names)}

    @cached_property
    def _public_names(self) -> dict[str, str]:
        """Returns the names that the package lists, each with its module: ``{"merge": "kernels.flash.partial"}``."""
        listed: dict[str, str] = {}
        for node in ast.walk(ast.parse(text_of(self.files["kernels"]))):
            if isinstance(node, ast.Dict) and all(
                isinstance(each, ast.Constant) for each in [*node.keys, *node.values]
            ):
                pairs = zip(node.keys, node.values, strict=True)
                listed |= {key.value: f"kernels.{value.value}" for key, value in pairs}
        return {name: module for name, module in listed.items() if module in self.files}

    def _read(self, name: str) -> tuple[str, set[str]]:
        """Returns the hash of a module, and the modules that it names."""
        if name not in self._hashes_and_names:
            text = text_of(self.files[name])
            try:
                self._hashes_and_names[name] = short_hash(significant_text(text)), self._modules_named_in(text)
            except (SyntaxError, ValueError) as error:  # a NUL is a ValueError on 3.11
                raise RecordError(f"{name} isn't Python: {error}") from error
        return self._hashes_and_names[name]

    def _modules_named_in(self, source: str) -> set[str]:
        """Returns the modules that a text names in its imports and strings, and the packages around them.

        The package's list of names isn't needed: a name on it (`from kernels import attention`) leads to its module,
        and to another one if the list changes. A name that isn't on it may come from any module.
        """
        names: set[str] = set()
        for name in imported_names(source):
            parts = name.split(".")
            around = {".".join(parts[:depth]) for depth in range(1, len(parts) + 1)} & self.files.keys()
            if around == {"kernels"} and (module := self._public_names.get(".".join(parts[1:]))):
                names |= self._modules_named_in(f"import {module}")
                continue
            names |= around - {"kernels"} or around
            if around == {"kernels"} and name != "kernels":
                names |= {each for each in self.files if each.startswith("kernels.")}
        return names


@memoized
def imported_names(source: str) -> frozenset[str]:
    """Returns the dotted names of kernels/ and tests/ that a text imports, or names in a string."""
    names, not_run = set(), set()  # docstrings and messages name modules that they don't run
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Raise) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
            not_run |= {id(each) for each in ast.walk(node)}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in not_run:
            names |= {*DOTTED_NAME.findall(node.value)}
        elif isinstance(node, ast.Import):
            names |= {f"{each.name}.*" if each.name in HASHED_ROOMS else each.name for each in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {f"{node.module}.{each.name}" for each in node.names} | ({str(node.module)} - {*HASHED_ROOMS})
    return frozenset(name for name in names if name.partition(".")[0] in HASHED_ROOMS)
