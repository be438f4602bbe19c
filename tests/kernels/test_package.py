"""The package gives each public name lazily, from the module that defines it."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    "modules, unwanted",
    [
        ("kernels", ["torch", "triton"]),
        ("kernels.cost, kernels.hardware", ["torch", "triton"]),
        ("kernels.reference, kernels.measure", ["triton"]),
    ],
)
def test_what_is_not_needed_is_not_imported(modules, unwanted):
    script = f"import sys, {modules}; assert not set({unwanted}) & set(sys.modules)"
    subprocess.run([sys.executable, "-c", script], check=True)


def test_the_package_finds_each_name_in_its_module():
    import kernels

    assert kernels.__dir__()[0] == "attention" and "flash_attention" in dir(kernels)
    for name, module in kernels.MODULE_OF.items():
        assert getattr(kernels, name).__module__ == f"kernels.{module}"
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = kernels.nothing
