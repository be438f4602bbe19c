"""Each small mistake of a list, put into a kernel, makes the one test fail that the list names."""

import ast
import os
import shutil
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]
LISTS = sorted(Path(__file__).parent.glob("*.toml"))
COPIED_PATHS = ["kernels", "tests/kernels", "tests/mutants/fork_runner.py", "tests/conftest.py", "tests/without_gpu.py"]
COPIED_PATHS += ["pyproject.toml"]

# A mutant that cannot be compiled, or that names what is not there, says nothing of the test that stumbles over it.
NO_VERDICT = ("SyntaxError", "NameError", "ImportError", "ModuleNotFoundError", "CompilationError")

# What ends a process that writes outside its memory. Not SIGKILL, which the system sends when memory runs out.
BAD_MEMORY_SIGNALS = ("SIGSEGV", "SIGBUS", "SIGABRT")


class Mutant(NamedTuple):
    """One mistake: ``new`` in place of ``old``, which stands in ``file`` once, and the test that fails.

    gpu: only a GPU can run that test   large: it takes gigabytes of the GPU's memory
    equivalent: why no test can fail, in place of a test
    """

    file: str
    old: str
    new: str
    test: str | None = None
    gpu: bool = False
    large: bool = False
    equivalent: str | None = None


def mutants():
    """All of them, by name: the list, the file, and the number in that file."""
    by_name = {}
    for path in LISTS:
        for file, entries in tomllib.loads(path.read_text()).items():
            for number, entry in enumerate(entries, 1):
                by_name[f"{file.removeprefix('kernels/')} {number}"] = Mutant(file, **entry)
    return by_name


MUTANTS = mutants()


@cache
def source_of(file):
    return (ROOT / file).read_text()


@cache
def functions_in(file):
    return {node.name for node in ast.walk(ast.parse(source_of(file))) if isinstance(node, ast.FunctionDef)}


# What a list says is still so: quick, and always looked at.


def entry_fault(mutant):
    """What's wrong with an entry of a list; None if nothing is."""
    times = source_of(mutant.file).count(mutant.old)
    if mutant.new == mutant.old or times != 1:
        return f"{mutant.old!r} stands {times} times in {mutant.file}, once is wanted, and something else in its place"
    if (mutant.test is None) == (mutant.equivalent is None):
        return "either a test or a reason why there is none is wanted"
    if mutant.test is not None:
        file, _, name = mutant.test.partition("::")
        if name.partition("[")[0] not in functions_in(file):
            return f"{file} has no test {name}"
    try:
        ast.parse(mutated_source(mutant))
    except SyntaxError as error:
        return f"what it makes is no Python: {error}"
    return None


def mutated_source(mutant):
    return source_of(mutant.file).replace(mutant.old, mutant.new)


def test_every_mutant_can_be_made_and_names_a_test():
    wrong = {name: why for name, mutant in MUTANTS.items() if (why := entry_fault(mutant))}
    assert wrong == {}


@pytest.mark.parametrize(
    "change",
    [
        {"old": "no such text"},
        {"old": "\n"},
        {"new": "def hardmax(*"},
        {"test": None},
        {"equivalent": "why"},
        {"test": "tests/kernels/test_softmax.py::test_of_nothing[1]"},
    ],
)
def test_a_faulty_entry_is_found(change):
    entry = Mutant("kernels/softmax.py", "def softmax(", "def hardmax(", "tests/kernels/test_softmax.py::test_by_hand")
    assert entry_fault(entry) is None and entry_fault(entry._replace(**change))


def test_every_kernel_has_a_mutant():
    """In each file that Triton or Gluon compiles."""
    compiled = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "kernels").rglob("*.py")
        if any(word in path.read_text() for word in ("@triton.jit", "@gluon.jit"))
    }
    assert compiled and compiled <= {mutant.file for mutant in MUTANTS.values()}


# The mutants themselves: `make mutants` runs them.


class Sandbox:
    """A copy of the code, in which mistakes are made, and a process that runs tests in it."""

    def __init__(self, folder):
        self.folder, self.passed = folder, {}
        for name in COPIED_PATHS:
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(ROOT / name, folder / name)
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
        # A process that has asked CUDA for its devices must not fork; one that has asked NVML may.
        environment["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"
        # A file may change twice a second, which the cache of its bytecode would not notice.
        environment["PYTHONDONTWRITEBYTECODE"] = "1"
        self.process = subprocess.Popen(
            [sys.executable, "tests/mutants/fork_runner.py"],
            cwd=folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.runs = 0

    def outcome(self, test):
        """Passed, skipped or not run; failed, and by which error; or died, and by which signal."""
        self.runs += 1
        self.process.stdin.write(f"{test}\t{self.output}\t{self.folder}/triton-{self.runs}\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().rstrip("\n")

    @property
    def output(self):
        return self.folder / "output"

    def passes_unmutated(self, test):
        """Whether the test passes when nothing is wrong; each is run once."""
        if test not in self.passed:
            self.passed[test] = self.outcome(test) == "passed"
        return self.passed[test]

    def outcome_with(self, mutant):
        path = self.folder / mutant.file
        path.write_text(mutated_source(mutant))
        try:
            return self.outcome(mutant.test)
        finally:
            path.write_text(source_of(mutant.file))


@pytest.fixture(scope="session")
def sandbox(tmp_path_factory):
    sandbox = Sandbox(tmp_path_factory.mktemp("mutants"))
    yield sandbox
    sandbox.process.stdin.close()
    sandbox.process.wait()


def pytest_marks(mutant):
    return [mark for mark, wanted in ((pytest.mark.gpu, mutant.gpu), (pytest.mark.large, mutant.large)) if wanted]


def is_killed(verdict):
    outcome, _, why = verdict.partition(" ")
    return (outcome == "failed" and why not in NO_VERDICT) or (outcome == "died" and why in BAD_MEMORY_SIGNALS)


@pytest.mark.mutant
@pytest.mark.parametrize(
    "mutant",
    [pytest.param(mutant, id=name, marks=pytest_marks(mutant)) for name, mutant in MUTANTS.items() if mutant.test],
)
def test_a_mutant_is_killed(mutant, sandbox):
    """By a test that fails, and passes without it; one that is skipped, or cannot begin, kills nothing.

    A fork that dies of having written astray has failed, too: Triton's interpreter writes through plain pointers, so
    that a wrong offset may end the process before anything can be compared.
    """
    assert sandbox.passes_unmutated(mutant.test), sandbox.output.read_text()
    verdict = sandbox.outcome_with(mutant)
    assert is_killed(verdict), f"{mutant.file}: {mutant.old!r} -> {mutant.new!r} lives: {verdict}"


def test_only_failed_assertions_and_memory_signals_kill_a_mutant():
    surviving = ["passed", "skipped", "not run", "died", "died SIGKILL", "failed SyntaxError"]
    assert not any(map(is_killed, surviving)) and all(map(is_killed, ["failed AssertionError", "died SIGSEGV"]))
