"""Writes each taught kernel as one file that needs torch and triton alone, for a reader to copy.

The text is the package's: a module, above it whatever it uses of others, and without the checks of arguments.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

from scripts.standalone.check import KERNELS, Kernel, main

CHECKS = ("kernels.checks", "kernels.first.check")
HEAD = '''"""{title}

Made from {module} of {name}. It needs torch and triton alone, and leaves out
the checks of arguments that the package makes. Run it, on a GPU or without one, and it checks itself.
"""

from __future__ import annotations

import os

import torch

# Without a GPU, Triton interprets its kernels: it plays their programs on the CPU, in turn.
os.environ.setdefault("TRITON_INTERPRET", "0" if torch.cuda.is_available() else "1")

'''
SCALE = "scale = q.shape[-1] ** -0.5 if scale is None else scale"
CONTIGUOUS = "q, k, v = q.contiguous(), k.contiguous(), v.contiguous()"


class Module:
    """A module of kernels/: its statements by the names they define, and where its other names come from."""

    def __init__(self, name: str, root: Path):
        self.text = root.joinpath(*name.split(".")).with_suffix(".py").read_text(encoding="utf-8")
        self.lines, self.tree = self.text.splitlines(), ast.parse(self.text)
        self.outside, self.inside, self.defined, self.loose = [], {}, {}, []
        for node in self.tree.body:
            if isinstance(node, ast.ImportFrom) and node.module.startswith("kernels."):
                self.inside |= {each.asname or each.name: (node.module, each.name) for each in node.names}
            elif isinstance(node, ast.Import | ast.ImportFrom):
                self.outside.append(ast.unparse(node))
            elif isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name != "_":
                self.defined[node.name] = node
            elif isinstance(node, ast.Assign | ast.AnnAssign):
                target = node.targets[0] if isinstance(node, ast.Assign) else node.target
                self.defined[target.id] = node
            elif node is not self.tree.body[0]:
                self.loose.append(node)  # what torch has to know of an operator

    def statement(self, node: ast.stmt) -> str:
        """The text of a top-level statement with the comment above it, without checks and what they raise."""
        first = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", ()))])
        while self.lines[first - 2].startswith("#"):
            first -= 1
        lines = self.lines[first - 1 : node.end_lineno]
        for inner in reversed(list(self.checks(node))):
            indent = " " * inner.col_offset
            made = [CONTIGUOUS] if "check(" in ast.unparse(inner) else []
            made = [indent + line for line in [*made, SCALE]] if isinstance(inner, ast.Assign) else []
            lines[inner.lineno - first : inner.end_lineno - first + 1] = made
        text = re.sub(r'\n\n    Raises.*?(?=\n    """|""")', "", "\n".join(lines), flags=re.DOTALL)
        for name in re.findall(r"^    (\w+) = \{.*\}\n", text, flags=re.MULTILINE):  # which checks alone used
            if len(re.findall(rf"\b{name}\b", text)) == 1:
                text = re.sub(rf"^    {name} = \{{.*\}}\n", "", text, flags=re.MULTILINE)
        return text

    def checks(self, node: ast.stmt):
        """The statements of a function that only check: calls of a check, and an if or a loop that can only raise."""
        names = {name for name, (module, _) in self.inside.items() if module in CHECKS}
        for inner in getattr(node, "body", ()) if isinstance(node, ast.FunctionDef) else ():
            calls = isinstance(inner, ast.Expr | ast.Assign) and {
                x.id for x in ast.walk(inner) if isinstance(x, ast.Name)
            }
            if (calls and calls & names) or self.only_raises(inner):
                yield inner

    def only_raises(self, node: ast.stmt) -> bool:
        if isinstance(node, ast.If | ast.For):
            return not node.orelse and all(self.only_raises(each) for each in node.body)
        return isinstance(node, ast.Raise)


def standalone(kernel: Kernel, root: Path, name: str) -> str:
    """The file of a kernel."""
    modules: dict[str, Module] = {}
    texts: dict[tuple[str, int], str] = {}  # by where they stand, in the order in which they are needed

    def need(module: str, symbol: str | None = None) -> None:
        """Adds a symbol, or all of a module, below whatever it uses."""
        if module not in modules:
            modules[module] = Module(module, root)
        there = modules[module]
        nodes = [there.defined[symbol]] if symbol else [*there.defined.values(), *there.loose]
        for node in sorted(nodes, key=lambda each: each.lineno):
            if (place := (module, node.lineno)) in reached:
                continue
            reached.add(place)
            text = there.statement(node)
            for used in sorted(names_in(text)):
                if used in there.defined:
                    need(module, used)
                elif there.inside.get(used, CHECKS)[0] not in CHECKS:
                    need(*there.inside[used])
            texts[place] = text

    reached: set[tuple[str, int]] = set()
    need(kernel.module)
    whole = "\n".join([*texts.values(), main(kernel)])
    needed = [text for text in texts.values() if not re.match("[A-Z_]+ = ", text) or whole.count(text.split()[0]) > 1]
    body = "\n\n\n".join([*needed, main(kernel)])
    body = re.sub(r"(?m)^([A-Z_]+ = .*)\n\n\n(?=[A-Z_]+ = )", r"\1\n", body)  # constants side by side
    outside = {line for module in modules.values() for line in module.outside}
    outside |= {"from functools import partial", "from torch.nn.functional import scaled_dot_product_attention"}
    used = names_in(body)
    title = ast.get_docstring(modules[kernel.module].tree).partition("\n")[0]
    head = HEAD.format(title=title, module=kernel.module, name=name)
    return f"{head}{imports([ast.parse(line).body[0] for line in outside], used)}\n\n{body}"


def names_in(text: str) -> set[str]:
    return {each.id for each in ast.walk(ast.parse(text)) if isinstance(each, ast.Name)}


def imports(nodes: list[ast.Import | ast.ImportFrom], used: set[str]) -> str:
    """What is used of these imports, but for those that the head has."""
    plain, of_modules = set(), defaultdict(set)
    for node in nodes:
        for each in node.names:
            if (each.asname or each.name) in used and each.name != "torch":
                if isinstance(node, ast.Import):
                    plain.add(ast.unparse(ast.Import([each])))
                else:
                    of_modules[node.module].add(each.name)
    lines = sorted(plain) + [
        f"from {module} import {', '.join(sorted(of_modules[module]))}" for module in sorted(of_modules)
    ]
    return "\n".join(lines) + "\n"


def write(folder: Path, root: Path, name: str) -> None:
    """Writes the file of every kernel whose module is there into a folder of the site."""
    folder.mkdir(parents=True, exist_ok=True)
    for kernel in filter(lambda kernel: root.joinpath(*kernel.module.split(".")).with_suffix(".py").is_file(), KERNELS):
        (folder / f"{kernel.function}.py").write_text(standalone(kernel, root, name), encoding="utf-8")
