"""The text of a symbol of the library, or what a file is for, read from the file without importing it."""

from __future__ import annotations

import ast
import textwrap
from dataclasses import dataclass

from scripts.records import ROOT


class QuoteError(Exception):
    """The quotation names something that is not there; the message says what."""


@dataclass(frozen=True)
class Quote:
    """Lines ``first`` to ``last`` of ``path``, both counted from 1, without their common indentation.

    name: ``package.module.Symbol.attribute``, as the API page names it
    documented: whether that page has it
    """

    name: str
    path: str
    first: int
    last: int
    text: str
    documented: bool

    @property
    def title(self) -> str:
        return f"{self.path} · lines {self.first}–{self.last}"  # noqa: RUF001  (an en dash, as print has it)


def quote(name: str) -> Quote:
    """The source of ``package.module:Symbol.attribute``, decorators included, or of a whole ``package.module``.

    Raises:
        QuoteError: if the module has no file, or the symbol does not stand in it.
    """
    module, _, symbol = name.partition(":")
    path = ROOT / (module.replace(".", "/") + ".py")
    if not module.startswith("kernels.") or not path.is_file():
        raise QuoteError(f"{name}: kernels/ has no module {module}")
    source = path.read_text(encoding="utf-8")
    first, last, scopes = 1, source.count("\n"), [ast.parse(source)]
    if symbol:
        scopes += statements_of(scopes[0], symbol.split("."), name)
        decorators = getattr(scopes[-1], "decorator_list", [])
        first, last = min(item.lineno for item in [scopes[-1], *decorators]), scopes[-1].end_lineno
    text = textwrap.dedent("\n".join(source.splitlines()[first - 1 : last]))
    documented = "._" not in name.replace(":", ".") and all(map(has_docstring, scopes))
    return Quote(name.replace(":", "."), path.relative_to(ROOT).as_posix(), first, last, text, documented)


def purpose(path: str) -> str:
    """What a file says that it is for: the first line of its docstring.

    Raises:
        QuoteError: if there is no such file, or it does not say.
    """
    file = ROOT / path
    if not file.is_file():
        raise QuoteError(f"there is no {path}")
    docstring = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8")))
    if not docstring:
        raise QuoteError(f"{path} has no docstring, of which the first line says what it is for")
    return docstring.splitlines()[0]


def has_docstring(node: ast.AST) -> bool:
    scope = isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
    return scope and ast.get_docstring(node) is not None


def statements_of(scope: ast.AST, symbol: list[str], name: str) -> list[ast.stmt]:
    """The statements that bind ``Symbol`` and, in it, ``attribute``."""
    for node in scope.body:
        if symbol[0] in names_bound_by(node):
            return [node, *(statements_of(node, symbol[1:], name) if symbol[1:] else [])]
    raise QuoteError(f"{name}: there is no {symbol[0]} in {name.partition(':')[0]}")


def names_bound_by(node: ast.stmt) -> set[str]:
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return {node.name}
        case ast.Assign():
            return {target.id for target in node.targets if isinstance(target, ast.Name)}
        case ast.AnnAssign(target=ast.Name(id=target)):
            return {target}
    return set()
