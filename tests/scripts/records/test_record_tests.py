"""What became of the kernels' tests is a record: all of them passed on a GPU, from today's source, or it is refused."""

import json
import os
import shutil

import pytest

from scripts import record_tests, records
from scripts.records import kernel_tests
from scripts.records.store import STATED
from tests.scripts.records.conftest import House

OUTCOME = {
    "tests/kernels/test_double.py": {
        "passed": {"test_double": 3, "test_zero": 1, "test_text": 1},
        "skipped": {
            "needs two GPUs": {"test_on_two": 1},
            "no text": {"test_text": 2},
            "expected to fail: text cannot be halved": {"test_half": 1},
        },
    },
    "tests/kernels/test_later.py": {"passed": {}, "skipped": {"needs a later GPU": {"the whole file": 1}}},
    "tests/kernels/test_launch.py": {"passed": {"test_launch": 1}, "skipped": {}},
}
TEST = "tests/kernels/test_double.py"


def test_the_record_of_the_kernels_tests_is_up_to_date():
    """The real one: stale is a failure, missing is said."""
    try:
        assert records.tests().files
    except records.Missing as missing:
        pytest.skip(str(missing))


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """A house whose tests have been run, all of them, though environment and settings ask for a part."""
    house = House(tmp_path_factory.mktemp("ran") / "house")
    (house.root / "pytest.ini").write_text("[pytest]\naddopts = --deselect tests/kernels/test_double.py::test_zero\n")
    house.run = house.record_tests(PYTEST_ADDOPTS="-k zero")
    assert house.run.returncode == 0, house.run.stdout + house.run.stderr
    return house


@pytest.fixture
def recorded(ran, house):
    """The same in a house of the test's own."""
    shutil.copy(ran.outcome_path, house.outcome_path)
    return house


# What the command writes


def test_the_outcome_is_told_by_file_test_and_reason(recorded):
    files = recorded.reader().tests().files
    seconds = [file.pop("seconds") for file in files.values()]
    assert files == OUTCOME and all(0 <= each < 60 for each in seconds)


def test_the_record_states_where_and_when_it_ran_and_of_which_source(recorded):
    stated = recorded.reader().tests().provenance
    assert stated.keys() == STATED
    assert (stated["gpu"], stated["torch"], stated["driver"]) == ("A stand-in for a GPU", "0.1", "0.4")
    assert set(stated["digest"]) == {
        "kernels",
        *(f"kernels.{name}" for name in ("base", "child", "launch", "middle", "other", "threads")),
        *(f"tests.kernels.{name}" for name in ("test_double", "test_later", "test_launch")),
        *("tests.budget", "tests.conftest"),
    }


def test_pytests_own_output_is_shown(ran):
    assert ran.run.stdout.startswith("the kernels' tests on A stand-in for a GPU\n")
    assert "6 passed, 4 skipped, 1 xfailed" in ran.run.stdout


def test_the_record_is_small_and_a_test_a_line(ran):
    lines = ran.outcome_path.read_text().splitlines()
    assert ' "test_double": 3,' in " ".join(lines) and len(lines) < 70 and str(ran.root) not in " ".join(lines)


def test_what_is_up_to_date_is_not_run_again_unless_asked(recorded):
    before = recorded.outcome_path.stat().st_mtime_ns
    run = recorded.record_tests()
    assert (run.returncode, run.stdout) == (0, "the record of the kernels' tests is up to date\n")
    assert recorded.outcome_path.stat().st_mtime_ns == before
    assert "6 passed" in recorded.record_tests("--all").stdout and recorded.outcome_path.stat().st_mtime_ns > before


# What it depends on


@pytest.mark.parametrize(
    "path, old, new, module",
    [
        ("kernels/base.py", "2 * x", "x + x", "kernels.base"),
        (TEST, "double(0) == 0", "double(0) <= 0", "tests.kernels.test_double"),
        (TEST, "[1, 2, 3]", "[1, 2]", "tests.kernels.test_double"),
        ("tests/budget.py", "<= 0", "<= 1", "tests.budget"),
        ("tests/conftest.py", "return 2", "return 3", "tests.conftest"),
        (
            "kernels/base.py",
            "    return 2 * x",
            "    if x == 9:\n        raise ValueError\n    return 2 * x",
            "kernels.base",
        ),
    ],
)
def test_a_changed_kernel_or_test_outdates_the_record_and_is_named(recorded, path, old, new, module):
    recorded.edit(path, old, new)
    again = r"run them on a GPU with: python -m scripts\.record_tests"
    with pytest.raises(records.Stale, match=rf"tests is stale: {module} changed since it was made; {again}"):
        recorded.reader().tests()


def test_a_test_file_or_a_kernel_that_comes_or_goes_outdates_the_record(recorded):
    (recorded.root / "tests/kernels/test_new.py").write_text("def test_new(): ...\n")
    (recorded.root / "kernels/new.py").write_text("new = 1\n")
    (recorded.root / "tests/kernels/test_later.py").unlink()
    with pytest.raises(records.Stale, match=r"kernels\.new, tests\.kernels\.test_later, tests\.kernels\.test_new"):
        recorded.reader().tests()


@pytest.mark.parametrize(
    "path, old, new",
    [
        ("kernels/base.py", "  # twice", "  # two times"),
        ("kernels/__init__.py", '"""Imports nothing."""', '"""Imports nothing at all."""'),
        (TEST, "by hand.", "on paper."),
        (TEST, "def test_zero():\n", "def test_zero():\n    # nothing at all\n"),
    ],
)
def test_a_comment_or_a_docstring_outdates_nothing(recorded, path, old, new):
    recorded.edit(path, old, new)
    assert recorded.reader().tests()


