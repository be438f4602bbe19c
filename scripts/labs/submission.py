"""The reader's file: its functions, and what an error in it says."""

from __future__ import annotations

import linecache
import re
import sys
import traceback
from collections.abc import Callable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

from scripts.labs.grading.accesses import OutOfBounds
from scripts.labs.grading.gpu_rules import RefusedByGrader
from scripts.labs.lab import Case
from scripts.labs.verdict import UNWRITTEN, Rejection


def to_rejection(function: str, case: Case | None, error: BaseException, file: str) -> Rejection:
    """What an exception says, with the line of the reader's file on which it came."""
    chain = [error]
    while (cause := chain[-1].__cause__ or chain[-1].__context__) and cause not in chain:
        chain.append(cause)
    frames = [frame for each in chain for frame in traceback.extract_tb(each.__traceback__)]
    lines = [frame.lineno for frame in frames if file and frame.filename == file]
    line = lines[-1] if lines else None
    function_names = [frame.name for frame in frames if file and frame.filename == file]
    place = function_names[-1] if function_names and function_names[-1].isidentifier() else ""  # a kernel, mostly
    for each in chain:
        place, line = compiler_error(each, file) or (place, line)
    for each in chain:
        if is_unwritten(each, file):
            return Rejection(function, UNWRITTEN, line=line, place=place or raised_in(each))
        if isinstance(each, OutOfBounds | RefusedByGrader):
            return Rejection(function, str(each), case, line=line, advice=getattr(each, "advice", ""), place=place)
    if isinstance(error, SystemExit):
        return Rejection(function, "your file ends the program (SystemExit): take that out", case, line=line)
    if isinstance(chain[-1], MemoryError) or "can't allocate memory" in str(chain[-1]):
        return Rejection(function, "it asks for more memory than a lab may take", case, line=line)
    code = linecache.getline(file, line).strip() if line else ""
    message = f"it raised {type(chain[-1]).__name__}: {first_line(chain[-1])}".rstrip(": .")
    return Rejection(function, message, case, line=line, code=code, advice=advice(str(chain[-1]), code), place=place)


MAX_CHARACTERS = 300  # characters of what an error says

# Said by Python or Triton's interpreter, and what the line is like -> what to do about it.
ADVICE = (
    (
        r"not iterable|not subscriptable|0-dimensional|size-1 arrays|does not support item",
        r"\w\[(?!\()",
        "A pointer has no index: tl.load(pointer + place) reads, and tl.store(pointer + place, numbers) writes. A row "
        "in registers has none either: tl.sum(tl.where(place == i, row, 0.0)) takes number i out of it.",
    ),
    (
        "'function' object is not subscriptable",
        "",
        "A kernel is launched as kernel[grid](…): has it lost its @triton.jit?",
    ),
    (
        "power of (2|two)",
        "",
        "A row in a kernel has 1, 2, 4, 8 … places; what is of another length gets a longer row and a mask.",
    ),
    (
        "'list' object has no attribute",
        "",
        "A kernel keeps no list of numbers: make a row, tl.full([ROW], …), and put each at its place with tl.where.",
    ),
    (
        r"axis \d+ (is )?out of bounds",
        "",
        "A row has the axis 0 alone, and a tile has two: 0, down its columns, and 1, along its rows.",
    ),
    (
        "equal ranks|at least 2D|rank",
        r"tl\.dot",
        "tl.dot multiplies tiles. The dot product of two rows is tl.sum(a * b).",
    ),
    (
        "missing .* required positional argument|unexpected keyword argument|takes .* positional argument",
        "",
        "The kernel does not take what it is launched with: put its first lines back as they were.",
    ),
    ("'NoneType' object has no attribute", r"\)\.\w+\(", "In a kernel write tl.exp(x) and the like, not x.exp()."),
    (
        "illegal memory access|misaligned address|unspecified launch failure",
        "",
        "A kernel has read or written far outside of its tables: has each tl.load and tl.store the right mask?",
    ),
)


def advice(message: str, code: str) -> str:
    """What to do about an error that Triton's interpreter tells in words of its own; "" for all others."""
    fitting = [
        (pattern, like, do) for pattern, like, do in ADVICE if re.search(pattern, message) and re.search(like, code)
    ]
    functions = [do for pattern, _, do in fitting if pattern.startswith("'function'")]
    return (functions or [do for *_, do in fitting] or [""])[0]


def first_line(error: BaseException) -> str:
    """What an error says, without what PyTorch and Triton list below it."""
    text = str(getattr(error, "error_message", None) or error).strip().partition("\n")[0]
    return text if len(text) <= MAX_CHARACTERS else f"{text[:MAX_CHARACTERS]} …"


def compiler_error(error: BaseException, file: str) -> tuple[str, int] | None:
    """The kernel and the line of the reader's file at which Triton's compiler has stopped, on a GPU."""
    source, node = getattr(error, "src", None), getattr(error, "node", None)
    if not (file and isinstance(source, str) and hasattr(node, "lineno")):
        return None
    before, kernel, _ = Path(file).read_text(encoding="utf-8").partition(source.rstrip())
    name = re.match(r"def (\w+)", source)
    return (name[1], before.count("\n") + node.lineno) if kernel and name else None


def is_unwritten(error: BaseException, file: str) -> bool:
    """Whether it comes from the body of a start file: PyTorch and Triton's interpreter raise such errors as well."""
    if "raise NotImplementedError" in str(error):  # Triton's compiler quotes the line
        return True
    frames = traceback.extract_tb(error.__traceback__)
    if not (isinstance(error, NotImplementedError) and frames and "raise NotImplementedError" in frames[-1].line):
        return False
    return not file or frames[-1].filename == file


def raised_in(error: BaseException) -> str:
    """The function or kernel whose body is not written, in a notebook, too; "" if it is not known."""
    source = getattr(error, "src", None)  # of Triton's compiler
    if isinstance(source, str) and (name := re.match(r"def (\w+)", source)):
        return name[1]
    frames = traceback.extract_tb(error.__traceback__)
    return frames[-1].name if "raise NotImplementedError" in (frames[-1].line or "") else ""


def load_functions(file: Path) -> dict[str, Callable]:
    """The functions of a file, once it is imported as a module of its own."""
    name = f"lab_{file.stem}"
    spec = spec_from_file_location(name, file)
    module = module_from_spec(spec)
    sys.modules[name] = module  # Triton asks for the module of a kernel
    spec.loader.exec_module(module)
    return {name: each for name, each in vars(module).items() if callable(each)}
