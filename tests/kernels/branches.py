"""Which branches of Triton kernels were taken: in the interpreter a kernel is Python, and is rewritten before it runs.

An ``if`` and a conditional expression have two outcomes, a loop has one that matters: that its body ran again, since
the second round meets what the first one left.  A loop that is unrolled, ``tl.static_range``, has no outcome.
"""

import ast
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

from triton.runtime import interpreter


class Outcome(NamedTuple):
    """One way in which a decision of a kernel can go; ``line`` counts from the kernel's ``def``, which is 1."""

    kernel: str
    line: int
    column: int
    what: str


def kernels_of(path: Path) -> dict[str, ast.FunctionDef]:
    """The functions of a file that are decorated with ``triton.jit``, by name."""
    functions = (node for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef))
    return {f.name: f for f in functions if any("triton.jit" in ast.unparse(x) for x in f.decorator_list)}


def outcomes_of(path: Path) -> dict[Outcome, str]:
    """Every outcome that a file's kernels can have, and where: ``path:line``."""
    return {
        Outcome(name, node.lineno - kernel.lineno + 1, node.col_offset, what): f"{path.name}:{node.lineno}"
        for name, kernel in kernels_of(path).items()
        for node in ast.walk(kernel)
        for what in _ways(node)
    }


def _ways(node: ast.AST) -> tuple[str, ...]:
    match node:
        case ast.FunctionDef():
            return ("is called",)
        case ast.If() | ast.IfExp():
            return ("is True", "is False")
        case ast.While():
            return ("runs again",)
        case ast.For():
            return () if "static_range" in ast.unparse(node.iter) else ("runs again",)
    return ()


class Observer(interpreter.ASTTransformer):
    """The interpreter's own rewriting, and a call of ``observe_branch`` or ``observe_loop`` at each decision."""

    def visit_FunctionDef(self, node):
        self.kernel = node.name
        self.generic_visit(node)
        called = ast.Expr(self.call("observe_branch", node, "is called", ast.Constant(True)))
        node.body.insert(0, called)
        node.decorator_list = []
        return node

    def visit_Assign(self, node):
        node.value = self.visit(node.value)
        return super().visit_Assign(node)

    def visit_If(self, node):
        self.generic_visit(node)
        node.test = self.call("observe_branch", node, "is", node.test)
        return node

    visit_IfExp = visit_If

    def visit_While(self, node):
        self.generic_visit(node)
        node.test = self.call("observe_while", node, "runs again", node.test)
        return node

    def visit_For(self, node):
        self.generic_visit(node)
        if _ways(node):
            node.iter = self.call("observe_loop", node, "runs again", node.iter)
        return node

    def call(self, function, node, what, value):
        where = [ast.Constant(x) for x in (self.kernel, node.lineno, node.col_offset, what)]
        return ast.Call(ast.Name(function, ast.Load()), [*where, value], [])


@contextmanager
def observed() -> Iterator[set[Outcome]]:
    """The set to which every outcome is added while kernels run."""
    seen.clear()
    functions = {"observe_branch": observe_branch, "observe_loop": observe_loop, "observe_while": observe_while}
    with (
        patch.object(interpreter.FunctionRewriter, "ast_transformer", Observer()),
        patch.object(interpreter.InterpretedFunction, "rewritten_fn", {}),
        patch.multiple(interpreter, create=True, **functions),  # from where a kernel's own globals get them
    ):
        yield seen


seen: set[Outcome] = set()


def observe_branch(kernel, line, column, what, value):
    seen.add(Outcome(kernel, line, column, f"is {bool(value)}" if what == "is" else what))
    return value


def observe_loop(kernel, line, column, what, values):
    for number, value in enumerate(values):
        if number == 1:
            seen.add(Outcome(kernel, line, column, what))
        yield value


def observe_while(kernel, line, column, what, value):
    outcome = Outcome(kernel, line, column, what)
    rounds[outcome] = rounds[outcome] + 1 if value else 0
    if rounds[outcome] == 2:
        seen.add(outcome)
    return value


rounds: Counter[Outcome] = Counter()


def not_taken(path: Path, run: Callable[[], None]) -> list[str]:
    """What no kernel of that file did while ``run`` ran, as ``kernel, file:line is False``."""
    with observed() as taken:
        run()
        missing = {outcome: where for outcome, where in outcomes_of(path).items() if outcome not in taken}
    return [f"{outcome.kernel}, {where} {outcome.what}" for outcome, where in sorted(missing.items())]
