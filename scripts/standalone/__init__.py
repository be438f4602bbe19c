"""Writes each taught kernel as one file that needs torch and triton alone, for a reader to copy.

The text is the package's: a module, above it whatever it uses of others, and without the checks of arguments.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

from scripts.standalone.self_check import KERNELS, Kernel, main_block

CHECK_MODULES = ("kernels.checks", "kernels.first.limits")
FILE_HEAD = '''"""{title}

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
        self.external_imports: list[str] = []
        self.internal_imports: dict[str, tuple[str, str]] = {}
        self.definitions: dict[str, ast.stmt] = {}
        self.other_statements: list[ast.stmt] = []  # what torch has to know of an operator
        for node in self.tree.body:
            if isinstance(node, ast.ImportFrom) and node.module.startswith("kernels."):
                self.internal_imports |= {alias.asname or alias.name: (node.module, alias.name) for alias in node.names}
            elif isinstance(node, ast.Import | ast.ImportFrom):
                self.external_imports.append(ast.unparse(node))
            elif isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name != "_":
                self.definitions[node.name] = node
            elif isinstance(node, ast.Assign | ast.AnnAssign):
                target = node.targets[0] if isinstance(node, ast.Assign) else node.target
                self.definitions[target.id] = node
            elif node is not self.tree.body[0]:
                self.other_statements.append(node)

    def statement(self, node: ast.stmt) -> str:
        """The text of a top-level statement with the comment above it, without checks and what they raise."""
        first = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", ()))])
        while self.lines[first - 2].startswith("#"):
            first -= 1
        lines = self.lines[first - 1 : node.end_lineno]
        for check in reversed(list(self.checks(node))):
            indent = " " * check.col_offset
            replacement = [CONTIGUOUS] if "check_contiguous_qkv(" in ast.unparse(check) else []
            replacement = [indent + line for line in [*replacement, SCALE]] if isinstance(check, ast.Assign) else []
            lines[check.lineno - first : check.end_lineno - first + 1] = replacement
        text = re.sub(r'\n\n    Raises.*?(?=\n    """|""")', "", "\n".join(lines), flags=re.DOTALL)
        for name in re.findall(r"^    (\w+) = \{.*\}\n", text, flags=re.MULTILINE):  # which checks alone used
            if len(re.findall(rf"\b{name}\b", text)) == 1:
                text = re.sub(rf"^    {name} = \{{.*\}}\n", "", text, flags=re.MULTILINE)
        return text

    def checks(self, node: ast.stmt):
        """The statements of a function that only check: calls of a check, and an if or a loop that can only raise."""
        names = {name for name, (module, _) in self.internal_imports.items() if module in CHECK_MODULES}
        for inner in getattr(node, "body", ()) if isinstance(node, ast.FunctionDef) else ():
            called_names = isinstance(inner, ast.Expr | ast.Assign) and {
                x.id for x in ast.walk(inner) if isinstance(x, ast.Name)
            }
            if (called_names and called_names & names) or self.only_raises(inner):
                yield inner

    def only_raises(self, node: ast.stmt) -> bool:
        if isinstance(node, ast.If | ast.For):
            return not node.orelse and all(self.only_raises(each) for each in node.body)
        return isinstance(node, ast.Raise)


def standalone_source(kernel: Kernel, root: Path, name: str) -> str:
    """The file of a kernel."""
    modules: dict[str, Module] = {}
    texts: dict[tuple[str, int], str] = {}  # by where they stand, in the order in which they are needed

    def add_with_dependencies(module: str, symbol: str | None = None) -> None:
        """Adds a symbol, or all of a module, below whatever it uses."""
        if module not in modules:
            modules[module] = Module(module, root)
        source = modules[module]
        nodes = [source.definitions[symbol]] if symbol else [*source.definitions.values(), *source.other_statements]
        for node in sorted(nodes, key=lambda each: each.lineno):
            if (place := (module, node.lineno)) in reached:
                continue
            reached.add(place)
            text = source.statement(node)
            for used_name in sorted(names_in(text)):
                if used_name in source.definitions:
                    add_with_dependencies(module, used_name)
                elif source.internal_imports.get(used_name, CHECK_MODULES)[0] not in CHECK_MODULES:
                    add_with_dependencies(*source.internal_imports[used_name])
            texts[place] = text

    reached: set[tuple[str, int]] = set()
    add_with_dependencies(kernel.module)
    whole_text = "\n".join([*texts.values(), main_block(kernel)])
    needed_texts = [
        text for text in texts.values() if not re.match("[A-Z_]+ = ", text) or whole_text.count(text.split()[0]) > 1
    ]
    body = "\n\n\n".join([*needed_texts, main_block(kernel)])
    body = re.sub(r"(?m)^([A-Z_]+ = .*)\n\n\n(?=[A-Z_]+ = )", r"\1\n", body)  # constants side by side
    external_imports = {line for module in modules.values() for line in module.external_imports}
    external_imports |= {
        "from functools import partial",
        "from torch.nn.functional import scaled_dot_product_attention",
    }
    used_names = names_in(body)
    title = ast.get_docstring(modules[kernel.module].tree).partition("\n")[0]
    head = FILE_HEAD.format(title=title, module=kernel.module, name=name)
    return f"{head}{import_lines([ast.parse(line).body[0] for line in external_imports], used_names)}\n\n{body}"


def names_in(text: str) -> set[str]:
    return {each.id for each in ast.walk(ast.parse(text)) if isinstance(each, ast.Name)}


def import_lines(nodes: list[ast.Import | ast.ImportFrom], used_names: set[str]) -> str:
    """What is used of these imports, but for those that the head has."""
    plain_imports, of_modules = set(), defaultdict(set)
    for node in nodes:
        for alias in node.names:
            if (alias.asname or alias.name) in used_names and alias.name != "torch":
                if isinstance(node, ast.Import):
                    plain_imports.add(ast.unparse(ast.Import([alias])))
                else:
                    of_modules[node.module].add(alias.name)
    lines = sorted(plain_imports) + [
        f"from {module} import {', '.join(sorted(of_modules[module]))}" for module in sorted(of_modules)
    ]
    return "\n".join(lines) + "\n"


def write(folder: Path, root: Path, name: str) -> None:
    """Writes the file of every kernel whose module is there into a folder of the site."""
    folder.mkdir(parents=True, exist_ok=True)
    for kernel in filter(lambda kernel: root.joinpath(*kernel.module.split(".")).with_suffix(".py").is_file(), KERNELS):
        (folder / f"{kernel.function}.py").write_text(standalone_source(kernel, root, name), encoding="utf-8")
