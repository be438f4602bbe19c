"""Refuses a reader's file that isn't Python, or that imports the answer instead of writing it."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator
from pathlib import Path

from scripts.labs.lab_info import LabInfo

OUR_PACKAGES = ("kernels", "scripts", "tests", "snippets", "labs")


def why_forbidden(info: LabInfo, file: Path) -> str:
    """Why the file is not run at all; "" if it can be."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a \\d in a docstring: Python says it when the file is run
            tree = ast.parse(file.read_bytes())
    except SyntaxError as error:
        return f"{display_path(file)}, line {error.lineno}: {error.msg}. Python cannot read the file."
    except ValueError as error:
        return f"{display_path(file)}: {error}. Python cannot read the file."
    line, fault = forbidden_use(info, tree)
    return f"{display_path(file)}, line {line}: {fault}" if fault else ""


def forbidden_use(info: LabInfo, tree: ast.Module) -> tuple[int, str]:
    """The first line in which the answer stands ready, and what is said of it; "" if there is none."""
    for line, module in imported_modules(tree):
        if module.split(".")[0] in OUR_PACKAGES:
            return line, forbidden_import_message(module)
    for line, name in used_names(tree):
        if name in info.forbidden_names:
            return line, forbidden_name_message(name)
    return 0, ""


def forbidden_import_message(module: str) -> str:
    return f"it imports {module}. A lab is written with torch and triton alone."


def forbidden_name_message(name: str) -> str:
    return f"it uses {name}, and to write that by hand is the task."


def imported_modules(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Each module that is imported, with its line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.lineno, node.module or ""


def used_names(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Each name that is taken from a module or an object, and each ``@``, with its line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            yield node.lineno, node.attr
        elif isinstance(node, ast.BinOp | ast.AugAssign) and isinstance(node.op, ast.MatMult):
            yield node.lineno, "@"
        elif isinstance(node, ast.ImportFrom):
            yield from ((node.lineno, alias.name) for alias in node.names)


def display_path(file: Path) -> str:
    return "/".join(file.parts[-2:])
