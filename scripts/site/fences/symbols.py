"""Quotes a symbol of the library, or what a file is for, from the file without importing it."""

from __future__ import annotations

import ast
import re
import shlex
import textwrap
import tomllib
from dataclasses import dataclass
from pathlib import Path

import griffe

# What may be quoted besides the library: what a lab begins with, and a solution, which tests/labs runs.
FOR_THE_FORMATTER = "  # fmt: skip"
LAB_START_MODULE = re.compile(r"scripts\.labs\.catalogue\.\w+\.start")
LAB_MODULE = re.compile(r"scripts\.labs\.catalogue\.\w+\.(?:start|solution)")


class SymbolError(Exception):
    """The quotation names something that is not there; the message says what."""


@dataclass(frozen=True)
class Symbol:
    """Lines ``first`` to ``last`` of ``path``, both counted from 1, without their common indentation.

    name: ``package.module.Symbol.attribute``, as the API names it
    documented: whether the API has it
    fixed_title: what stands above it, if not the path and the lines
    """

    name: str
    path: str
    first: int
    last: int
    text: str
    documented: bool
    fixed_title: str = ""

    @property
    def title(self) -> str:
        return self.fixed_title or f"{self.path} · lines {self.first}–{self.last}"  # noqa: RUF001  (an en dash, as print has it)


def quote(mark: str, root: Path) -> Symbol:
    """The source of ``package.module:Symbol.attribute`` below ``root``, decorators included, or of a whole
    ``package.module``; of a long one a part, ``package.module:Symbol from="queries =" to="values ="``, from the one
    line that has these words to the next that has those.

    Raises:
        SymbolError: if the module has no file, or the symbol or the part does not stand in it.
    """
    name, *ends = shlex.split(mark)
    module, _, symbol = name.partition(":")
    path = root / (module.replace(".", "/") + ".py")
    if not (module.startswith("kernels.") or is_lab(name)) or not path.is_file():
        raise SymbolError(f"{name}: kernels/ has no module {module}")
    source = path.read_text(encoding="utf-8")
    node = griffe.visit(module, filepath=path, code=source)
    first, last, documented = 1, source.count("\n"), bool(node.docstring) and not is_lab(name)
    for part in symbol.split(".") if symbol else []:
        if part not in node.members or node.members[part].is_alias:
            raise SymbolError(f"{name}: there is no {part} in {module}")
        node = node.members[part]
        first, last = node.lineno, node.endlineno
        documented = documented and bool(node.docstring) and not part.startswith("_")
    if ends:
        first, last = lines_of_part(source.splitlines(), first, last, ends, mark)
    text = textwrap.dedent("\n".join(source.splitlines()[first - 1 : last])).replace(FOR_THE_FORMATTER, "")
    fixed_title = readers_file(path) if LAB_START_MODULE.fullmatch(module) else ""
    fixed_title += f" · lines {first}–{last}" if fixed_title and symbol else ""  # noqa: RUF001
    return Symbol(name.replace(":", "."), path.relative_to(root).as_posix(), first, last, text, documented, fixed_title)


def readers_file(start: Path) -> str:
    """What the reader of a lab has of the file it begins with: ``labs/04_vector_add.py``."""
    number = tomllib.loads((start.parent / "about.toml").read_text(encoding="utf-8"))["number"]
    return f"labs/{number:02d}_{start.parent.name}.py"


def is_lab(name: str) -> bool:
    """Whether ``package.module:Symbol`` belongs to a lab: no record runs it, and tests/labs does."""
    return bool(LAB_MODULE.fullmatch(name.partition(":")[0]))


def lines_of_part(lines: list[str], first: int, last: int, options: list[str], mark: str) -> tuple[int, int]:
    """The first and the last line of a part of the symbol in lines ``first`` to ``last``, all counted from 1."""
    ends = dict(option.split("=", 1) for option in options if "=" in option)
    if ends.keys() != {"from", "to"} or len(options) != 2:
        raise SymbolError(f'{mark}: a part is written from="words of its first line" to="words of its last"')
    begins = [number for number in range(first, last + 1) if ends["from"] in lines[number - 1]]
    if len(begins) != 1:
        raise SymbolError(f"{mark}: {len(begins)} lines have {ends['from']!r}, and a part begins at one")
    stops = [number for number in range(begins[0], last + 1) if ends["to"] in lines[number - 1]]
    if not stops:
        raise SymbolError(f"{mark}: no line from there on has {ends['to']!r}")
    return begins[0], stops[0]


def api_page(name: str, root: Path) -> str:
    """The page of the API that has ``kernels.folder.module.Symbol``; those at the top of kernels/ share one."""
    first = name.split(".")[1]
    return first if (root / "kernels" / first).is_dir() else "kernels"


def address(name: str, root: Path) -> str:
    """Where the API has it, from the root of the site."""
    return f"api/{api_page(name, root)}/#{name}"


def docstring_line(path: str, root: Path) -> str:
    """What a file says that it is for: the first line of its docstring.

    Raises:
        SymbolError: if it does not say.
    """
    docstring = ast.get_docstring(ast.parse((root / path).read_text(encoding="utf-8")))
    if not docstring:
        raise SymbolError(f"{path} has no docstring, of which the first line says what it is for")
    return docstring.splitlines()[0]
