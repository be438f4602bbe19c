"""Triton walks each kernel for what it compiles into it, to key its cache: the source alone tells us no less."""

import json
import os
import subprocess
import sys
from types import SimpleNamespace

import pytest

from scripts.records import ROOT
from scripts.records.source.digest import Reached
from scripts.records.source.library import Library

WALK = """
import importlib, json, pkgutil, sys
import kernels
from triton.runtime.jit import DependenciesFinder, JITFunction

used = {}  # kernel -> what it calls
hashed = DependenciesFinder._update_hash

def noting_hash(finder, callee):
    used.setdefault(finder.name, set()).add(f"{callee.fn.__module__}:{callee.fn.__qualname__}")
    return hashed(finder, callee)

DependenciesFinder._update_hash = noting_hash
found = {}
for each in pkgutil.walk_packages(kernels.__path__, "kernels."):
    for value in vars(importlib.import_module(each.name)).values():
        if isinstance(value, JITFunction) and value.fn.__module__ == each.name:
            place = f"{each.name}:{value.fn.__qualname__}"
            value.cache_key
            constants = sorted({name for name, _ in value.used_global_vals})
            calls = used.get(value._fn_name, set())
            found[place] = [constants, sorted(call for call in calls if call.startswith("kernels."))]
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def walked():
    pytest.importorskip("triton")
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    run = [sys.executable, "-c", WALK]
    printed = subprocess.run(run, cwd=ROOT, env=environment | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True)
    assert printed.returncode == 0, printed.stderr
    return json.loads(printed.stdout)


def test_what_triton_finds_is_reached(walked):
    library = Library(ROOT)
    cells = SimpleNamespace(digest="", imports=[], caught=set())
    assert len(walked) > 50 and sum(len(calls) for _, calls in walked.values()) > 50
    for place, (constants, calls) in walked.items():
        reached = Reached(library, cells, [library.at(place)]).found
        assert set(calls) <= reached.keys(), place
        assert set(constants) <= {each.qualname for each in reached.values()}, place
