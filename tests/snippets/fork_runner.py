"""Runs the snippets whose paths it reads from stdin, each in a fork of one process that has imported torch.

It answers each with the exit status; what the snippet printed lies in the files ``stdout`` and ``stderr`` of the folder
that it was called with. Triton is not imported before, because a snippet says whether it interprets, and it asks once.
"""

import gc
import importlib.abc
import importlib.util
import os
import runpy
import sys

import torch  # noqa: F401


def redirect(descriptor: int, name: str) -> None:
    file = os.open(os.path.join(folder, name), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(file, descriptor)
    os.close(file)


class FastInterpreter(importlib.abc.MetaPathFinder):
    """Makes Triton's interpreter, once a snippet has asked for it, as quick as it is in our other tests."""

    def find_spec(self, name, path, target=None):
        if name != "triton.runtime.interpreter" or os.environ.get("TRITON_INTERPRET") != "1":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        loaded = spec.loader.exec_module

        def exec_module(module):
            loaded(module)
            importlib.import_module("tests.without_gpu")

        spec.loader.exec_module = exec_module
        return spec


folder = sys.argv[1]
assert "triton" not in sys.modules
gc.freeze()  # what torch holds is not looked through again at the end of each fork: half a second each
while path := sys.stdin.readline().rstrip("\n"):
    if (child := os.fork()) == 0:
        sys.meta_path.insert(0, FastInterpreter())
        redirect(1, "stdout")
        redirect(2, "stderr")
        sys.argv = [path]
        sys.path[0] = os.path.dirname(path)
        runpy.run_path(path, run_name="__main__")
        sys.exit()
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
