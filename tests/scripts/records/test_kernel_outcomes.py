"""What became of tests and of random cases is kept whole, and waits for its next run once its source has changed."""

import pytest

from scripts.records import ROOT, RecordError, kernel_outcomes
from scripts.records.digest import Modules
from tests.scripts.records.conftest import PROVENANCE

RANDOM = "tests/kernels/random_cases"
CASES, DOUBLE, LATER = ALL = [f"{RANDOM}/test_cases.py", "tests/kernels/test_double.py", "tests/kernels/test_later.py"]


def fake_outcomes(project, **ran) -> None:
    """Keeps what a run of the tests and one of random cases would have left."""
    modules, ran = Modules(project.root), {"ran": PROVENANCE | ran}
    files = {file: ran | {"digest": kernel_outcomes.digest_of_file(modules, file)} for file in ALL}
    kernel_outcomes.save_outcomes(project.root, kernel_outcomes.TESTS, {"files": files})
    kernel_outcomes.save_outcomes(
        project.root,
        kernel_outcomes.RANDOM_CASES,
        ran | {"failed": 0, "digest": kernel_outcomes.digest_of_random_cases(modules)},
    )


@pytest.fixture
def project(project):
    project.write(f"{RANDOM}/run.py", "from kernels.child import apart")
    project.write(f"{RANDOM}/__main__.py", "import kernels")
    project.write(CASES, "")
    fake_outcomes(project)
    return project


def waiting(project) -> tuple[list[str], bool]:
    """Returns the files that wait, and whether the random cases do."""
    modules = Modules(project.root)
    current, files = kernel_outcomes.current_and_waiting(project.root, modules)
    assert current.keys() == {*kernel_outcomes.test_files(project.root)} - {*files}
    return files, not kernel_outcomes.random_cases(project.root, modules)[1]


CHANGES = [("kernels/base.py", [DOUBLE], False), ("kernels/launch.py", [], True), ("tests/conftest.py", ALL, False)]
CHANGES += [(LATER, [LATER], False), (CASES, [CASES], False), (f"{RANDOM}/conftest.py", [CASES], True)]
CHANGES += [(f"{RANDOM}/run.py", [], True), (f"{RANDOM}/__main__.py", [], False)]


@pytest.mark.parametrize("path, files, cases", CHANGES)
def test_what_reaches_a_change_waits(project, path, files, cases):
    text = (project.root / path).read_text() if (project.root / path).exists() else ""
    project.write(path, f"{text}\nx = 1\n")
    assert waiting(project) == (files, cases)
    fake_outcomes(project)
    project.edit(path, "x = 1", "x = 1  # as before")
    assert waiting(project) == ([], False)


def test_what_is_new_waits_and_what_is_gone_is_forgotten(project):
    (project.root / LATER).rename(project.root / "tests/kernels/test_more.py")
    assert waiting(project) == (["tests/kernels/test_more.py"], False)
    for place in (kernel_outcomes.TESTS, kernel_outcomes.RANDOM_CASES):
        (project.root / place).unlink()
    assert waiting(project) == (kernel_outcomes.test_files(project.root), True)


@pytest.mark.parametrize("place", [kernel_outcomes.TESTS, kernel_outcomes.RANDOM_CASES])
def test_what_was_edited_is_broken_or_ran_elsewhere_is_refused(project, place):
    for old, new, words in [("0123abcd", "4567cdef", "its checksum fails"), (":", "", "can't be read")]:
        project.edit(place, old, new)
        with pytest.raises(RecordError, match=f"{place} .*{words}.*run the tests on a GPU again"):
            kernel_outcomes.load_outcomes(project.root, place)
    fake_outcomes(project, gpu="NVIDIA B999")
    with pytest.raises(RecordError, match=f"{place} .*'NVIDIA B999'"):
        kernel_outcomes.load_outcomes(project.root, place)


def test_ours_can_be_read_and_no_random_case_failed():
    """The real ones. Which files wait is said on their page."""
    modules = Modules(ROOT)
    kernel_outcomes.current_and_waiting(ROOT, modules)
    assert not kernel_outcomes.random_cases(ROOT, modules)[0]["failed"]
