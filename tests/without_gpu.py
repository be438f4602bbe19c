"""What matters only where there is no GPU: how fast Triton's interpreter is, and which files are begun first.

A plugin of pytest, named in pyproject.toml.  No test imports it, so that no record depends on it.
"""

import os

import pytest
import torch


def language_patched_once_a_launch() -> None:
    """Makes Triton's interpreter patch ``triton.language`` once a launch for each function, not at each call.

    It looks through all of the module each time, which takes a third of the time of kernels with helpers. Once is
    enough: nothing undoes the patch before the launch ends.
    """
    from triton.runtime import interpreter

    patch_lang, restore = interpreter._patch_lang, interpreter._LangPatchScope.restore
    patched = set()

    def patch_once(function):
        if function in patched:
            return None  # no helper asks what was patched for it; a launch does, and is the first
        patched.add(function)
        return patch_lang(function)

    def restore_all(scope) -> None:
        patched.clear()
        restore(scope)

    interpreter._patch_lang, interpreter._LangPatchScope.restore = patch_once, restore_all


if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"  # as tests/conftest.py does, which comes later: before the first @triton.jit
    language_patched_once_a_launch()

# Begun first, in this order, so that none of them is left alone at the end.
SLOW_FILES = ["test_browser.py", "test_keyboard.py", "test_snippets.py", "test_command.py", "test_serve.py"]
SLOW_FILES += [
    "test_labs.py",
    "test_pages.py",
    "test_false_claims_stop_the_build.py",
    "test_flash.py",
    "test_rungs.py",
    "test_archive.py",
]
SLOW_FILES += ["test_branches.py", "test_pieces.py", "test_stalled_browser.py"]


@pytest.hookimpl(trylast=True)  # after the order of tests/conftest.py, which records of kernels depend on
def pytest_collection_modifyitems(items):
    order = {name: number for number, name in enumerate(SLOW_FILES)}
    items.sort(key=lambda item: order.get(item.path.name, len(order)))
