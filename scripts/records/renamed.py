"""Keeps records and outcomes through a renaming, which no run can notice: ``python -m scripts.records.renamed COMMIT``.

Compares kernels/, snippets/ and tests/ of a commit with today's. If they differ only in names of their own, each
renamed everywhere alike, then whatever was current at that commit gets today's hashes and names, and needs no GPU.
Otherwise it says where they differ, and nothing is written. A module of kernels/ may get another name within its
folder, if nothing in it changes then; no other file may move. What a module defines may be renamed
there and in its imports alone, a parameter that no call names in its function alone, a fixture with its tests; any
other parameter, and an attribute, wherever it's written. Run the tests as well: only they see a module's name that is
reached otherwise, by `getattr` or as an attribute of a variable, and a method that an object from elsewhere shares.
"""

import ast
import io
import re
import subprocess
import sys
import tarfile
from collections.abc import Iterable
from itertools import zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory

import nbformat

from scripts.records import kernel_outcomes, record_file
from scripts.records.digest import VERSIONED_FIELDS, Modules, significant_tree
from scripts.records.qualified_names import qualify_all
from scripts.records.reader import Reader, record_path
from scripts.records.root import ROOT, RecordError, text_of

FOLDERS = ("kernels", "snippets", "tests")


class Renaming:
    """What each name of a tree is called in another; raises a RecordError where more than names differs."""

    def __init__(self, old: Path, new: Path):
        self.names: dict[str, str] = {}  # those that a module defines or imports are ``module:name``
        self._defined: set[str] = set()
        self._strings: list[tuple[str, str, str]] = []  # file, old text, new text
        files = [
            {path.relative_to(root).as_posix() for folder in FOLDERS for path in (root / folder).rglob("*.py")}
            for root in (old, new)
        ]
        files_moved = _moved_files(old, new, files[0] - files[1], files[1] - files[0])
        self.moves = {_module_of(file): _module_of(to) for file, to in files_moved.items()}
        if differing := sorted((files[0] ^ files[1]) - {*files_moved, *files_moved.values()}):
            raise RecordError(f"{differing[0]} is on one side alone, and no renamed module of kernels/")
        trees = [
            {_module_of(file): significant_tree(text_of(root / file)) for file in sorted(of_root)}
            for root, of_root in zip((old, new), files, strict=True)
        ]
        for of_root in trees:
            qualify_all(of_root)
        for file in sorted(files[0]):
            module = _module_of(file)
            self._compare(file, trees[0][module], trees[1][self.moves.get(module, module)])
        self.changed = {name: to for name, to in self.names.items() if name != to}
        self._new_words = self._renamed_words()
        self._refuse_unsafe()

    def apply(self, text: str) -> str:
        """Returns a text with the new name in place of each whole word that's an old one, also behind its module."""
        if not self._new_words:
            return text
        words = re.compile(rf"\b(?:{'|'.join(sorted(map(re.escape, self._new_words), key=len, reverse=True))})\b")
        return words.sub(lambda word: self._new_words[word[0]], text)

    def _renamed_words(self) -> dict[str, str]:
        """Returns the new word for each old one: alone, if it's renamed wherever it stands, and behind its module."""
        meanings: dict[str, set[str]] = {}
        for name, to in self.names.items():
            meanings.setdefault(_word(name), set()).add(_word(to))
        words = {word: to for word, (to, *others) in meanings.items() if to != word and not others} | self.moves
        for name, to in self.changed.items():
            if ":" in name:
                words |= {name: to, name.replace(":", "."): to.replace(":", ".")}
        return words

    def _compare(self, file: str, old: object, new: object) -> None:
        if isinstance(old, ast.AST) and type(old) is type(new):
            if isinstance(old, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                self._defined.add(old.name)
            elif isinstance(old, ast.arg):
                self._defined.add(old.arg)
            elif isinstance(old, ast.alias) and old.asname:
                self._defined.add(old.asname)
            elif isinstance(old, ast.Name | ast.Attribute) and isinstance(old.ctx, ast.Store):
                self._defined.add(old.id if isinstance(old, ast.Name) else old.attr)
            for field in old._fields:
                if field not in VERSIONED_FIELDS:
                    parts = getattr(old, field, None), getattr(new, field, None)
                    if isinstance(old, ast.Constant) and all(isinstance(part, str) for part in parts):
                        self._strings.append((file, *parts))
                    else:
                        self._compare(file, *parts)
        elif isinstance(old, list) and isinstance(new, list):
            for pair in _paired(old, new):
                self._compare(file, *pair)
        elif isinstance(old, str) and isinstance(new, str):  # a name, perhaps a dotted one
            module, colon, name = old.partition(":")
            old = self.moves.get(module, module) + colon + name
            is_qualified = ":" in old or ":" in new
            for name, to in [(old, new)] if is_qualified else zip_longest(old.split("."), new.split(".")):
                if is_qualified and name.rpartition(":")[0] != to.rpartition(":")[0]:
                    raise RecordError(f"{file}: {_word(to)} has another origin than {_word(name)} had")
                if self.names.setdefault(name, to) != to:
                    elsewhere = _word(self.names[name])
                    raise RecordError(f"{file}: {_word(name)} is {_word(to)} there and {elsewhere} elsewhere")
        elif old != new or type(old) is not type(new):
            raise RecordError(f"{file} has changed in more than names: {_shown(old)} is now {_shown(new)}")

    def _refuse_unsafe(self) -> None:
        came_from: dict[str, str] = {}
        for name, to in self.names.items():
            if (other := came_from.setdefault(to, name)) != name:
                raise RecordError(f"{_word(other)} and {_word(name)} are both called {_word(to)} now")
        if foreign := sorted({name for name in self.changed if ":" not in name} - self._defined):
            raise RecordError(f"{foreign[0]} isn't defined in {', '.join(FOLDERS)}: it can't be renamed there")
        for file, old, new in self._strings:
            if new not in (old, self.apply(old)):
                raise RecordError(f"{file} has changed in more than names: {old!r} is now {new!r}")


def _moved_files(old: Path, new: Path, old_names: set[str], new_names: set[str]) -> dict[str, str]:
    """Returns the modules of kernels/ whose name alone has changed, each with its new name."""
    moved = {}
    for file in (file for file in old_names if file.startswith("kernels/")):
        tree = ast.dump(significant_tree(text_of(old / file)))
        beside = [to for to in new_names if Path(to).parent == Path(file).parent]
        same = [to for to in beside if ast.dump(significant_tree(text_of(new / to))) == tree]
        if len(same) == 1 and same[0] not in moved.values():
            moved[file] = same[0]
    return moved


def _module_of(file: str) -> str:
    return file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _word(name: str) -> str:
    """Returns a name without its module."""
    return str(name).rpartition(":")[2]


def _paired(old: list, new: list) -> Iterable[tuple]:
    """Pairs what two lists hold, in their order; what's imported in one statement has none."""
    if not all(isinstance(each, ast.alias) for each in [*old, *new]):
        return zip_longest(old, new)
    names = [{(alias.name, alias.asname): alias for alias in aliases} for aliases in (old, new)]
    same = names[0].keys() & names[1].keys()
    rest = ([alias for key, alias in each.items() if key not in same] for each in names)
    return [*((names[0][key], names[1][key]) for key in same), *zip_longest(*rest)]


def _shown(part: object) -> str:
    text = ast.unparse(part) if isinstance(part, ast.expr | ast.stmt) else repr(part)
    return re.sub(r"[\w.]+:(?=\w)", "", text)[:60]


def carry_over(old: Path, new: Path, renaming: Renaming) -> list[str]:
    """Gives what was current in the old tree the hashes and names of the new one; returns what it rewrote."""
    return [*_records(Reader(old), Reader(new), renaming), *_outcomes(old, new, renaming)]


def _records(old: Reader, new: Reader, renaming: Renaming) -> list[str]:
    rewritten = []
    for name in new.names():
        if old.inspect(name).fault or not new.inspect(name).fault:
            continue
        path = record_path(new.path(name))
        notebook = nbformat.reads(path.read_text(encoding="utf-8"), as_version=4)
        provenance = notebook.metadata[record_file.METADATA]
        provenance["digest"] = new.digests(name)
        provenance["executed"] = sorted(map(renaming.apply, provenance["executed"]))
        for cell in notebook.cells:
            cell.source = new.snippet(name).code.get(cell.id, cell.source)
        record_file.write(path, notebook)
        rewritten.append(name)
    return rewritten


def _outcomes(old: Path, new: Path, renaming: Renaming) -> list[str]:
    old_modules, new_modules, rewritten = Modules(old), Modules(new), []
    stored = kernel_outcomes.load_outcomes(new, kernel_outcomes.TESTS)
    for file, outcome in stored.get("files", {}).items():
        if outcome["digest"] == kernel_outcomes.digest_of_file(old_modules, file):
            outcome["digest"] = kernel_outcomes.digest_of_file(new_modules, file)
            for tests in (outcome["passed"], *outcome["skipped"].values()):
                renamed = {renaming.apply(test): times for test, times in tests.items()}
                tests.clear()
                tests.update(renamed)
            rewritten.append(file)
    if rewritten:
        kernel_outcomes.save_outcomes(new, kernel_outcomes.TESTS, stored)
    cases = kernel_outcomes.load_outcomes(new, kernel_outcomes.RANDOM_CASES)
    if cases and cases["digest"] == kernel_outcomes.digest_of_random_cases(old_modules):
        cases["digest"] = kernel_outcomes.digest_of_random_cases(new_modules)
        kernel_outcomes.save_outcomes(new, kernel_outcomes.RANDOM_CASES, cases)
    return rewritten


def main(commit: str) -> int:
    archive = subprocess.run(["git", "archive", commit, *FOLDERS], cwd=ROOT, capture_output=True)
    if archive.returncode:
        print(f"stopped: {archive.stderr.decode().strip()}", file=sys.stderr)
        return 1
    with TemporaryDirectory() as folder, tarfile.open(fileobj=io.BytesIO(archive.stdout)) as files:
        files.extractall(folder, filter="data")
        try:
            renaming = Renaming(Path(folder), ROOT)
            rewritten = carry_over(Path(folder), ROOT, renaming)
        except RecordError as error:
            print(f"stopped: {error}", file=sys.stderr)
            return 1
    for name, to in (renaming.moves | renaming.changed).items():
        print(f"{name} is now {_word(to)}")
    print(f"{len(rewritten)} records and outcomes have today's hashes")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
