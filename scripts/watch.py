"""What runs inside the kernel that records a snippet: where it runs, and which of our functions and kernels ran.

    start     before the first cell; prints the provenance as JSON
    report    after the last cell; prints what was executed, and what C code wrote to stderr, as JSON

From Python 3.12 a function is watched once and then left alone (``sys.monitoring``), so that what a snippet measures is
not disturbed.  On 3.11 a profile function (``sys.setprofile``) sees every call to the end: what a snippet measures on
the CPU comes out higher.  It sees nothing in a thread that C++ started, as autograd does for the backward pass on a
GPU: there the functions that launch a kernel are noted at the launch, with those that called them, and no others.
"""

import dis
import inspect
import json
import os
import platform
import subprocess
import sys
import tempfile
import threading
from datetime import UTC, datetime
from types import FrameType, FunctionType

MONITORED = sys.version_info >= (3, 12)  # by sys.monitoring, which sees every thread

called: set[str] = set()  # "module:qualname" of each function of ours
launched: set[FunctionType] = set()  # the function inside each Triton kernel
stderr = tempfile.TemporaryFile()  # noqa: SIM115 - of C code; Jupyter's own capture is late, and may be too late


def start() -> None:
    os.dup2(stderr.fileno(), 2)
    print(json.dumps(provenance()))
    watch_launches()
    watch_calls()


def report() -> None:
    executed = sorted(called | kernels_and_helpers())
    stderr.seek(0)
    written = stderr.read().decode(errors="replace")
    print(json.dumps({"executed": executed, "interpreter": in_interpreter(), "stderr": written}))


def in_interpreter() -> bool:
    return os.environ.get("TRITON_INTERPRET", "0") not in ("", "0")


def provenance() -> dict[str, str | None]:
    """The machine and its software; ``gpu`` is None where PyTorch sees no GPU."""
    found = dict.fromkeys(("gpu", "driver", "cuda", "torch", "triton"))
    found |= {"python": platform.python_version(), "date": datetime.now(UTC).date().isoformat()}
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
    is_function = code.co_flags & inspect.CO_OPTIMIZED  # the body of a module or of a class is none
    if module.startswith("kernels.") and is_function and "<" not in code.co_qualname:  # "<lambda>", "<locals>"
        called.add(f"{module}:{code.co_qualname}")


def note_callers(frame: FrameType | None) -> None:
    while frame:
        note(frame)
        frame = frame.f_back


def watch_launches() -> None:
    """Note each Triton kernel that is launched; Gluon kernels and what the autotuner runs pass here, too."""
    try:
        from triton.runtime.jit import JITFunction
    except ImportError:
        return
    run = JITFunction.run

    def noting_run(kernel, *args, warmup, **kwargs):
        if not warmup:  # a warm-up compiles and launches nothing
            launched.add(kernel.fn)
            if not MONITORED:
                note_callers(sys._getframe(1))
        return run(kernel, *args, warmup=warmup, **kwargs)

    JITFunction.run = noting_run


def kernels_and_helpers() -> set[str]:
    """The launched kernels of ours and the ``@triton.jit`` functions that they call, directly or not."""
    found, waiting = set(), list(launched)
    while waiting:
        function = waiting.pop()
        name = f"{function.__module__}:{function.__qualname__}"
        if name.startswith("kernels.") and name not in found:
            found.add(name)
            used = {each.argval for each in dis.get_instructions(function) if each.opname == "LOAD_GLOBAL"}
            helpers = (inside(function.__globals__.get(each)) for each in used)
            waiting.extend(helper for helper in helpers if helper)
    return found


def inside(value: object) -> FunctionType | None:
    """The Python function inside ``@triton.jit`` and whatever else decorates it; None if there is none."""
    while value is not None and not isinstance(value, FunctionType):
        value = getattr(value, "fn", None)
    return value
