"""Says which module a name belongs to, so that two which are spelt alike are told apart."""

import ast
from collections.abc import Container, Iterable, Iterator

FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef
IMPORTS = ast.Import | ast.ImportFrom


def qualify(tree: ast.Module, module: str, modules: Container[str]) -> None:
    """Writes ``module:name`` in place of each name that a module defines or imports, in a tree of this module.

    All others stay: parameters, what a function assigns, attributes of objects, a fixture, which is a parameter of its
    tests. A name that means two things anywhere within an outermost function or class stays there, too. Imports of one
    module that follow one another become one, since a formatter parts and joins them by their names.
    """
    _join_imports(tree)
    _Qualifier(tree, module, modules).visit(tree)


def _join_imports(tree: ast.Module) -> None:
    for node in ast.walk(tree):
        for block in ("body", "orelse", "finalbody"):
            joined: list[ast.stmt] = []
            statements = getattr(node, block, None)
            for statement in statements if isinstance(statements, list) else []:
                last = joined[-1] if joined else None
                both = isinstance(statement, ast.ImportFrom) and isinstance(last, ast.ImportFrom)
                if both and (statement.module, statement.level) == (last.module, last.level):
                    last.names += statement.names
                else:
                    joined.append(statement)
            if joined:
                setattr(node, block, joined)


class _Qualifier(ast.NodeTransformer):
    def __init__(self, tree: ast.Module, module: str, modules: Container[str]):
        self._module, self._modules = module, modules
        self._at_module_level = True
        outside = [*_outside_functions(tree)]
        self._names = {*_imported(outside), *_bound(outside)} - {node.name for node in outside if _is_fixture(node)}
        self._imported_modules: dict[str, str] = {}  # by the name that they have in this module
        for node in ast.walk(tree):
            if isinstance(node, IMPORTS):
                for alias in node.names:
                    name = f"{node.module}.{alias.name}" if isinstance(node, ast.ImportFrom) else alias.name
                    top = name if alias.asname or isinstance(node, ast.ImportFrom) else name.partition(".")[0]
                    if top in modules:
                        self._imported_modules[_local_name(alias)] = top

    def visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, FUNCTIONS | ast.ClassDef) and self._at_module_level:
            around, inside = self._names, [each for each in ast.walk(node) if each is not node]
            self._names = (around | {*_imported(inside)}) - {*_bound(inside)}
            self._at_module_level = False
            super().generic_visit(node)
            self._names, self._at_module_level = around, True
            node.name = self._qualified(node.name)
            return node
        return super().visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        node.id = self._qualified(node.id)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        module = self._module_that_is(node.value)
        if module and f"{module}.{node.attr}" not in self._modules:
            node.attr = f"{module}:{node.attr}"
        return self.generic_visit(node)

    def visit_Import(self, node: ast.Import) -> ast.AST:
        for alias in node.names:
            if alias.asname or "." not in alias.name:
                alias.asname = self._qualified(_local_name(alias))
        return node

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST:
        for alias in node.names:
            alias.asname = self._qualified(_local_name(alias))
            if node.module in self._modules and f"{node.module}.{alias.name}" not in self._modules:
                alias.name = f"{node.module}:{alias.name}"
        return node

    def _qualified(self, name: str) -> str:
        return f"{self._module}:{name}" if name in self._names else name

    def _module_that_is(self, node: ast.AST) -> str | None:
        """Returns the module that an expression names, or None."""
        if isinstance(node, ast.Name):
            return self._imported_modules.get(node.id) if node.id in self._names else None
        if isinstance(node, ast.Attribute) and (around := self._module_that_is(node.value)):
            return name if (name := f"{around}.{node.attr}") in self._modules else None
        return None


def _outside_functions(node: ast.AST) -> Iterator[ast.AST]:
    """Yields the nodes of a module, and of a function or class that one itself."""
    for child in ast.iter_child_nodes(node):
        yield child
        if not isinstance(child, FUNCTIONS | ast.ClassDef):
            yield from _outside_functions(child)


def _bound(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Yields what these nodes bind, except by an import."""
    for node in nodes:
        if isinstance(node, ast.Name):
            yield from [] if isinstance(node.ctx, ast.Load) else [node.id]
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.MatchMapping):
            yield node.rest or ""
        elif not isinstance(node, ast.alias):
            yield getattr(node, "name", None) or ""


def _imported(nodes: Iterable[ast.AST]) -> Iterator[str]:
    return (_local_name(node) for node in nodes if isinstance(node, ast.alias))


def _local_name(alias: ast.alias) -> str:
    return alias.asname or alias.name.partition(".")[0]


def _is_fixture(node: ast.AST) -> bool:
    return isinstance(node, FUNCTIONS) and any("fixture" in ast.unparse(each) for each in node.decorator_list)
