"""Runs beside a snippet, in its Jupyter kernel: where it runs, and which of our functions and kernels ran.

    start     before the first cell; prints where it runs, as JSON
    report    after the last cell; prints what was executed, as JSON

If the snippet starts another Python, that one imports a copy of this file as its ``sitecustomize``, and is watched too.

From Python 3.12 on, `sys.monitoring` tells us about a function's first call and leaves it alone afterwards, so we don't
disturb what a snippet measures. On 3.11 a profile function sees every call, and CPU times come out higher. It can't see
threads that C++ starts, such as autograd's backward pass on a GPU: there we note a function when it launches a kernel.
"""

import atexit
import inspect
import json
import os
import platform
import shutil
import subprocess
import sys
import threading
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType, FunctionType

MONITORED = sys.version_info >= (3, 12)  # by sys.monitoring, which sees every thread
TRITON = "triton.runtime.jit"
EXECUTED_SUFFIX = ".executed"  # of the file in which a Python that the snippet started notes what it executed

called_functions: set[str] = set()  # "module:qualname" of each function of ours
launched_functions: set[FunctionType] = set()  # of each kernel that was launched, and of what it was given


def start(folder: str) -> None:
    """Prints where it runs, and watches from now on; what C code writes to stderr goes into a file in this folder."""
    # Jupyter's own capture of it is late, and may be too late.
    os.dup2(os.open(f"{folder}/stderr", os.O_WRONLY | os.O_APPEND), 2)
    print(json.dumps(provenance()))
    watch_launches()
    watch_calls()
    shutil.copy(__file__, f"{folder}/sitecustomize.py")
    os.environ["PYTHONPATH"] = os.pathsep.join([folder, os.environ["PYTHONPATH"]])


def report(folder: str) -> None:
    """Prints what was executed, here and in every Python that the snippet started."""
    from_children = (json.loads(path.read_text()) for path in Path(folder).glob(f"*{EXECUTED_SUFFIX}"))
    print(json.dumps({"executed": sorted(executed_functions().union(*from_children)), "interpreter": in_interpreter()}))


def executed_functions() -> set[str]:
    """Returns our functions that were called, and our kernels that were launched with all that's compiled into them."""
    waiting, reached = [*launched_functions], set()
    while waiting:
        if (function := waiting.pop()) not in reached:
            reached.add(function)
            referenced = (function.__globals__.get(name) for name in function.__code__.co_names)
            waiting += [value.fn for value in referenced if isinstance(getattr(value, "fn", None), FunctionType)]
    kernels = {f"{function.__module__}:{function.__qualname__}" for function in reached}
    return called_functions | {name for name in kernels if name.startswith("kernels.")}


def in_interpreter() -> bool:
    return os.environ.get("TRITON_INTERPRET", "0") not in ("", "0")


def provenance() -> dict[str, str | int | None]:
    """Returns the commit, the machine and its software; ``gpu`` is None where PyTorch sees no GPU."""
    versions = dict.fromkeys(("gpu", "driver", "cuda", "torch", "triton"))
    versions |= {"python": platform.python_version(), "date": datetime.now(UTC).date().isoformat()}
    versions |= {"commit": commit(), "interpreter": in_interpreter()}
    with suppress(ImportError):
        import torch

        versions |= {"torch": torch.__version__, "cuda": torch.version.cuda}
        if torch.cuda.is_available():
            driver = output_of("nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader")
            versions |= {"gpu": torch.cuda.get_device_name(), "driver": driver.partition("\n")[0]} | gpu_group_facts()
        import triton

        versions["triton"] = triton.__version__
    return versions


def commit() -> str | None:
    """Returns what COMMIT names, or else Git: with a plus if code has changed since; None if there's no Git either."""
    if given_commit := os.environ.get("COMMIT"):
        return given_commit
    git = ["git", "-C", str(Path(__file__).parents[2])]
    head = output_of(*git, "rev-parse", "--short=8", "HEAD").strip()
    code = ["kernels/*.py", "snippets/*.py", "tests/kernels/*.py"]  # not records: one is written while others wait
    return head + "+" * bool(output_of(*git, "status", "--porcelain", "--", *code)) if head else None


def gpu_group_facts() -> dict[str, str | int | None]:
    """Returns how many GPUs work together, what links the first two (``NV18``: 18 NVLinks), and their NCCL."""
    if "WORLD_SIZE" not in os.environ:
        return {}
    import torch

    rows = (line.split() for line in output_of("nvidia-smi", "topo", "-m").splitlines())
    link = next((row[2] for row in rows if row[:2] == ["GPU0", "X"] and len(row) > 2), None)
    return {"gpus": int(os.environ["WORLD_SIZE"]), "link": link, "nccl": ".".join(map(str, torch.cuda.nccl.version()))}


def output_of(*command: str) -> str:
    """Returns what a command prints, nothing if it fails."""
    with suppress(OSError, subprocess.CalledProcessError):
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return ""


def watch_calls() -> None:
    """Notes each function of kernels/ when it's first called."""
    if not MONITORED:
        threading.setprofile(note_call)
        return sys.setprofile(note_call)
    tool, starts = 4, sys.monitoring.events.PY_START  # 0, 1, 2 and 5 are for debuggers, coverage, profilers, optimisers

    def on_start(code, offset):
        note_call(sys._getframe(1))
        return sys.monitoring.DISABLE  # once for each function is enough

    sys.monitoring.use_tool_id(tool, "attention handbook")
    sys.monitoring.register_callback(tool, starts, on_start)
    sys.monitoring.set_events(tool, starts)


def note_call(frame: FrameType, event: str = "call", argument: object = None) -> None:
    """Notes the function that runs in a frame, if it's one of ours with a name of its own."""
    if event != "call":
        return
    module, code = frame.f_globals.get("__name__") or "", frame.f_code
    if module == TRITON:  # a Python that has just imported Triton
        watch_launches()
    if module == "__main__" and (spec := frame.f_globals.get("__spec__")):
        module = spec.name  # of python -m
    is_function = code.co_flags & inspect.CO_OPTIMIZED  # the body of a module or of a class isn't optimised
    # A "<lambda>", what's in "<locals>" and what a dataclass writes, in "<string>", have no name of their own.
    has_name = "<" not in code.co_qualname and not code.co_filename.startswith("<")
    if module.startswith("kernels.") and is_function and has_name:
        called_functions.add(f"{module}:{code.co_qualname}")


def watch_launches() -> None:
    """Notes each Triton kernel that's launched or only compiled; Gluon's, too, and what the autotuner runs."""
    kernels = getattr(sys.modules.get(TRITON), "JITFunction", None)
    run = getattr(kernels, "run", None)
    if run is None or run.__name__ == "noting_run":  # not imported yet, or watched already
        return

    def noting_run(kernel, *args, **kwargs):
        note_launched((kernel, args, [*kwargs.values()]))
        frame = None if MONITORED else sys._getframe(1)
        while frame:
            note_call(frame)
            frame = frame.f_back
        return run(kernel, *args, **kwargs)

    kernels.run = noting_run


def note_launched(values: tuple | list) -> None:
    """Notes a kernel, and functions that are handed to it, also in tuples: they're compiled into it."""
    for value in values:
        if isinstance(value, tuple | list):
            note_launched(value)
        elif isinstance(function := getattr(value, "fn", None), FunctionType):
            launched_functions.add(function)


if __name__ == "sitecustomize":
    watch_calls()
    executed_file = Path(__file__).with_name(f"{os.getpid()}{EXECUTED_SUFFIX}")
    atexit.register(lambda: executed_file.write_text(json.dumps(sorted(executed_functions()))))
