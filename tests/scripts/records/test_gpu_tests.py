"""The kernels' tests as the command runs them: files that pass are kept, the others wait."""

import pytest

from scripts.records import kernel_outcomes
from scripts.records.digest import Modules
from tests.scripts.records.conftest import Project

DOUBLE, LATER, MORE = (f"tests/kernels/test_{name}.py" for name in ("double", "later", "more"))
SKIPPED = {"no text": {"test_double": 1}, "expected to fail: text isn't a number": {"test_double": 1}}
OUTCOMES = {DOUBLE: ({"test_double": 2}, SKIPPED), LATER: ({}, {"needs a later GPU": {"the whole file": 1}})}


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """The record of all tests, though environment and settings ask for a part."""
    project = Project(tmp_path_factory.mktemp("ran") / "project")
    project.write("pytest.ini", f"[pytest]\naddopts = --deselect {DOUBLE}\n")
    run = project.run("-m", "scripts.gpu_tests", PYTEST_ADDOPTS="-k later")
    assert run.returncode == 0 and "2 passed, 2 skipped, 1 xfailed" in run.stdout, run.stdout + run.stderr
    return (project.root / kernel_outcomes.TESTS).read_text()


@pytest.fixture
def project(project, ran):
    project.write(kernel_outcomes.TESTS, ran)
    return project


def outcomes(project) -> tuple[dict[str, dict], list[str]]:
    return kernel_outcomes.current_and_waiting(project.root, Modules(project.root))


def test_an_outcome_is_told_by_file_test_and_reason_with_where_it_ran(project):
    current, waiting = outcomes(project)
    assert waiting == [] and {file: (each["passed"], each["skipped"]) for file, each in current.items()} == OUTCOMES
    assert all(each["ran"]["commit"] == "0123abcd" and 0 <= each["seconds"] < 60 for each in current.values())


def test_only_what_waits_runs_and_of_it_what_is_named(project):
    project.write(MORE, "def test_more(): ...")
    project.edit("kernels/base.py", "times * x", "x * times")
    for files, waiting in [([DOUBLE], [MORE]), ([], [])]:
        run = project.run("-m", "scripts.gpu_tests", *files, COMMIT="4567cdef")
        assert run.returncode == 0 and outcomes(project)[1] == waiting, run.stdout + run.stderr
    commits = {file: each["ran"]["commit"] for file, each in outcomes(project)[0].items()}
    assert commits == {DOUBLE: "4567cdef", LATER: "0123abcd", MORE: "4567cdef"}
    assert f"stopped: {DOUBLE} doesn't wait for its run" in project.run("-m", "scripts.gpu_tests", DOUBLE).stderr
    assert "3 passed" in project.run("-m", "scripts.gpu_tests", "--all").stdout


INTERRUPTED = ["def test_more(): ...\n\ndef test_stuck():\n    raise KeyboardInterrupt"]
TERMINATED = "import os, signal, time\n\ndef test_ended():\n    time.sleep(2)  # the others are done\n"
TERMINATED += "    os.kill(os.{}(), signal.SIGTERM)\n    signal.pause()"
WITH_FIXTURE = "import pytest\n\n@pytest.fixture\ndef given():\n    {}\n\ndef test_more(given): ...\n"
FAIL = [
    "def test_more(): ...\n\ndef test_wrong():\n    1 / 0",
    WITH_FIXTURE.format("1 / 0"),
    WITH_FIXTURE.format("yield\n    1 / 0"),
]


CUT_SHORT = [
    (INTERRUPTED, "1"),
    ([TERMINATED.format("getpid")], "1"),
    ([TERMINATED.format("getppid")], "2"),
]  # itself, or xdist


@pytest.mark.parametrize("texts, processes", [(FAIL, "1"), (FAIL, "2"), *CUT_SHORT])
def test_a_file_that_does_not_pass_waits_and_costs_the_others_nothing(project, texts, processes):
    files = {f"tests/kernels/test_more_{number}.py": text for number, text in enumerate(texts)}
    for file, text in {**files, "tests/kernels/test_a.py": "def test_more(): ..."}.items():
        project.write(file, text)
    run = project.run("-m", "scripts.gpu_tests", "--processes", processes)
    assert run.returncode in (1, 2) and outcomes(project)[1] == [*files], run.stdout + run.stderr
    assert run.stderr.endswith(f"still waiting for a run that passes: {', '.join(files)}\n")


REFUSED = [("os.environ['TRITON_INTERPRET'] = '1'", "1", "switched Triton's interpreter on")]
REFUSED += [("open('kernels/base.py', 'a').write('x = 1')", "1", "was edited while they ran")]
REFUSED += [("pytest.skip('no /opt/tools here')", "1", "shows the absolute path /opt/tools")]
REFUSED += [("pass", "0", "the kernels' tests would run without a GPU")]


@pytest.mark.parametrize("line, gpus, message", REFUSED)
def test_a_run_that_cannot_be_kept_leaves_the_old_record(project, ran, line, gpus, message):
    project.write(MORE, f"import os, pytest\nfrom kernels import base\n\ndef test_more():\n    {line}\n")
    run = project.run("-m", "scripts.gpu_tests", GPUS=gpus)
    assert run.returncode == 1 and message in run.stderr and (project.root / kernel_outcomes.TESTS).read_text() == ran