def test_a_test_of_another_room_outdates_nothing(recorded):
    (recorded.root / "tests/test_rooms.py").write_text("def test_rooms(): ...\n")
    assert recorded.reader().tests()


# What is refused


def test_tests_that_were_never_run_says_how_to_run_it(recorded):
    recorded.outcome_path.unlink()
    with pytest.raises(records.Missing, match=r"have not been run on a GPU yet.*python -m scripts\.record_tests"):
        recorded.reader().tests()


@pytest.mark.parametrize(
    "old, new",
    [
        ('"test_double": 3', '"test_double": 4'),
        ('"needs two GPUs"', '"needs a GPU"'),
        ('"test_launch": 1', ""),
        ("A stand-in for a GPU", "A faster GPU"),
        ('"checksum"', '"sum"'),
        ('"files"', '"rows"'),
        ('"files"', '<<<<<<< ours\n"files"'),
    ],
)
def test_a_record_edited_by_hand_is_refused(recorded, old, new):
    recorded.edit("tests/kernels/gpu.record.json", old, new)
    with pytest.raises(records.Stale, match="the record of the kernels' tests "):
        recorded.reader().tests()


@pytest.mark.parametrize("content", [b"", b"[]", b"null", b"{}", b"\xff", b'{"provenance": [], "files": {}}'])
def test_what_is_no_record_is_refused(recorded, content):
    recorded.outcome_path.write_bytes(content)
    with pytest.raises(records.Stale, match="the record of the kernels' tests cannot be read"):
        recorded.reader().tests()


@pytest.mark.parametrize(
    "provenance, message",
    [({"gpu": None}, "without a GPU"), ({"interpreter": True}, "in Triton's interpreter")],
)
def test_a_record_that_was_not_made_on_a_gpu_is_refused(recorded, provenance, message):
    outcome = recorded.reader().tests()
    kernel_tests.write(recorded.root, records.Outcome(outcome.provenance | provenance, outcome.files))
    with pytest.raises(records.Stale, match=f"the record of the kernels' tests was made {message}"):
        recorded.reader().tests()


def test_a_record_that_leaves_out_where_it_ran_is_refused(recorded):
    outcome = recorded.reader().tests()
    del outcome.provenance["driver"]
    kernel_tests.write(recorded.root, outcome)
    with pytest.raises(records.Stale, match="the record of the kernels' tests does not state its driver"):
        recorded.reader().tests()


# What the command does not write


@pytest.mark.parametrize(
    "environment, message",
    [
        ({"GPU": "none"}, "no GPU (torch 0.1): the kernels' tests was not run, nothing was written"),
        ({"TRITON_INTERPRET": "1"}, "the kernels' tests was not run: TRITON_INTERPRET is set"),
    ],
)
def test_without_a_gpu_or_in_the_interpreter_nothing_is_run(house, environment, message):
    run = house.record_tests(**environment)
    assert (run.returncode, run.stdout) == (1, "") and message in run.stderr
    assert not house.outcome_path.exists()


FAILING = {
    "a failing tear-down": (
        1,
        "import pytest\n\n\n@pytest.fixture\ndef late():\n    yield\n    1 / 0\n\n\ndef test_more(late): ...\n",
        "did not pass",
    ),
    "a file that cannot be read": (2, "import absent\n", "did not pass"),
    "a file without tests": (1, "", "ran without tests/kernels/test_more.py"),
    "the interpreter switched on": (
        1,
        "import os\n\n\ndef test_more():\n    os.environ['TRITON_INTERPRET'] = '1'\n",
        "switched Triton's interpreter on",
    ),
    "an edit": (
        1,
        "def test_more():\n    with open('kernels/base.py', 'a') as file:\n        file.write('edited = True')\n",
        "edited while they ran",
    ),
}


@pytest.mark.parametrize("name", FAILING)
def test_a_run_that_does_not_pass_leaves_the_old_record(recorded, name):
    status, more, message = FAILING[name]
    before = recorded.outcome_path.read_bytes()
    (recorded.root / "tests/kernels/test_more.py").write_text(more)
    run = recorded.record_tests()
    assert run.returncode == status and message in run.stderr, run.stdout + run.stderr
    assert recorded.outcome_path.read_bytes() == before
    assert not [*recorded.outcome_path.parent.glob(".*")]


@pytest.mark.parametrize(
    "files, message",
    [
        ({"one": {"passed": {"a": 1}, "skipped": {}}}, "ran without two"),
        ({"one": {"passed": {}, "skipped": {}}, "two": {"passed": {}, "skipped": {"no GPU": {"a": 1}}}}, "every one"),
        (
            {"one": {"passed": {"a": 1}, "skipped": {"no /opt/tools": {"b": 1}}}, "two": {"passed": {}, "skipped": {}}},
            "/opt",
        ),
    ],
)
def test_an_outcome_that_is_not_whole_or_shows_a_path_is_refused(files, message):
    with pytest.raises(records.RecordError, match=message):
        record_tests.refuse_outcome(files, {"one", "two"})


def test_a_full_disk_leaves_the_old_record_and_nothing_beside_it(recorded, monkeypatch):
    before, outcome = recorded.outcome_path.read_bytes(), recorded.reader().tests()

    def full(file):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        kernel_tests.write(recorded.root, records.Outcome(outcome.provenance, {}))
    assert recorded.outcome_path.read_bytes() == before
    assert not [*recorded.outcome_path.parent.glob(".*")]


def test_a_record_is_ordinary_json(ran):
    assert json.loads(ran.outcome_path.read_text()).keys() == {"provenance", "files"}
