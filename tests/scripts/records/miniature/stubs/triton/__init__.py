from triton.runtime.jit import JITFunction as jit  # noqa: F401

__version__ = "0.3"
