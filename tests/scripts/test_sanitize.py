"""The sanitizer runs the small tests under each tool, stops at a finding, and says why a machine can't run it."""

import sys
from pathlib import Path

import pytest

from tests.kernels import sanitize

STUB = f"""#!{sys.executable}
import os, sys
arguments = sys.argv[1:]
with open({{log!r}}, "a") as log:
    print({{name!r}}, os.environ.get("PYTORCH_NO_CUDA_MEMORY_CACHING"), *arguments, file=log)
sys.exit({{status}})
"""


class Machine:
    def __init__(self, folder: Path):
        self.bin = folder / "bin"
        self.bin.mkdir()
        self.log = folder / "log"

    def has(self, name: str, status: str = "0") -> Path:
        """Adds a command that logs its calls; ``status`` is a Python expression, which may use ``arguments``."""
        path = self.bin / name
        path.write_text(STUB.format(log=str(self.log), name=name, status=status))
        path.chmod(0o755)
        return path

    @property
    def calls(self) -> list[str]:
        return self.log.read_text().splitlines() if self.log.exists() else []


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A machine with one command, its Python."""
    machine = Machine(tmp_path)
    monkeypatch.setenv("PATH", str(machine.bin))
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    monkeypatch.setattr(sanitize.sys, "executable", str(machine.has("python")))
    return machine


def add_gpu_and_sanitizer(machine, status="0"):
    machine.has("nvidia-smi")
    machine.has("compute-sanitizer", status)


def test_the_tests_run_once_without_and_then_under_each_tool(machine, capsys):
    add_gpu_and_sanitizer(machine)
    assert sanitize.main() == 0
    first, *others = machine.calls[1:]
    assert first.startswith("python 1 -m pytest tests/kernels/test_small.py")
    assert [call.split(" -m ")[0] for call in others] == [
        f"compute-sanitizer 1 --tool {tool} --error-exitcode 9 {machine.bin / 'python'}"
        for tool in ("memcheck", "racecheck", "initcheck")
    ]
    *same, which = first.split(" -m ")[1].split(" -k ")
    assert [call.split(" -m ")[1].split(" -k ") for call in others] == [
        [*same, tests] for tests in (which, f"{which} and not hopper", f"{which} and not hopper")
    ]
    assert "Clean: memcheck, racecheck, initcheck." in capsys.readouterr().out


def test_a_finding_stops(machine, capsys):
    add_gpu_and_sanitizer(machine, "9 if 'racecheck' in arguments else 0")
    assert sanitize.main() == 9
    assert len(machine.calls) == 4  # nvidia-smi, the tests, memcheck, racecheck
    assert "racecheck found something" in capsys.readouterr().err


def test_tests_that_fail_anyway_stop_before(machine, capsys):
    add_gpu_and_sanitizer(machine)
    machine.has("python", "1")
    assert sanitize.main() == 1
    assert len(machine.calls) == 2 and "mend that first" in capsys.readouterr().err


def test_where_nothing_would_be_watched_it_runs_nothing_and_says_why(machine, monkeypatch):
    assert "No GPU here" in sanitize.unfit()
    machine.has("nvidia-smi")
    assert "compute-sanitizer is not on PATH" in sanitize.unfit()
    machine.has("compute-sanitizer")
    assert sanitize.unfit() is None
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    assert "TRITON_INTERPRET is set" in sanitize.unfit() and sanitize.main() == 1
    assert not [call for call in machine.calls if "nvidia-smi" not in call]


def test_what_is_selected_is_the_half_without_nan(machine):
    """-k takes a part of an id."""
    add_gpu_and_sanitizer(machine)
    sanitize.main()
    assert machine.calls[1].endswith(" -k plain")
    assert 'ids=["plain", "prefilled"]' in (sanitize.ROOT / sanitize.TESTS).read_text()
