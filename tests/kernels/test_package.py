"""The package gives each public name when it is asked for it, from the module that defines it, and nothing before."""

import subprocess
import sys
from pathlib import Path

import pytest

import kernels

ROOT = Path(__file__).resolve().parents[2]
PUBLIC = {
    "attention": "dispatch",
    "fastest_rung": "dispatch",
    "reference_attention": "dispatch",
    "one_key_attention": "first.one_key",
    "key_blocks_attention": "first.key_blocks",
    "three_kernel_attention": "first.three_kernels",
    "flash_attention": "flash.call",
    "hopper_attention": "hopper.call",
    "decode_attention": "serving.decode",
    "KVCache": "serving.cache",
    "quantize": "formats.block",
    "dequantize": "formats.block",
    "merge": "flash.partial",
}


def in_a_new_python(script):
    return subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True)


def test_the_public_names_are_these():
    assert kernels.MODULE_OF == PUBLIC and dir(kernels) == sorted(PUBLIC)
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
