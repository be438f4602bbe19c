"""Runs beside a snippet, in its Jupyter kernel: where it runs, and which of our functions and kernels ran.

    start     before the first cell; prints where it runs, as JSON
    report    after the last cell; prints what was executed, and what C code wrote to stderr, as JSON

If the snippet starts another Python, we watch that one too.

From Python 3.12 on, `sys.monitoring` tells us about a function's first call and leaves it alone afterwards, so we don't
disturb what a snippet measures. On 3.11 a profile function sees every call, and CPU times come out higher. It can't see
threads that C++ starts, such as autograd's backward pass on a GPU: there we note a function when it launches a kernel.
"""

import atexit
import inspect
import json
import os
import platform
import subprocess
import sys
import tempfile
import threading
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType, FunctionType

MONITORED = sys.version_info >= (3, 12)  # by sys.monitoring, which sees every thread
TRITON = "triton.runtime.jit"

called: set[str] = set()  # "module:qualname" of each function of ours
compiled: set[FunctionType] = set()  # the function inside each kernel that was launched, and inside what it was given
stderr = tempfile.TemporaryFile()  # noqa: SIM115 - of C code; Jupyter's own capture is late, and may be too late
children = tempfile.TemporaryDirectory()  # where another Python leaves what it executed

# Python runs a module of this name when it starts.
WATCH_FROM_THE_START = """
from importlib.util import module_from_spec, spec_from_file_location

spec = spec_from_file_location("watched", {file!r})
watched = module_from_spec(spec)
spec.loader.exec_module(watched)
watched.start_in_child({folder!r})
"""


def start(ranks: int = 1) -> None:
    """ranks: how many processes run the snippet, each on a GPU of its own"""
    os.dup2(stderr.fileno(), 2)
    print(json.dumps(provenance() | (connection(ranks) if ranks > 1 else {})))
    watch_launches(sys.modules.get(TRITON))
    watch_calls()
    start_up = WATCH_FROM_THE_START.format(file=__file__, folder=children.name)
    Path(children.name, "sitecustomize.py").write_text(start_up)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [children.name, os.environ.get("PYTHONPATH")]))


def start_in_child(folder: str) -> None:
    watch_calls()
    atexit.register(lambda: Path(folder, f"{os.getpid()}.json").write_text(json.dumps(sorted(executed()))))


def report() -> None:
    everything = executed().union(*(json.loads(path.read_text()) for path in Path(children.name).glob("*.json")))
    stderr.seek(0)
    written = stderr.read().decode(errors="replace")
    print(json.dumps({"executed": sorted(everything), "interpreter": in_interpreter(), "stderr": written}))


def executed() -> set[str]:
    kernels = {f"{function.__module__}:{function.__qualname__}" for function in compiled}
    return called | {name for name in kernels if name.startswith("kernels.")}


def in_interpreter() -> bool:
    return os.environ.get("TRITON_INTERPRET", "0") not in ("", "0")


def provenance() -> dict[str, str | None]:
    """Returns the commit, the machine and its software; ``gpu`` is None where PyTorch sees no GPU."""
    found = dict.fromkeys(("gpu", "driver", "cuda", "torch", "triton"))
    found |= {"python": platform.python_version(), "date": datetime.now(UTC).date().isoformat(), "commit": commit()}
    try:
        import torch
    except ImportError:
        return found
    found |= {"torch": torch.__version__, "cuda": torch.version.cuda}
    if torch.cuda.is_available():
        query = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
        driver = subprocess.run(query, check=True, capture_output=True, text=True).stdout.split()[0]
        found |= {"gpu": torch.cuda.get_device_name(), "driver": driver}
    try:
        import triton
    except ImportError:
        return found
    return found | {"triton": triton.__version__}


