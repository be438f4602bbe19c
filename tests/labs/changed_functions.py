"""Finds which functions of a lab's right solution an edit has changed: the others are as right as before."""

from __future__ import annotations

import ast
from collections.abc import Iterable


def changed_functions(right: str, source: str, functions: Iterable[str]) -> list[str]:
    """The functions that have changed, or something that they use has; all of them, if it cannot be told."""
    before, after = definitions(right), definitions(source)
    if before[""] != after[""]:
        return list(functions)
    return [name for name in functions if used_definitions(name, before) != used_definitions(name, after)]


def definitions(source: str) -> dict[str, ast.stmt | list[str]]:
    """Name -> the statement at the top of the file that says what it is; "" -> the statements that name nothing."""
    by_name: dict = {"": []}
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            by_name[node.name] = node
        elif isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            by_name[node.targets[0].id] = node
        elif not is_text(node):
            by_name[""].append(ast.dump(node))
    return by_name


def is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def used_definitions(name: str, all_defined: dict) -> dict[str, str]:
    """The function and all of the file that it uses, each as it is written."""
    used: dict[str, str] = {}
    waiting = [name]
    while waiting:
        symbol = waiting.pop()
        if symbol and symbol in all_defined and symbol not in used:
            used[symbol] = ast.dump(all_defined[symbol])
            waiting += [node.id for node in ast.walk(all_defined[symbol]) if isinstance(node, ast.Name)]
    return used
