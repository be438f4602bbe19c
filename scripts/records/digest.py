"""Hashes what a run depends on: its own text, and every module of kernels/ and tests/ that it reaches by imports.

One rule, for snippets and for tests. Of a module we hash what Python parses, without what no run depends on: layout,
comments, docstrings, what `raise` is given, and the names of local variables. It's the same on every Python.
"""

import ast
import hashlib
import re
from collections.abc import Iterable, Iterator
from functools import cached_property, lru_cache
from pathlib import Path

from scripts.records.root import RecordError, text_of

HASHED_FOLDERS = ("kernels", "tests")
DOTTED_NAME = re.compile(rf"\b(?:{'|'.join(HASHED_FOLDERS)})(?:\.\w+)+")
DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef
VERSIONED_FIELDS = {
    "kind",
    "type_comment",
    "type_ignores",
    "type_params",
}  # not there on every Python, and not used here
memoized = lru_cache(maxsize=1024)  # by the text itself, so nothing old is ever found


@memoized
def significant_text(source: str) -> str:
    """Returns what of a Python text a run depends on, as a text that only serves to be compared and hashed."""
    return _serialized(significant_tree(source))


def significant_tree(source: str) -> ast.Module:
    """Returns a Python text as Python parses it, without what no run depends on."""
    tree = ast.parse(source)
    of_module = {*_bound_names(tree, into_functions=False)}
    for function in _outermost_functions(tree):
        _number_locals(function, of_module)
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            node.exc.args, node.exc.keywords = [], []
        elif isinstance(node, ast.JoinedStr):  # Python 3.12 ends some with an empty text
            node.values = [each for each in node.values if not (isinstance(each, ast.Constant) and each.value == "")]
        elif isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            del node.body[0]
    return tree


def _serialized(node: object) -> str:
    if isinstance(node, ast.AST):
        fields = (
            f"{name}={_serialized(value)}" for name, value in ast.iter_fields(node) if name not in VERSIONED_FIELDS
        )
        return f"{type(node).__name__}({', '.join(fields)})"
    if isinstance(node, list):
        return f"[{', '.join(map(_serialized, node))}]"
    return ascii(node)


def _outermost_functions(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, FUNCTIONS):
            yield child
        else:
            yield from _outermost_functions(child)


def _bound_names(node: ast.AST, into_functions: bool = True) -> Iterator[str]:
    """Yields each name that is assigned, defined or imported there."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store):
            yield child.id
        elif isinstance(child, FUNCTIONS | ast.ClassDef):
            yield child.name
        elif isinstance(child, ast.alias):
            yield (child.asname or child.name).partition(".")[0]
        if into_functions or not isinstance(child, FUNCTIONS):
            yield from _bound_names(child, into_functions)


def _number_locals(function: ast.AST, of_module: set[str]) -> None:
    """Calls the variables that a function assigns 0, 1, 2, …, in their order; whoever calls it can't name them.

    Not its parameters, and no name that also means something else: in the module, in a class, an import or a pattern.
    """
    kept, stored, names = set(of_module), set(), []
    for statement in function.body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Name):
                names.append(node)
                stored |= {node.id} if isinstance(node.ctx, ast.Store) else set()
            elif isinstance(node, ast.Global | ast.Nonlocal):
                kept |= {*node.names}
            elif isinstance(node, ast.ClassDef):
                kept |= {node.name, *_bound_names(node)}
            elif isinstance(node, FUNCTIONS):
                kept.add(node.name)
            elif isinstance(node, ast.alias):
                kept.add((node.asname or node.name).partition(".")[0])
            kept |= {getattr(node, "name", None), getattr(node, "rest", None)}  # of an exception or a pattern
    kept |= {node.arg for node in ast.walk(function) if isinstance(node, ast.arg)}
    numbers: dict[str, str] = {}
    for node in names:
        if node.id in stored - kept:
            node.id = numbers.setdefault(node.id, str(len(numbers)))


def short_hash(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]


class Modules:
    """The modules of kernels/ and tests/ below a root: their files, what they import, their hashes."""

    def __init__(self, root: Path):
        self.files: dict[str, Path] = {}
        for folder in HASHED_FOLDERS:
            for path in sorted((root / folder).rglob("*.py")):
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
                names |= {file for file in self.files if file.startswith("kernels.")}
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
            names |= {f"{alias.name}.*" if alias.name in HASHED_FOLDERS else alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {f"{node.module}.{each.name}" for each in node.names} | ({str(node.module)} - {*HASHED_FOLDERS})
    return frozenset(name for name in names if name.partition(".")[0] in HASHED_FOLDERS)
