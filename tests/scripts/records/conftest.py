"""``house``: a handbook in miniature in a folder of its own, with today's scripts."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from scripts.records import METADATA, RandomCases, Reader, kernel_tests
from scripts.records.cells import is_code
from scripts.records.reader import record_of
from scripts.records.recorded import write
from scripts.records.source.digest import digest

collect_ignore = ["miniature"]  # its tests are for the house

EXECUTED = {
    "chain": [
        *(f"kernels.base:Counter.{name}" for name in ("__init__", "at", "double", "up")),
        "kernels.base:double",
        "kernels.middle:quadruple",
    ],
    "child": ["kernels.child:apart"],
    "kernel": [f"kernels.launch:{name}" for name in ("given", "kernel", "launch", "warmed_up")],
    "table": ["kernels.other:show"],
}
HERE = Path(__file__).parent
SCRIPTS = HERE.parents[2] / "scripts"


class House:
    """A root with kernels/, snippets/, scripts/ and tests/; torch, triton and the GPU are stand-ins."""

    def __init__(self, root: Path):
        self.root = root
        shutil.copytree(HERE / "miniature", root, ignore=shutil.ignore_patterns("__pycache__"))
        (root / "scripts").mkdir()
        for name in ("__init__.py", "record.py", "record_tests.py"):
            shutil.copy(SCRIPTS / name, root / "scripts")
        shutil.copytree(SCRIPTS / "records", root / "scripts/records", ignore=shutil.ignore_patterns("__pycache__"))

    def reader(self, **options) -> Reader:
        """Of the house as it is now."""
        return Reader(self.root, **options)

    def read(self, name: str):
        return self.reader().read(name)

    def faults(self) -> dict[str, str]:
        """What is wrong with each record, but of those that are missing."""
        found = {name: str(fault) for name, fault in self.reader().faults().items()}
        return {name: fault for name, fault in found.items() if "not been run" not in fault}

    def pretend(self, name: str, **provenance) -> None:
        """Write the record that a run would have left; each cell printed its tag."""
        reader = self.reader()
        notebook = reader.snippet(name)
        for cell in filter(is_code, notebook.cells):
            cell.outputs = [nbformat.v4.new_output("stream", text=f"{cell.id}\n")]
        executed = EXECUTED.get(name, [])
        stated = dict.fromkeys(("driver", "cuda", "torch", "triton", "python", "date"), "0")
        stated |= {"gpu": "A GPU", "executed": executed, "interpreter": False}
        stated["digest"] = digest(reader.library, reader.cells(name), executed)
        notebook.metadata[METADATA] = stated | provenance
        write(record_of(reader.path(name)), notebook)

    def pretend_random_cases(self, **provenance) -> None:
        """Write the record that a run of random cases would have left, one of which failed."""
        stated = dict.fromkeys(("driver", "cuda", "torch", "triton", "python", "date"), "0")
        stated |= {"gpu": "A GPU", "interpreter": False, "digest": kernel_tests.digest(self.root, RandomCases)}
        forms = {"forward": {"cases": 32, "worst": 0.5}, "softmax": {"cases": 16, "worst": 1.5}}
        failure = {"form": "softmax", "seed": 7, "case": 35, "settings": {"rows": 3}, "used": 1.5, "why": "too far off"}
        cases = RandomCases(stated | provenance, forms, [7, 8], 540.0, 1, [failure])
        kernel_tests.write(self.root, cases)

    def edit(self, path: str, old: str, new: str) -> None:
        text = (self.root / path).read_text()
        assert old in text, f"{path} does not contain {old!r}"
        (self.root / path).write_text(text.replace(old, new))

    def snippet(self, name: str, text: str) -> None:
        (self.root / "snippets/chapter" / f"{name}.py").write_text(text)

    def path(self, name: str) -> Path:
        return self.root / "snippets/chapter" / f"{name}.record.ipynb"

    def beside_snippets(self) -> list[str]:
        """The names of the files beside the snippets, hidden ones too."""
        return sorted(path.name for path in (self.root / "snippets/chapter").iterdir() if path.suffix != ".py")

    @property
    def outcome_path(self) -> Path:
        return self.root / "tests/kernels/gpu.record.json"

    def environment(self, **more: str) -> dict[str, str]:
        changes_a_run = ("TRITON_INTERPRET", "PYTEST_CURRENT_TEST")  # the second switches a part of ipykernel off
        inherited = {name: value for name, value in os.environ.items() if name not in changes_a_run}
        stubs, tools = self.root / "stubs", self.root / "bin"
        return inherited | {"PYTHONPATH": str(stubs), "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"} | more

    def command(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess:
        """``python -m scripts.record``, the real one."""
        return self.module("scripts.record", *arguments, **environment)

    def record_tests(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess:
        """``python -m scripts.record_tests``, the real one."""
        return self.module("scripts.record_tests", *arguments, **environment)

    def module(self, name: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess:
        return subprocess.run(
            [sys.executable, "-m", name, *arguments],
            cwd=self.root,
            env=self.environment(**environment),
            capture_output=True,
            text=True,
            timeout=120,
        )


@pytest.fixture
def house(tmp_path):
    return House(tmp_path / "house")


def python(version: str) -> str:
    """The interpreter of that version on this machine; skips where there is none."""
    if sys.version_info[:2] == tuple(map(int, version.split("."))):
        return sys.executable
    try:  # asking for it by name is not enough: pyenv leaves a command for versions that are not switched on
        ask = subprocess.run(
            [f"python{version}", "-c", "import sys; print(sys.executable)"],
            env=os.environ | {"PYENV_VERSION": version},
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        pytest.skip(f"there is no python{version} here")
    return ask.stdout.strip()


@pytest.fixture(params=["3.11", "3.12", "3.13"])
def any_python(request):
    return python(request.param)
