"""Grades one file in a process of its own: ``python -m scripts.labs.grader SLUG FILE VERDICT TRACE CASE``.

An endless loop, a crash or an exit of the reader's code ends this process and not the grader.  The last three are files
that it writes: what is to be told, once all is done; where it was if it is stopped or crashes; and which case it is at.

Kernels are graded in Triton's interpreter, also where there is a GPU, because only there each load and store can be
followed.  What passes is then graded on the GPU, in a second process, and timed.
"""

from __future__ import annotations

import contextlib
import faulthandler
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from scripts.labs.forbidden_in_file import display_path, why_forbidden
from scripts.labs.lab_info import ROOT, LabInfo

SECONDS = 10  # of processor time in the interpreter, for all cases: other programs may keep the machine busy
WALL_CLOCK_FACTOR = 6  # times as long by the clock, for what waits and keeps no processor busy
SECONDS_ON_GPU = 60  # for each case, since its compiler takes some
MEMORY = 4 << 30  # bytes that a lab may take besides what PyTorch does


def grade_file(info: LabInfo, file: Path, seconds: float | None = None) -> tuple[bool, str]:
    """Whether the file passes, and the message about it."""
    if not file.is_file():
        return False, f"There is no {display_path(file)}: `make labs` makes it."
    if fault := why_forbidden(info, file):
        return False, fault
    wants_interpreter = os.environ.get("TRITON_INTERPRET") == "1"
    result = run_in_process(info, file, seconds, {"TRITON_INTERPRET": "1"})
    if not (result["passed"] and info.triton and result["gpu"]) or wants_interpreter:
        return result["passed"], result["message"]
    result = run_in_process(info, file, seconds, {})
    before = "" if result["passed"] else "In Triton's interpreter it passes. On the GPU:\n"
    return result["passed"], before + result["message"]


def run_in_process(info: LabInfo, file: Path, seconds: float | None, variables: dict[str, str]) -> dict:
    """Grades the file in a process of its own; returns ``passed``, ``message``, and ``gpu``, whether it saw one.

    variables: added to its environment
    """
    with tempfile.TemporaryDirectory() as folder:
        verdict, trace, case = Path(folder, "verdict.json"), Path(folder, "trace"), Path(folder, "case")
        no_warning = ["-W", "ignore::RuntimeWarning:triton.runtime.interpreter"]  # NaN that a case asks for
        command = [
            sys.executable,
            *no_warning,
            "-m",
            "scripts.labs.grader",
            info.slug,
            str(file),
            *map(str, (verdict, trace, case)),
        ]
        environment = os.environ | {"PYTHONPATH": str(ROOT)} | variables
        if seconds:
            environment["LAB_SECONDS"] = str(seconds)
        code = subprocess.run(command, cwd=ROOT, env=environment).returncode
        if verdict.is_file():
            return json.loads(verdict.read_text())
        why = death_message(code, trace, file, case, seconds or limit_seconds())
        return {"passed": False, "message": f"Lab {info.number}, {info.title}: {why}", "gpu": False}


def death_message(code: int, trace: Path, file: Path, case: Path, seconds: float) -> str:
    """Why a process ended without a verdict, and where it was as far as is known.

    seconds: of processor time that it had
    """
    traceback = trace.read_text(errors="replace") if trace.is_file() else ""
    lines = [line for line in traceback.splitlines() if f'"{file}"' in line]
    places = [f"at line {lines[0].split(' line ')[1].split(' ')[0]} of your file"] if lines else []
    places += [f"in the case of {case.read_text()}"] if case.is_file() else []
    where = f" It was {', '.join(places)}." if places else ""
    slow = f" If the machine is only slow, begin the command with LAB_SECONDS={6 * seconds:g}."
    if code == -signal.SIGPROF:
        time_text = f"{seconds:g} s of processor time"
        return f"it did not end within {time_text}, so it was stopped. Is there a loop that never ends?{where}{slow}"
    if traceback.startswith("Timeout"):
        hours, minutes, rest = map(float, traceback.partition("(")[2].partition(")")[0].split(":"))
        time_text = f"{3600 * hours + 60 * minutes + rest:g} s"
        return f"it did not end within {time_text}, so it was stopped. Is there a loop that never ends?{where}{slow}"
    if code < 0:
        name = signal.Signals(-code).name
        return f"it crashed ({name}): most likely something far outside a table was read or written.{where}"
    return f"your file ended the program (exit status {code}) before it could be judged: take the exit out.{where}"


def limit_seconds() -> float:
    """The time limit: in the interpreter, processor seconds for everything; on a GPU, seconds for each case."""
    if seconds := os.environ.get("LAB_SECONDS"):
        return float(seconds)
    from scripts.labs.grading.accesses import is_interpreted

    return SECONDS if is_interpreted() else SECONDS_ON_GPU


@contextlib.contextmanager
def memory_limited() -> Iterator[None]:
    """Inside, this process may take MEMORY more than it has; afterwards as much as before."""
    limits = resource.getrlimit(resource.RLIMIT_AS)
    used_bytes = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (used_bytes + MEMORY, limits[1]))
    yield
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, limits)


def main(slug: str, file: str, verdict: str, trace: str, case: str) -> None:
    import torch

    from scripts.labs.grading.accesses import is_interpreted

    in_interpreter = is_interpreted()
    if in_interpreter:
        os.environ["TRITON_INTERPRET"] = "1"  # before the first @triton.jit
        torch.set_num_threads(1)
    from scripts.labs.grading.judge import Verdict, judge, load_functions, to_rejection
    from scripts.labs.lab import load
    from scripts.labs.message import format_verdict

    lab = load(slug)
    if lab.info.triton:
        import triton.runtime.interpreter  # noqa: F401, it takes seconds on a busy machine, which are not the reader's
    with open(trace, "w") as trace_file, memory_limited() if in_interpreter else contextlib.nullcontext():

        def note_case(task, graded_case) -> None:
            Path(case).write_text(f"{task.function}: {graded_case.name}")
            if not in_interpreter:
                faulthandler.dump_traceback_later(limit_seconds(), exit=True, file=trace_file)

        faulthandler.enable(trace_file)
        if in_interpreter:
            faulthandler.register(signal.SIGPROF, trace_file, chain=True)  # which ends this process, once written
            signal.setitimer(signal.ITIMER_PROF, limit_seconds())
        wall_clock_limit = limit_seconds() * (WALL_CLOCK_FACTOR if in_interpreter else 1)
        faulthandler.dump_traceback_later(wall_clock_limit, exit=True, file=trace_file)
        try:
            outcome = judge(lab, load_functions(Path(file)), file, note_case)
        except KeyboardInterrupt:
            os._exit(130)  # who waits for this process was interrupted as well, and says so
        except (Exception, SystemExit) as error:
            outcome = Verdict(to_rejection(lab.info.functions[0], None, error, file))
        faulthandler.cancel_dump_traceback_later()
        signal.setitimer(signal.ITIMER_PROF, 0)
    # PyTorch looks for a GPU now, and its driver reserves more addresses than a lab may take.
    result = {
        "passed": outcome.passed,
        "message": format_verdict(lab, outcome),
        "gpu": outcome.passed and torch.cuda.is_available(),
    }
    Path(verdict).write_text(json.dumps(result))


if __name__ == "__main__":
    main(*sys.argv[1:])
