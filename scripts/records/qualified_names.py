"""Says which module a name belongs to, so that two which are spelt alike are told apart."""

import ast
from collections.abc import Container, Iterable, Iterator

FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef
IMPORTS = ast.Import | ast.ImportFrom
INNER_SCOPES = FUNCTIONS | ast.Lambda | ast.ClassDef | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


def qualify_all(trees: dict[str, ast.Module]) -> None:
    """Writes ``module:name`` in place of each name that a module defines or imports, in the trees of all modules.

    A parameter that no call names becomes ``module:number of its function:name``, and that of a test is the fixture.
    All others stay: what a function assigns, attributes of objects. A name that means two things anywhere within an
    outermost function or class stays there, too. Imports of one module that follow one another become one, since a
    formatter parts and joins them by their names.
    """
    keywords: set[str] = set()
    texts: dict[str, set[str]] = {module: set() for module in trees}  # of it and what imports it; may become keywords
    fixtures: dict[str, set[str]] = {}
    for module, tree in trees.items():
        _join_imports(tree)
        fixtures[module] = {node.name for node in _outside_functions(tree) if _is_fixture(node)}
        imported, written_names = {module}, set()
        for node in ast.walk(tree):
            if isinstance(node, ast.keyword):
                keywords.add(node.arg or "")
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                written_names.add(node.value)
            elif isinstance(node, ast.ClassDef):
                written_names.update(_bound(_outside_functions(node)))
            elif isinstance(node, IMPORTS):
                imported |= {alias.name for alias in node.names}
                if isinstance(node, ast.ImportFrom):
                    imported |= {str(node.module), *(f"{node.module}.{alias.name}" for alias in node.names)}
        for name in imported & trees.keys():
            texts[name] |= written_names
    for module, tree in trees.items():
        folders = module.split(".")[:-1]
        around = (".".join([*folders[:depth], "conftest"]) for depth in range(1, len(folders) + 1))
        visible = {name: place for place in [*around, module] for name in fixtures.get(place, ())}
        _Qualifier(tree, module, trees, keywords | texts[module], visible).visit(tree)


def _join_imports(tree: ast.Module) -> None:
    for node in ast.walk(tree):
        for block in ("body", "orelse", "finalbody"):
            joined: list[ast.stmt] = []
            statements = getattr(node, block, None)
            for statement in statements if isinstance(statements, list) else []:
                last = joined[-1] if joined else None
                both_import = isinstance(statement, ast.ImportFrom) and isinstance(last, ast.ImportFrom)
                if both_import and (statement.module, statement.level) == (last.module, last.level):
                    last.names += statement.names
                else:
                    joined.append(statement)
            if joined:
                setattr(node, block, joined)


class _Qualifier(ast.NodeTransformer):
    def __init__(
        self, tree: ast.Module, module: str, modules: Container[str], written_names: set[str], fixtures: dict[str, str]
    ):
        self._module, self._modules, self._written_names, self._fixtures = module, modules, written_names, fixtures
        self._at_module_level, self._functions = True, 0
        outside = [*_outside_functions(tree)]
        self._names = dict.fromkeys({*_imported(outside), *_bound(outside)}, module)  # each with what it belongs to
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
            self._functions += 1
            around, inside = self._names, [each for each in ast.walk(node) if each is not node]
            names = around | dict.fromkeys(_imported(inside), self._module)
            bound = {*_bound(inside)}
            self._names = {name: of for name, of in names.items() if name not in bound}
            self._names |= self._parameters(node) if isinstance(node, FUNCTIONS) else {}
            self._at_module_level = False
            super().generic_visit(node)
            self._names, self._at_module_level = around, True
            node.name = self._qualified(node.name)
            return node
        return super().visit(node)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.arg = self._qualified(node.arg)
        return self.generic_visit(node)

    def _parameters(self, function: ast.FunctionDef | ast.AsyncFunctionDef) -> dict[str, str]:
        """Returns the parameters of an outermost function of which nothing else in it has the name."""
        local_names = {node.arg for node in ast.iter_child_nodes(function.args) if isinstance(node, ast.arg)}
        inner = [node for node in ast.walk(function) if isinstance(node, INNER_SCOPES) and node is not function]
        local_names -= {name for scope in inner for name in _bound(ast.walk(scope))}
        if _is_fixture(function) or function.name.startswith("test_"):
            return {name: self._fixtures[name] for name in local_names & self._fixtures.keys()}
        if function.name.startswith("pytest_"):
            return {}
        return dict.fromkeys(local_names - self._written_names, f"{self._module}:{self._functions}")

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
        return f"{self._names[name]}:{name}" if name in self._names else name

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
