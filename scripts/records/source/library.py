"""What kernels/ defines, read as text: functions, methods, classes and constants, and what names stand for there."""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

from scripts.records.root import RecordError, is_hidden, naming, text_of
from scripts.records.source.trees import (
    Function,
    caught,
    digest_of,
    first_call,
    free_names,
    from_kernels,
    last_name,
    raises,
    remembered,
    stripped,
    walked,
)

COMPILED = {"jit", "constexpr_function"}  # decorators of what Triton compiles, or calls while it compiles


class Definition:
    """What a name of a module, or a method of a class, is defined by.

    place: ``module:qualname``
    statements: all that bind the name or change what it is bound to, stripped; of a class without its methods
    imports: what is imported from kernels/ in them: name, module, name there
    inside: the methods and classes of a class
    """

    def __init__(
        self,
        module: str,
        qualname: str,
        statements: list[ast.stmt],
        imports: list[tuple[str, str, str]],
        inside: list[Definition],
    ):
        self.module, self.qualname, self.statements = module, qualname, statements
        self.imports, self.inside = imports, inside
        self.owner: Definition | None = None  # the class that it stands in
        for each in self.inside:
            each.owner = self

    @property
    def place(self) -> str:
        return f"{self.module}:{self.qualname}"

    @property
    def is_function(self) -> bool:
        return any(isinstance(each, Function) for each in self.statements)

    @property
    def is_class(self) -> bool:
        return any(isinstance(each, ast.ClassDef) for each in self.statements)

    @cached_property
    def is_compiled(self) -> bool:
        functions = (each for tree in self.statements for each in walked(tree) if isinstance(each, Function))
        return any(last_name(each) in COMPILED for function in functions for each in function.decorator_list)

    @cached_property
    def digest(self) -> str:
        """Of its own text; what its names stand for is no part of it."""
        return digest_of([self.qualname, *self.statements])

    @cached_property
    def caught(self) -> set[str]:
        return caught(self.statements)

    @cached_property
    def raises(self) -> list[tuple[ast.Raise, ast.stmt]]:
        return raises(self.statements)

    @cached_property
    def names(self) -> list[str]:
        return sorted(free_names(self.statements))


class Module:
    """One file of kernels/: its definitions, and which names it only passes on.

    definitions: qualname -> definition
    imported: name -> (module, name there) for what comes from kernels/
    foreign: name -> what it is of which package
    """

    def __init__(self, name: str, source: str, is_package: bool = False):
        self.name = name
        self.imported: dict[str, tuple[str, str]] = {}
        self.foreign: dict[str, str] = {}
        self.definitions: dict[str, Definition] = {}
        self._bodies: defaultdict[str, list[ast.stmt]] = defaultdict(list)
        tree = without_docstring(stripped(source, name))
        refuse_roundabout_imports(name, tree)
        if is_package and (call := first_call(tree)):
            self._refuse(call)  # a package runs before all that lies in it, and is in no digest
        for statement in tree.body:
            self._take(statement)
        if twice := sorted(self._bodies.keys() & self.imported.keys()):
            raise RecordError(f"{name} imports {', '.join(twice)} and defines the same name again: which one runs?")
        for qualname, statements in self._bodies.items():
            self._define(qualname, statements)

    def _take(self, statement: ast.stmt) -> None:
        """Notes a statement of the module with each name that it binds or whose value it changes.

        A name that one import binds and nothing else is what is imported, also where ``try`` stands around the import.
        """
        bound = list(self._bound(statement))
        often = Counter(name for name, _ in bound)
        for name, source in bound:
            if source and often[name] == 1:
                (self.imported if isinstance(source, tuple) else self.foreign)[name] = source
            elif statement not in self._bodies[name]:
                self._bodies[name].append(statement)

    def _bound(self, statement: ast.stmt) -> Iterator[tuple[str, tuple[str, str] | str | None]]:
        """The names, and of an import where each comes from: (module of kernels/, name), or what of another package."""
        match statement:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield statement.name, None
            case ast.Assign() | ast.AnnAssign() | ast.AugAssign() | ast.Delete():
                targets = statement.targets if hasattr(statement, "targets") else [statement.target]
                yield from ((name, None) for target in targets for name in self._targets(statement, target))
            case ast.Import():
                names = ((each.asname, each.name) for each in statement.names)
                yield from ((short, name) if short else (name.partition(".")[0],) * 2 for short, name in names)
            case ast.ImportFrom():
                yield from ((each.asname or each.name, f"{statement.module}:{each.name}") for each in statement.names)
            case ast.Pass():
                yield from ((name, (module, original)) for name, module, original in from_kernels(statement))
            case ast.If() | ast.Try() | ast.TryStar() | ast.With() | ast.For() | ast.While():
                yield from ((name, None) for target in heads(statement) for name in self._targets(statement, target))
                yield from (each for inner in blocks(statement) for each in self._bound(inner))
            case ast.Expr(value=ast.Call(func=ast.Attribute() as method)):
                yield self._known_root(statement, method), None
            case ast.Expr(value=ast.Call(func=ast.Name(id=name))) if name in self._bodies:
                yield name, None  # the command that a module is when it is run
            case ast.Expr(value=ast.Constant()) | ast.Raise() | ast.Assert():
                pass
            case _:
                self._refuse(statement)

    def _targets(self, statement: ast.stmt, target: ast.expr) -> Iterator[str]:
        match target:
            case ast.Name():
                yield target.id
            case ast.Tuple() | ast.List():
                for each in target.elts:
                    yield from self._targets(statement, each)
            case ast.Starred():
                yield from self._targets(statement, target.value)
            case _:
                yield self._known_root(statement, target)

    def _known_root(self, statement: ast.stmt, expression: ast.expr) -> str:
        """``f`` of ``f.register(...)`` and of ``f.attribute``, which this module must define."""
        root = expression
        while isinstance(root, ast.Attribute | ast.Subscript | ast.Call):
            root = root.func if isinstance(root, ast.Call) else root.value
        if not isinstance(root, ast.Name) or root.id not in self._bodies:
            self._refuse(statement)
        return root.id

    def _refuse(self, statement: ast.stmt) -> None:
        raise RecordError(
            f"{self.name}: `{ast.unparse(statement)}` runs when the module is imported and may change what others do, "
            "which no record would notice: a module defines names, and changes only what it defines itself"
        )

    def _define(self, qualname: str, statements: list[ast.stmt]) -> Definition:
        methods: defaultdict[str, list[ast.stmt]] = defaultdict(list)
        own = []
        for statement in statements:
            if isinstance(statement, ast.ClassDef):
                inside = [each for each in statement.body if isinstance(each, Function | ast.ClassDef)]
                for each in inside:
                    methods[f"{qualname}.{each.name}"].append(each)
                statement = without(statement, inside)
            own.append(statement)
        inside = [self._define(name, each) for name, each in methods.items()]
        imports = [
            each
            for statement in own
            for each in from_kernels(statement)
            if isinstance(statement, Function | ast.ClassDef) or each[0] not in self.imported
        ]
        definition = Definition(self.name, qualname, own, imports, inside)
        self.definitions[qualname] = definition
        return definition


