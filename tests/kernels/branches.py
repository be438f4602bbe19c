"""Which branches of Triton's kernels run, and which of their loops go round again, seen in the interpreter.

There a kernel is Python, compiled with the line numbers of its file, so coverage.py can follow it.
"""

import ast
import json
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from unittest.mock import patch

from triton.runtime import interpreter


def kernels_of(path: Path) -> list[ast.FunctionDef]:
    """The functions of a file that are decorated with ``triton.jit``."""
    functions = [node for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef)]
    return [function for function in functions if any("triton.jit" in ast.unparse(x) for x in function.decorator_list)]


def untaken_branches(paths: list[Path], run: Callable[[], object], report: Path) -> list[tuple[str, int, int | None]]:
    """The kernel, line and next line of each branch that ``run`` does not take, and each line that it does not reach.

    ``report`` is where coverage.py may write. ``if USE_PDL:`` is left out: only a GPU takes it.
    """
    import coverage  # here, since a machine with a GPU runs the tests of this folder without it

    watch = coverage.Coverage(branch=True, include=[str(path) for path in paths], data_file=None, config_file=False)
    watch.exclude("if USE_PDL:")
    with watch.collect():
        run()
    watch.json_report(outfile=str(report))
    files = {Path(name).resolve(): file["functions"] for name, file in json.loads(report.read_text())["files"].items()}
    missing = []
    for path in paths:
        # A function's exit is named after its first line: its decorator for coverage.py, its `def` in the interpreter.
        exits = {line for line, target in watch.get_data().arcs(str(path)) if target < 0}
        for name in (kernel.name for kernel in kernels_of(path)):
            function = files[path][name]
            missing += [(name, line, None) for line in function["missing_lines"]]
            branches = function["missing_branches"]
            missing += [(name, line, target) for line, target in branches if target > 0 or line not in exits]
    return missing


def loops_of(path: Path) -> list[int]:
    """The lines at which loops of a file's kernels begin."""
    nodes = (node for kernel in kernels_of(path) for node in ast.walk(kernel))
    return [node.lineno for node in nodes if isinstance(node, ast.For | ast.While)]


def loop_stopped_after_one_round(path: Path, line: int) -> AbstractContextManager:
    """The loop at that line ends after its first round, in every kernel that is run within the context."""
    transform_ast = interpreter.FunctionRewriter._transform_ast

    def transform_and_stop(self, source: str) -> ast.AST:
        tree = transform_ast(self, source)
        for node in ast.walk(tree):
            if isinstance(node, ast.For | ast.While) and (self.filename, node.lineno) == (str(path), line):
                node.body.append(ast.copy_location(ast.Break(), node))
        return tree

    patches = ExitStack()
    patches.enter_context(patch.object(interpreter.FunctionRewriter, "_transform_ast", transform_and_stop))
    patches.enter_context(patch.object(interpreter.InterpretedFunction, "rewritten_fn", {}))
    return patches
