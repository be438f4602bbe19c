"""Syntax trees without what no run depends on, and as bytes that are the same on every Python.

A run does not depend on comments, docstrings, line breaks and type hints, nor on what is raised and on a check that
does nothing but raise: had it raised, there would be no record.  So a check can be added or sharpened, and the tests
say whether it lets good input through.  (What a run may have caught is kept beside the tree, see ``raises``.)  Nor does
it depend on which file of kernels/ a name is imported from, as long as the name stands for the same definition;
``scripts.records.source.digest`` sees to that.
"""

from __future__ import annotations

import ast
import builtins
import hashlib
import symtable
from collections.abc import Callable
from copy import deepcopy
from functools import lru_cache

# These decorators read no type hints.  Others may: of a jit function a hint says what is constant when it is compiled.
READ_NO_HINTS = {"cache", "cached_property", "classmethod", "contextmanager", "property", "setter", "staticmethod"}

Function = ast.FunctionDef | ast.AsyncFunctionDef


class _Strip(ast.NodeTransformer):
    """Takes out of a tree, in place, what no run depends on."""

    def __init__(self, checks_count: bool) -> None:
        self.checks_count = checks_count
        self.hints_count = [False]  # innermost last

    def visit_Raise(self, node: ast.Raise) -> ast.Raise:
        bare = ast.Raise(exc=None, cause=None)
        bare.raised = [(node, node)]
        return bare

    def visit_If(self, node: ast.If) -> ast.stmt:
        ends_by_raising = isinstance(node.body[-1], ast.Raise)
        whole = deepcopy(node) if ends_by_raising and not self.checks_count else None
        self.generic_visit(node)
        node.orelse = [each for each in node.orelse if not isinstance(each, ast.Pass)]
        if not whole or not _only_raises(node):
            return node
        nothing = ast.Pass()
        nothing.raised = [(each, whole) for each in walked(whole) if isinstance(each, ast.Raise)]
        return nothing

    def visit_Assert(self, node: ast.Assert) -> ast.Assert:
        return ast.Assert(test=self.visit(node.test), msg=None)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        return self._within(node, hints_count=True)  # they are the fields of a dataclass or a NamedTuple

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        count = any(last_name(each) not in READ_NO_HINTS for each in node.decorator_list)
        if not count:
            node.returns = None
            arguments = node.args
            for each in (
                *arguments.posonlyargs,
                *arguments.args,
                *arguments.kwonlyargs,
                arguments.vararg,
                arguments.kwarg,
            ):
                if each:
                    each.annotation = None
        return self._within(node, hints_count=count)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt:
        if self.hints_count[-1]:
            return self.generic_visit(node)
        if node.value is None:
            return ast.Pass()
        plain = ast.Assign(targets=[self.visit(node.target)], value=self.visit(node.value))
        return ast.copy_location(plain, node)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.stmt:
        """What is imported from kernels/ counts by what it is, see ``from_kernels``, not by the line that says so."""
        if not is_from_kernels(node):
            return node
        nothing = ast.Pass()
        nothing.imports = [(each.asname or each.name, node.module, each.name) for each in node.names]
        return nothing

    def _within(self, node, hints_count: bool):
        if ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:] or [ast.Pass()]
        self.hints_count.append(hints_count)
        self.generic_visit(node)
        self.hints_count.pop()
        return node


def _only_raises(node: ast.If) -> bool:
    """Whether a run that gets past this statement is as it would be without it: its body ends by raising, whichever
    way it takes, and its condition binds no name."""
    leaves = (
        ast.Return | ast.Break | ast.Continue | ast.Yield | ast.YieldFrom | ast.Await | ast.Try | ast.TryStar | ast.With
    )
    inside = [each for part in (node.test, *node.body) for each in walked(part)]
    binds = any(isinstance(each, ast.NamedExpr) for each in walked(node.test))
    return (
        isinstance(node.body[-1], ast.Raise)
        and not node.orelse
        and not binds
        and not any(isinstance(each, leaves) for each in inside)
    )


def last_name(expression: ast.expr) -> str:
    """``jit`` of ``gluon.jit(do_not_specialize=[...])``."""
    if isinstance(expression, ast.Call):
        return last_name(expression.func)
    return expression.attr if isinstance(expression, ast.Attribute) else getattr(expression, "id", "")


def is_from_kernels(node: ast.ImportFrom) -> bool:
    return node.level == 0 and node.module.startswith("kernels.")


def stripped(source: str, where: str, checks_count: bool = False) -> ast.Module:
    """The tree of a module or of a cell, without what no run depends on.

    checks_count: a check that only raises stays in the tree, for of a test it may be the whole point

    Raises:
        SyntaxError: with ``where``, if it is not Python.
    """
    return _Strip(checks_count).visit(ast.parse(source, filename=where))


