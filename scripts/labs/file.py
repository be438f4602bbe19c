"""The reader's file: its functions, and what an error in it says."""

from __future__ import annotations

import linecache
import re
import sys
import traceback
from collections.abc import Callable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

from scripts.labs.lab import Case
from scripts.labs.verdict import Rejection
from scripts.labs.watched import Outside


def fault(function: str, case: Case | None, error: BaseException, file: str) -> Rejection:
    """What an exception says, with the line of the reader's file on which it came."""
    chain = [error]
    while (cause := chain[-1].__cause__ or chain[-1].__context__) and cause not in chain:
        chain.append(cause)
    frames = [frame for each in chain for frame in traceback.extract_tb(each.__traceback__)]
    lines = [frame.lineno for frame in frames if file and frame.filename == file]
    line = lines[-1] if lines else None
    for each in chain:
        if unwritten(each, file):
            return Rejection(function, "it is not written yet", line=line)
        if isinstance(each, Outside):
            return Rejection(function, str(each), case, line=line)
    if isinstance(error, SystemExit):
        return Rejection(function, "your file ends the program (SystemExit): take that out", case, line=line)
    if isinstance(chain[-1], MemoryError) or "can't allocate memory" in str(chain[-1]):
        return Rejection(function, "it asks for more memory than a lab may take", case, line=line)
    code = linecache.getline(file, line).strip() if line else ""
    says = f"it raised {type(chain[-1]).__name__}: {chain[-1]}".rstrip(".")
    return Rejection(function, says, case, line=line, code=code, advice=advice(str(chain[-1]), code))


def advice(said: str, code: str) -> str:
    """What to do about an error that Triton's interpreter tells in words of its own; "" for all others."""
    if re.search(r"not iterable|not subscriptable|0-dimensional|size-1 arrays", said) and re.search(r"\w\[", code):
        return "A pointer has no index: tl.load(pointer + place) reads, and tl.store(pointer + place, numbers) writes."
    if "power of 2" in said or "power of two" in said:
        return "A row in a kernel has 1, 2, 4, 8 … places; what is of another length gets a longer row and a mask."
    return ""


def unwritten(error: BaseException, file: str) -> bool:
    """Whether it comes from the body of a start file; Triton's interpreter raises such errors of its own."""
    if "raise NotImplementedError" in str(error):  # Triton's compiler quotes the line
        return True
    frames = traceback.extract_tb(error.__traceback__)
    return isinstance(error, NotImplementedError) and (not file or (bool(frames) and frames[-1].filename == file))


def functions_of(file: Path) -> dict[str, Callable]:
    """The functions of a file, once it is imported as a module of its own."""
    name = f"lab_{file.stem}"
    spec = spec_from_file_location(name, file)
    module = module_from_spec(spec)
    sys.modules[name] = module  # Triton asks for the module of a kernel
    spec.loader.exec_module(module)
    return {name: each for name, each in vars(module).items() if callable(each)}
