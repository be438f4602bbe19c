"""``project``: a handbook in miniature in a folder of its own, with today's scripts; torch, triton, GPUs are stubs."""

import os
import shutil
import sys
from pathlib import Path
from subprocess import PIPE, CompletedProcess, Popen

import nbformat
import pytest

from scripts.records import METADATA, ROOT, Reader
from scripts.records.record_file import write
from scripts.records.snippets import is_code

collect_ignore = ["miniature"]  # its tests are for the project
COPIED_FILES = ["scripts/__init__.py", "scripts/gpu_tests.py", "kernels/bench/hardware.py"]
PROVENANCE = dict.fromkeys(("driver", "cuda", "torch", "triton", "python", "date"), "0")
PROVENANCE |= {"gpu": "NVIDIA H200", "commit": "0123abcd", "interpreter": False}


class Project:
    def __init__(self, root: Path):
        self.root = root
        shutil.copytree(Path(__file__).parent / "miniature", root)
        shutil.copytree(ROOT / "scripts/records", root / "scripts/records")
        for path in COPIED_FILES:
            shutil.copy(ROOT / path, root / path)

    def reader(self, **options) -> Reader:
        return Reader(self.root, **options)

    def write(self, path: str, text: str) -> None:
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text)

    def edit(self, path: str, old: str, new: str) -> None:
        text = (self.root / path).read_text()
        assert old in text, f"{path} doesn't contain {old!r}"
        self.write(path, text.replace(old, new))

    def snippet(self, name: str, code: str, tag: str = "only") -> None:
        self.write(f"snippets/chapter/{name}.py", f'# %% tags=["{tag}"]\n{code}\n')

    def path(self, name: str) -> Path:
        return self.root / f"snippets/chapter/{name}.record.ipynb"

    def fake_record(self, name: str, **ran) -> bytes:
        """Writes the record that a run would have left, and returns it; each cell printed its tag."""
        notebook = self.reader().snippet(name).notebook()
        for cell in filter(is_code, notebook.cells):
            cell.outputs = [nbformat.v4.new_output("stream", text=f"{cell.id}\n")]
        notebook.metadata[METADATA] = PROVENANCE | {"executed": ["any"], "digest": self.reader().digests(name)} | ran
        write(self.path(name), notebook)
        return self.path(name).read_bytes()

    def start(self, *command: str, **environment: str) -> Popen:
        """Starts a command in the project, by default of this Python: ``-m scripts.records``."""
        changes_a_run = ("TRITON_INTERPRET", "PYTEST_CURRENT_TEST")  # the second switches a part of ipykernel off
        inherited = {name: value for name, value in os.environ.items() if name not in changes_a_run}
        variables = {"PATH": f"{self.root / 'bin'}{os.pathsep}{os.environ['PATH']}", "COMMIT": "0123abcd"}
        variables["PYTHONPATH"] = f"{self.root / 'stubs'}{os.pathsep}{self.root}"
        command = [sys.executable, *command] if command[0].startswith("-") else command
        return Popen(
            command, cwd=self.root, env=inherited | variables | environment, stdout=PIPE, stderr=PIPE, text=True
        )

    def run(self, *command: str, **environment: str) -> CompletedProcess:
        process = self.start(*command, **environment)
        out, err = process.communicate(timeout=120)
        return CompletedProcess(command, process.returncode, out, err)


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path / "project")


@pytest.fixture(params=["3.11", "3.12", "3.13"])
def any_python(request) -> str:
    """A Python of pyenv's of that version; skips where there's none."""
    found = sorted(Path.home().glob(f".pyenv/versions/{request.param}.*/bin/python"))
    return str(found[-1]) if found else pytest.skip(f"pyenv has no Python {request.param} here")
