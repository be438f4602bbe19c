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
    """Lines ``first`` to ``last`` of ``path``, both counted from 1, without their common indentation."""

    path: str
    first: int
    last: int
    text: str

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
    first, last = 1, source.count("\n")
    if symbol:
        first, last = lines_of(ast.parse(source), symbol.split("."), name)
    text = textwrap.dedent("\n".join(source.splitlines()[first - 1 : last]))
    return Quote(path.relative_to(ROOT).as_posix(), first, last, text)


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


def lines_of(scope: ast.AST, symbol: list[str], name: str) -> tuple[int, int]:
    for node in scope.body:
        if symbol[0] in names_bound_by(node):
            if symbol[1:]:
                return lines_of(node, symbol[1:], name)
            decorators = getattr(node, "decorator_list", [])
            return min(item.lineno for item in [node, *decorators]), node.end_lineno
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