class Library:
    """All modules of kernels/ below a root.

    Raises:
        RecordError: if a module does what no digest could follow.
    """

    def __init__(self, root: Path):
        self.modules: dict[str, Module] = {}
        for name, path in files(root, "kernels"):
            with naming(path):
                self.modules[name] = module(name, text_of(path), path.stem == "__init__")
        self.by_qualname: defaultdict[str, list[Definition]] = defaultdict(list)
        for each in self.modules.values():
            for definition in each.definitions.values():
                self.by_qualname[definition.qualname].append(definition)

    def at(self, place: str) -> Definition | None:
        module, _, qualname = place.partition(":")
        return self.modules[module].definitions.get(qualname) if module in self.modules else None

    def resolve(self, module: str, name: str) -> Definition | str | None:
        """What a name stands for in a module: a definition, something of another package, or a builtin (None)."""
        here = self.modules[module]
        if name in here.imported:
            return self.imported(*here.imported[name], by=module)
        return here.definitions.get(name) or here.foreign.get(name)

    def imported(self, module: str, name: str, by: str) -> Definition | str:
        """What ``from module import name`` brings.

        Raises:
            RecordError: with who imports it, if there is no such name of kernels/.
        """
        found = self.resolve(module, name) if module in self.modules else None
        if found is None:
            raise RecordError(f"{by} imports {name} from {module}, which does not define it")
        return found


@remembered
def module(name: str, source: str, is_package: bool) -> Module:
    return Module(name, source, is_package)


def files(root: Path, room: str) -> list[tuple[str, Path]]:
    """The modules of a room with their files; that of a package is its ``__init__.py``."""
    found = []
    for path in sorted(each for each in (root / room).rglob("*.py") if not is_hidden(each)):
        parts = path.relative_to(root).with_suffix("").parts
        found.append((".".join(parts[:-1] if parts[-1] == "__init__" else parts), path))
    return found


def blocks(statement: ast.stmt) -> Iterator[ast.stmt]:
    """The statements inside a compound one."""
    for part in (statement, *getattr(statement, "handlers", [])):
        for field in ("body", "orelse", "finalbody"):
            yield from getattr(part, field, [])


def heads(statement: ast.stmt) -> Iterator[ast.expr]:
    """What ``for`` and ``with`` assign to."""
    if isinstance(statement, ast.For):
        yield statement.target
    yield from (each.optional_vars for each in getattr(statement, "items", []) if each.optional_vars)


def without(statement: ast.ClassDef, inside: list[ast.stmt]) -> ast.ClassDef:
    """A class without its methods, each of which counts if it ran.

    The names of those count that Python calls by itself, or that may stand in for one of a base class.
    """
    names = sorted(each.name for each in inside if statement.bases or each.name.startswith("__"))
    body = [each for each in statement.body if each not in inside]
    body += [ast.Expr(ast.Constant(name)) for name in names]
    fields = {name: value for name, value in ast.iter_fields(statement) if name != "body"}
    return ast.ClassDef(**fields, body=body or [ast.Pass()])


def without_docstring(tree: ast.Module) -> ast.Module:
    if ast.get_docstring(tree, clean=False) is not None:
        return ast.Module(body=tree.body[1:], type_ignores=[])
    return tree


def refuse_roundabout_imports(where: str, tree: ast.AST) -> None:
    """A digest follows ``from kernels.X import name``, and nothing else."""
    for node in walked(tree):
        if isinstance(node, ast.Import):
            roundabout = any(each.name.split(".")[0] == "kernels" for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            roundabout = node.level > 0 or node.module == "kernels"
        else:
            continue
        if roundabout:
            raise RecordError(f"{where}: `{ast.unparse(node)}` hides a module; write `from kernels.X import name`")
