"""As much of Triton as a launch needs."""

from triton.runtime.jit import JITFunction as jit

__all__ = ["autotune", "jit"]
__version__ = "0.3"


class autotune:
    def __init__(self, fn):
        self.fn = fn

    def __getitem__(self, grid):
        return lambda *args: self.fn.run(*args, grid=grid, warmup=False)
