"""Refuses functions of a notebook, where there is no file to look at, that take the answer from elsewhere."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType, ModuleType

from scripts.labs.forbidden_in_file import OUR_PACKAGES, forbidden_import_message, forbidden_name_message, forbidden_use
from scripts.labs.lab_info import LabInfo


def why_forbidden(info: LabInfo, functions: dict[str, Callable]) -> str:
    """Why the functions are not run at all, as ``forbidden_in_file`` says it of a file; "" if they can be."""
    seen: list[FunctionType] = []
    waiting = [each for each in map(unwrap_jit, functions.values()) if isinstance(each, FunctionType)]
    while waiting:
        function = waiting.pop(0)
        if function in seen:
            continue
        seen.append(function)
        if fault := why_one_is_forbidden(info, function):
            return fault
        values = (unwrap_jit(value) for _, value in globals_of(function))
        waiting += [each for each in values if is_of_same_notebook(each, function)]
    return ""


def why_one_is_forbidden(info: LabInfo, function: FunctionType) -> str:
    """What is wrong with one function and with what it takes from elsewhere."""
    for name, value in globals_of(function):
        module = (
            value.__name__ if isinstance(value, ModuleType) else getattr(unwrap_jit(value), "__module__", None) or ""
        )
        if module.split(".")[0] in OUR_PACKAGES:
            return f"{function.__name__}: {forbidden_import_message(module)}"
        called = getattr(value, "__name__", name)
        if callable(value) and called in info.forbidden_names and not is_of_same_notebook(unwrap_jit(value), function):
            return f"{function.__name__}: {forbidden_name_message(called)}"
    try:
        lines, first = inspect.getsourcelines(function)
        tree = ast.increment_lineno(ast.parse(textwrap.dedent("".join(lines))), first - 1)
    except (OSError, SyntaxError):  # typed where nothing is kept
        return ""
    line, fault = forbidden_use(info, tree)
    return f"{function.__name__}, line {line} of its cell: {fault}" if fault else ""


def is_of_same_notebook(value: object, function: FunctionType) -> bool:
    """Whether it is a function of the same notebook."""
    return isinstance(value, FunctionType) and value.__globals__ is function.__globals__


def unwrap_jit(value: object) -> object:
    """The function of a kernel, which ``triton.jit`` wraps; anything else as it is."""
    return unwrap_jit(value.fn) if hasattr(value, "fn") else value


def globals_of(function: FunctionType) -> Iterator[tuple[str, object]]:
    """Each name of a function, or of one within it, that stands for something outside of it."""
    codes: list[CodeType] = [function.__code__]
    for code in codes:
        codes += [each for each in code.co_consts if isinstance(each, CodeType)]
        yield from ((name, function.__globals__[name]) for name in code.co_names if name in function.__globals__)
