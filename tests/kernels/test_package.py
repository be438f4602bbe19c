"""The package gives each public name when it is asked for it, from the module that defines it, and nothing before."""

import subprocess
import sys
from pathlib import Path

import pytest

import kernels

ROOT = Path(__file__).resolve().parents[2]
PUBLIC = kernels.MODULE_OF


def in_a_new_python(script):
    return subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True)


def test_another_name_is_none():
    assert dir(kernels) == sorted(PUBLIC)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = kernels.nothing


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_name_is_what_its_module_defines(name):
    public = getattr(kernels, name)
    assert (public.__name__, public.__module__) == (name, f"kernels.{PUBLIC[name]}")


def test_every_public_name_can_be_imported_twice():
    """A module of the same name would take the function's place once it is imported."""
    line = f"from kernels import {', '.join(PUBLIC)}"
    run = in_a_new_python(f"{line}\n{line}\nprint(all(map(callable, ({', '.join(PUBLIC)}))))")
    assert run.stdout == "True\n", run.stderr


@pytest.mark.parametrize(
    "modules, unwanted",
    [
        ("kernels", ["torch", "triton"]),
        ("kernels.bench.cost, kernels.bench.hardware", ["torch", "triton"]),
        ("kernels.reference, kernels.flash.partial, kernels.bench.timing", ["triton"]),
    ],
)
def test_what_is_not_needed_is_not_imported(modules, unwanted):
    run = in_a_new_python(f"import sys, {modules}; print(set({unwanted}) & set(sys.modules))")
    assert run.stdout == "set()\n", run.stderr