def commit() -> str | None:
    """Returns the commit of this checkout, with a plus if something that runs has changed since; None without Git.

    Where a copy of the checkout has no Git, the variable COMMIT names it.
    """
    if told := os.environ.get("COMMIT"):
        return told
    git = ["git", "-C", str(Path(__file__).parents[2])]
    try:
        head = subprocess.run([*git, "rev-parse", "--short=8", "HEAD"], check=True, capture_output=True, text=True)
        changed = subprocess.run([*git, "diff", "--quiet", "HEAD", "--", "kernels", "snippets", "tests/kernels"])
    except (OSError, subprocess.CalledProcessError):
        return None
    return head.stdout.strip() + "+" * bool(changed.returncode)


def connection(gpus: int) -> dict[str, str | int | None]:
    """What is added where several GPUs work together: how many, what links the first two, and NCCL.

    link: as ``nvidia-smi topo -m`` has it, ``NV18`` for 18 NVLinks; None if it says nothing of them
    """
    import torch

    table = subprocess.run(["nvidia-smi", "topo", "-m"], capture_output=True, text=True).stdout
    rows = (line.split() for line in table.splitlines())
    link = next((row[2] for row in rows if row[:2] == ["GPU0", "X"] and len(row) > 2), None)
    return {"gpus": gpus, "link": link, "nccl": ".".join(map(str, torch.cuda.nccl.version()))}


def count_gpus() -> int:
    try:
        import torch
    except ImportError:
        return 0
    return torch.cuda.device_count()


def watch_calls() -> None:
    """Note each function of ``kernels`` when it is first called."""
    if MONITORED:
        monitoring = sys.monitoring

        def on_start(code, offset):
            note(sys._getframe(1))
            return monitoring.DISABLE  # once for each function is enough

        tool = 4  # 0, 1, 2 and 5 are for debuggers, coverage, profilers and optimisers
        monitoring.use_tool_id(tool, "attention handbook")
        monitoring.register_callback(tool, monitoring.events.PY_START, on_start)
        monitoring.set_events(tool, monitoring.events.PY_START)
    else:

        def on_event(frame, event, argument):
            if event == "call":
                note(frame)

        threading.setprofile(on_event)
        sys.setprofile(on_event)


def note(frame: FrameType) -> None:
    module, code = frame.f_globals.get("__name__") or "", frame.f_code
    if module == TRITON:  # a Python that has just imported Triton
        watch_launches(sys.modules.get(TRITON))
    if module == "__main__" and (spec := frame.f_globals.get("__spec__")):
        module = spec.name  # of python -m
    is_function = code.co_flags & inspect.CO_OPTIMIZED  # the body of a module or of a class is not optimised
    # Without a name of its own is a "<lambda>", what stands in "<locals>", and what a dataclass writes, in "<string>".
    named = "<" not in code.co_qualname and not code.co_filename.startswith("<")
    if module.startswith("kernels.") and is_function and named:
        called.add(f"{module}:{code.co_qualname}")


def note_callers(frame: FrameType | None) -> None:
    while frame:
        note(frame)
        frame = frame.f_back


def watch_launches(triton) -> None:
    """Note each Triton kernel that is launched or only compiled; Gluon's, too, and what the autotuner runs.

    triton: the module ``triton.runtime.jit``, as far as it is imported
    """
    kernels = getattr(triton, "JITFunction", None)
    run = getattr(kernels, "run", None)
    if run is None or run.__name__ == "noting_run":  # not there yet, or watched already
        return

    def noting_run(kernel, *args, **kwargs):
        compiled.add(kernel.fn)
        note_compiled(args)
        note_compiled(kwargs.values())
        if not MONITORED:
            note_callers(sys._getframe(1))
        return run(kernel, *args, **kwargs)

    kernels.run = noting_run


def note_compiled(arguments) -> None:
    """Functions can be handed to a kernel, also in tuples, and are then compiled into it."""
    for each in arguments:
        if isinstance(each, tuple | list):
            note_compiled(each)
        elif function := inside(each):
            compiled.add(function)


def inside(value: object) -> FunctionType | None:
    """The Python function inside ``@triton.jit`` and whatever else decorates it; None if there is none."""
    value = getattr(value, "fn", None)
    while value is not None and not isinstance(value, FunctionType):
        value = getattr(value, "fn", None)
    return value
