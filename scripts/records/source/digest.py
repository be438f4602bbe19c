"""What the outputs of a run depend on: the snippet's cells and, of kernels/, what the run executed.

    executed    each function and method that was called and each kernel that was launched
    reached     the module constants and classes that these read, their defaults and decorators, and all that a kernel
                names: Triton compiles it into the kernel, or calls it while it compiles

A digest has an entry for each of them, ``module:qualname``, with a hash of its own text; one for the cells; and one,
``names``, for what the names in all of these stand for.  So a definition may move to another file, and a name that
comes to stand for another definition is noticed.  A run that catches exceptions has one more, ``caught``: a message may
then stand in its outputs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from scripts.records.cells import Cells
from scripts.records.source.library import Definition, Library
from scripts.records.source.trees import digest_of, is_caught

CELLS, NAMES, CAUGHT = "cells", "names", "caught"  # entries of a digest beside those of definitions
CLASS, INSIDE = "(class)", "(inside)"  # in place of a name: the class of a method, what stands in a class
Digest = dict[str, str]
Named = list[tuple[str, Definition | str]]  # names, each with its definition or with what it is of another package


class Reached:
    """What a run depends on, found from the cells of its snippet and the definitions that it executed."""

    def __init__(self, library: Library, cells: Cells, executed: Iterable[Definition]):
        self.library, self.cells = library, cells
        self.found: dict[str, Definition] = {}
        self._compiled: set[str] = set()  # places that are reached by compiled code
        self._waiting: list[tuple[Definition, bool]] = []
        for each in executed:
            self._reach(each, each.is_compiled)
        for _, target in self._imported(cells.imports, by="the snippet"):
            self._follow(target, by_compiled=False)
        while self._waiting:
            definition, compiled = self._waiting.pop()
            for _, target in self._names_of(definition):
                self._follow(target, compiled)

    def digest(self) -> Digest:
        entries = {place: definition.digest for place, definition in sorted(self.found.items())}
        caught = {CAUGHT: digest_of(raised)} if (raised := self._caught()) else {}
        return {CELLS: self.cells.digest, NAMES: self._meaning(), **caught, **entries}

    def _caught(self) -> list:
        """What the functions that ran raise, if they or the cells catch its kind: the check, and its words."""
        names = self.cells.caught.union(*(each.caught for each in self.found.values()))
        return [
            [each.qualname, check]
            for each in sorted(self.found.values(), key=lambda each: (each.qualname, each.digest))
            for raised, check in each.raises
            if is_caught(raised, names)
        ]

    def _names_of(self, definition: Definition) -> Named:
        """The names in a definition that stand for something, and what they stand for."""
        resolved = [(name, self.library.resolve(definition.module, name)) for name in definition.names]
        found = [(name, target) for name, target in resolved if target is not None]
        found += self._imported(definition.imports, by=definition.place)
        if definition.owner:
            found.append((CLASS, definition.owner))
        if definition.is_class:
            found += [(INSIDE, each) for each in definition.inside]
        return found

    def _imported(self, imports: list[tuple[str, str, str]], by: str) -> Named:
        return [(name, self.library.imported(module, original, by)) for name, module, original in imports]

    def _follow(self, target: Definition | str, by_compiled: bool) -> None:
        """A function that Python names counts only if it ran, see ``executed``; whatever a kernel names is compiled."""
        if isinstance(target, Definition) and (by_compiled or not target.is_function):
            self._reach(target, by_compiled or target.is_compiled)

    def _reach(self, definition: Definition, compiled: bool) -> None:
        place = definition.place
        if place in self.found and (place in self._compiled or not compiled):
            return
        self.found[place] = definition
        if compiled:
            self._compiled.add(place)
        self._waiting.append((definition, compiled))

    def _meaning(self) -> str:
        """A hash of what all names stand for, wherever it lies.

        Two definitions are alike if their texts are, and what their names stand for is alike.  That goes round where
        functions call each other, so it is found in rounds: at first by the texts, then each time by the names too,
        until no round tells more of them apart.
        """
        names = {place: self._names_of(definition) for place, definition in self.found.items()}
        cells = self._imported(self.cells.imports, by="the snippet")
        kinds = {place: definition.digest for place, definition in self.found.items()}
        while True:
            finer = {place: _hashed(kinds[place], *self._told(targets, kinds)) for place, targets in names.items()}
            settled = len(set(finer.values())) == len(set(kinds.values()))
            kinds = finer
            if settled:
                return _hashed(*self._told(cells, kinds), "", *sorted(set(kinds.values())))

    def _told(self, names: Named, kinds: dict[str, str]) -> list[str]:
        """Each name with what it stands for: something found, a function that did not run, or of another package."""
        told = []
        for name, target in names:
            if isinstance(target, str):
                told.append(f"{name} is {target}")
            elif target.place in kinds:
                told.append(f"{name} is {kinds[target.place]}")
            elif name != INSIDE:
                told.append(f"{name} is a function {target.qualname}")
        return sorted(told)


def digest(library: Library, cells: Cells, executed: Iterable[str]) -> Digest:
    """What a run of these cells depends on that executed these functions, ``module:qualname``.

    What a library wrote, such as the methods of a dataclass, stands for its class, or for nothing.
    """
    return Reached(library, cells, filter(None, (_written(library, each) for each in executed))).digest()


def compare(library: Library, cells: Cells, then: Digest) -> tuple[list[str], frozenset[str]]:
    """What has changed since a digest was made, in words, and where the functions that ran are defined today."""
    texts = {place: text for place, text in then.items() if place not in (CELLS, NAMES, CAUGHT)}
    today = {place: _today(library, place, text) for place, text in texts.items()}
    executed = [each for each in today.values() if each and each.is_function]
    changed = ["the snippet itself"] if cells.digest != then.get(CELLS) else []
    changed += sorted(place for place, found in today.items() if not found or found.digest != texts[place])
    if not changed:
        reached = Reached(library, cells, executed)
        changed += sorted({each.place for each in reached.found.values() if each.digest not in texts.values()})
        now = reached.digest()
        if not changed and now.get(CAUGHT) != then.get(CAUGHT):
            changed.append("what is raised and caught")
        if not changed and now[NAMES] != then.get(NAMES):
            changed.append("what a name stands for")
    return changed, frozenset(each.place for each in executed)


def _written(library: Library, place: str) -> Definition | None:
    return library.at(place) or (library.at(place.rpartition(".")[0]) if "." in place.partition(":")[2] else None)


def _today(library: Library, place: str, text: str) -> Definition | None:
    """The same definition where it is now: in its place, or moved to where the path has most in common."""
    here = library.at(place)
    if here and here.digest == text:
        return here
    module, _, qualname = place.partition(":")
    words = set(module.split("."))
    moved = [each for each in library.by_qualname[qualname] if each.digest == text]
    return max(moved, key=lambda each: len(words & set(each.module.split("."))), default=here)


def _hashed(*texts: str) -> str:
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()