def from_kernels(tree: ast.AST) -> list[tuple[str, str, str]]:
    """What a stripped tree imports from kernels/: the name that it gets, the module, the name there."""
    return [each for node in walked(tree) for each in getattr(node, "imports", [])]


def raises(trees: list[ast.AST]) -> list[tuple[ast.Raise, ast.stmt]]:
    """What stripped trees raise, as it was written, each with the check that it stands in."""
    found = [pair for tree in trees for node in walked(tree) for pair in getattr(node, "raised", [])]
    return [(node, check) for node, check in found if node.exc]


def caught(trees: list[ast.AST]) -> set[str]:
    """The names of the exceptions that stripped trees catch and do not pass on by raising."""
    found = set()
    for tree in trees:
        for node in walked(tree):
            if isinstance(node, ast.ExceptHandler) and not isinstance(node.body[-1], ast.Raise):
                types = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
                found |= {last_name(each) if each else "BaseException" for each in types}
    return found


def is_caught(node: ast.Raise, names: set[str]) -> bool:
    """Whether what is raised is one of the exceptions, or a kind of one."""
    name = last_name(node.exc)
    kinds = getattr(vars(builtins).get(name), "__mro__", ())
    return bool({name, *(each.__name__ for each in kinds)} & names)


def walked(tree: ast.AST) -> list[ast.AST]:
    """The nodes that ``ast.walk`` finds, in its order, in a third of its time: a build walks over half a million."""
    nodes = [tree]
    for node in nodes:  # the list grows meanwhile
        for name in node._fields:
            value = getattr(node, name, None)
            if isinstance(value, ast.AST):
                nodes.append(value)
            elif isinstance(value, list):
                nodes += [each for each in value if isinstance(each, ast.AST)]
    return nodes


def free_names(statements: list[ast.stmt]) -> set[str]:
    """The names that statements of a module read of it, in their functions too; names of builtins are among them."""
    source = ast.unparse(_Alone().visit(ast.parse(ast.unparse(ast.Module(body=statements, type_ignores=[])))))
    found, waiting = set(), [symtable.symtable(source, "", "exec")]
    while waiting:
        table = waiting.pop()
        found |= {each.get_name() for each in table.get_symbols() if each.is_referenced() and each.is_global()}
        waiting += table.get_children()
    return found


class _Alone(ast.NodeTransformer):
    """Puts each comprehension into a function of its own, as Python did until 3.11: later ones count what a
    comprehension binds among the names around it.
    """

    def in_a_function(self, node: ast.expr) -> ast.expr:
        self.generic_visit(node)
        if any(each.is_async for each in node.generators):  # which stands in a function already
            return node
        nothing = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
        return ast.Call(func=ast.Lambda(args=nothing, body=node), args=[], keywords=[])

    visit_ListComp = visit_SetComp = visit_DictComp = in_a_function


def digest_of(part: object) -> str:
    return hashlib.sha256(canonical(part)).hexdigest()


def canonical(part: object) -> bytes:
    """A syntax tree, or a list of trees, texts and lists, as bytes that no Python version changes.

    Neither ``ast.dump`` nor ``ast.unparse`` is that: 3.12 knows fields that 3.11 does not, and puts empty strings
    into f-strings.  What is empty is left out, ``pass`` too.
    """
    pieces: list[str] = []
    _write(part, pieces.append)
    return "".join(pieces).encode("utf-8", "surrogatepass")


def _write(part: object, write: Callable[[str], None]) -> None:
    if isinstance(part, ast.AST):
        write(f"{type(part).__name__}(")
        for name in part._fields:
            value = getattr(part, name, None)
            if value is not None and value != [] and name not in ("ctx", "kind", "type_comment"):
                if name == "values" and isinstance(part, ast.JoinedStr):
                    value = [each for each in value if getattr(each, "value", None) != ""]
                write(f"{name}=")
                _write(value, write)
        write(")")
    elif isinstance(part, list):
        write("[")
        for each in part:
            if not isinstance(each, ast.Pass):
                _write(each, write)
        write("]")
    else:
        match part:
            case bytes():
                data = part.hex()
            case bool():
                data = str(part)
            case int():
                data = f"{part:x}"
            case float():
                data = part.hex()
            case complex():
                data = f"{part.real.hex()} {part.imag.hex()}"
            case _:  # a text, None, Ellipsis
                data = str(part)
        write(f"{type(part).__name__}:{len(data)}:{data}")


remembered = lru_cache(maxsize=512)  # of a text, what is worked out once: a build reads most files as the last one did


def first_call(tree: ast.AST) -> ast.AST | None:
    """The first thing in a tree that calls something as the module is imported; the bodies of functions do not run."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Call | ast.ClassDef | ast.With) or getattr(node, "decorator_list", []):
            return node
        inside = node.args if isinstance(node, Function | ast.Lambda) else node
        if found := first_call(inside):
            return found
    return None
