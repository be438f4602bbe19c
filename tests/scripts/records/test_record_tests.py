"""What became of the kernels' tests is a record: a file passed on a GPU, from today's source, or awaits its run."""

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
    """The real one: broken is a failure, what awaits its run is said."""
    _, fault = records.look_at_tests()
    if isinstance(fault, records.Missing):
        pytest.skip(str(fault))
    assert not fault, fault


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
    house.files = house.reader().tests().files
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
        *(f"kernels.{name}" for name in ("base", "launch")),
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


LATER, LAUNCH = "tests/kernels/test_later.py", "tests/kernels/test_launch.py"
ALL = [TEST, LATER, LAUNCH]


def awaiting(house):
    """The files that await their run, and that the record no longer counts."""
    outcome, fault = house.reader().look_at_tests()
    files = fault.files if fault else []
    counted = outcome.all_files if outcome else {}
    assert not counted.keys() & set(files)
    return files


@pytest.mark.parametrize(
    "path, old, new, files",
    [
        ("kernels/base.py", "2 * x", "x + x", [TEST]),
        (TEST, "double(0) == 0", "double(0) <= 0", [TEST]),
        (TEST, "[1, 2, 3]", "[1, 2]", [TEST]),
        (LATER, "a later GPU", "another GPU", [LATER]),
        ("tests/budget.py", "<= 0", "<= 1", [TEST]),
        ("tests/conftest.py", "return 2", "return 3", ALL),
        ("kernels/__init__.py", "Imports nothing.", "Imports nothing.", []),
        ("kernels/base.py", "    return 2 * x", "    if x == 9:\n        raise ValueError\n    return 2 * x", [TEST]),
    ],
)
def test_after_a_change_the_files_that_reach_it_await_their_run(recorded, path, old, new, files):
    recorded.edit(path, old, new)
    assert awaiting(recorded) == files


REACHING = {
    "an import of an import": "from kernels.middle import quadruple\n",
    "an import in a function": "def test_more():\n    from kernels.base import double\n",
    "a package": "import kernels.base as base\n",
    "a module of a package": "from kernels import base\n",
    "a text for another process": 'CODE = """\nimport sys\nfrom kernels import base\n"""\n',
    "a text that names a module": 'COMMAND = ["-m", "kernels.base"]\n',
    "a name that a package looks for": "from kernels import double\n",
    "what an assertion looks at": 'def test_more():\n    assert "kernels.base" in __doc__, "see kernels.launch"\n',
    "a helper": "from tests.helper import help_out\n",
}


@pytest.mark.parametrize("name", REACHING)
def test_a_file_reaches_a_kernel_by(house, name):
    house.edit(
        "kernels/__init__.py", '"""Imports nothing."""', '"""Imports nothing."""\n\nMODULE_OF = {"double": "base"}'
    )
    (house.root / "tests/helper.py").write_text("import kernels.middle\n")
    (house.root / "tests/kernels/test_more.py").write_text(REACHING[name])
    more = kernel_tests.digest_of_files(house.root, ["tests/kernels/test_more.py"])
    assert {"kernels", "kernels.base", "tests.conftest"} < more.keys() and "kernels.launch" not in more


@pytest.mark.parametrize(
    "text",
    [
        '"""Beside kernels.launch."""\n',
        'def test_more():\n    raise ValueError(f"{2} is no kernel: use kernels.launch.launch")\n',
        'def test_more(error=None):\n    raise error from ValueError("see " + "kernels.launch")\n',
        'def test_more():\n    assert 1, "see kernels.launch"\n',
    ],
    ids=["a docstring", "what an error advises", "its cause", "what an assertion says"],
)
def test_a_file_does_not_reach_a_kernel_by(house, text):
    (house.root / "tests/kernels/test_more.py").write_text(f"import kernels.base\n{text}")
    more = kernel_tests.digest_of_files(house.root, ["tests/kernels/test_more.py"])
    assert "kernels.base" in more and "kernels.launch" not in more


def test_a_new_room_outdates_nothing_and_its_tests_await_their_run(recorded):
    for path, text in {
        "kernels/parallel/__init__.py": "",
        "kernels/parallel/ring.py": "from kernels.base import double\n",
        "tests/kernels/parallel/conftest.py": "",
        "tests/kernels/parallel/test_ring.py": "from kernels.parallel import ring\n",
    }.items():
        (recorded.root / path).parent.mkdir(exist_ok=True)
        (recorded.root / path).write_text(text)
    assert awaiting(recorded) == ["tests/kernels/parallel/test_ring.py"]
    assert recorded.reader().tests().files == recorded.files


def test_a_file_that_goes_is_no_longer_counted(recorded):
    (recorded.root / LATER).unlink()
    assert awaiting(recorded) == [] and LATER not in recorded.reader().tests().all_files


def test_a_conftest_that_comes_counts(recorded):
    (recorded.root / "tests/kernels/conftest.py").write_text("x = 1\n")
    assert awaiting(recorded) == ALL


def test_it_is_said_which_files_await_their_run(recorded):
    recorded.edit("tests/budget.py", "<= 0", "<= 1")
    again = "run them on a GPU with: python -m scripts.record_tests"
    assert str(recorded.reader().look_at_tests()[1]) == (
        f"1 file of the kernels' tests awaits its run: {TEST}; {again}"
    )
    recorded.edit("tests/conftest.py", "return 2", "return 3")
    outcome, fault = recorded.reader().look_at_tests()
    assert outcome is None and f"await their run: {', '.join(ALL)}; {again}" in str(fault)
    with pytest.raises(records.Missing, match="3 files"):
        recorded.reader().tests()


# What is run again


def test_only_what_awaits_its_run_is_run_and_the_rest_keeps_where_and_when_it_ran(recorded):
    before = recorded.reader().tests()
    recorded.edit("kernels/base.py", "2 * x", "x + x")
    (recorded.root / LATER).unlink()
    run = recorded.record_tests()
    assert run.returncode == 0 and "5 passed, 3 skipped, 1 xfailed" in run.stdout, run.stdout + run.stderr
    after, fault = recorded.reader().look_at_tests()
    assert fault is None and [[*each.files] for each in after.runs] == [[TEST], [LAUNCH]]
    newest, earlier = after.runs
    assert earlier.files[LAUNCH] == before.files[LAUNCH]
    then, now = before.provenance["digest"], newest.provenance["digest"]
    assert earlier.provenance["digest"] == then and now["kernels.base"] != then["kernels.base"]
    assert "kernels.launch" not in now
    recorded.edit(LAUNCH, "launch(5) == 5", "launch(6) == 6")
    assert awaiting(recorded) == [LAUNCH]
    recorded.edit("tests/kernels/gpu.record.json", '"test_launch": 1', '"test_launch": 2')
    assert isinstance(recorded.reader().look_at_tests()[1], records.Stale)


def test_a_file_that_skips_itself_may_run_alone(recorded):
    recorded.edit(LATER, "a later GPU", "another GPU")
    run = recorded.record_tests()
    assert run.returncode == 0, run.stdout + run.stderr
    assert recorded.reader().tests().all_files[LATER]["skipped"] == {"needs another GPU": {"the whole file": 1}}


def test_of_what_awaits_its_run_named_files_may_run_alone(recorded):
    recorded.edit("kernels/base.py", "2 * x", "x + x")
    recorded.edit(LAUNCH, "launch(5) == 5", "launch(6) == 6")
    assert sorted(awaiting(recorded)) == sorted([LAUNCH, TEST])
    run = recorded.record_tests(TEST)
    assert run.returncode == 0, run.stdout + run.stderr
    assert awaiting(recorded) == [LAUNCH]
    for files in ([LATER], ["tests/kernels/test_nowhere.py"]):
        run = recorded.record_tests(*files)
        assert run.returncode == 1 and f"stopped: {files[0]} is no file" in run.stderr, run.stdout + run.stderr
        assert f"these do: {LAUNCH}" in run.stderr
    assert "--all runs all files: name none" in recorded.record_tests("--all", LAUNCH).stderr
    assert awaiting(recorded) == [LAUNCH]


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
    assert awaiting(recorded) == []


def test_a_test_of_another_room_outdates_nothing(recorded):
    (recorded.root / "tests/test_rooms.py").write_text("def test_rooms(): ...\n")
    assert awaiting(recorded) == []


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


INTERRUPTED = """
import os, signal, threading, time

def test_more(): ...

def insist():
    for _ in range(50):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.02)

def test_stuck():
    threading.Thread(target=insist).start()
    time.sleep(60)
"""
CUT_SHORT = {
    "a test that fails": "def test_more(): ...\n\n\ndef test_wrong():\n    assert False\n",
    "a set-up that fails": "import pytest\n\n\n@pytest.fixture\ndef x():\n    1 / 0\n\n\ndef test_more(x): ...\n",
    "an interruption": "def test_more(): ...\n\n\ndef test_stuck():\n    raise KeyboardInterrupt\n",
    "one interruption after the other": INTERRUPTED,
}


@pytest.mark.parametrize("name, processes", [*((name, 1) for name in CUT_SHORT), ("a test that fails", 2)])
def test_a_file_that_does_not_pass_costs_the_others_nothing(recorded, name, processes):
    recorded.edit("kernels/base.py", "2 * x", "x + x")
    (recorded.root / "tests/kernels/test_more.py").write_text(CUT_SHORT[name])
    assert sorted(awaiting(recorded)) == [TEST, "tests/kernels/test_more.py"]
    run = recorded.record_tests("--processes", str(processes))
    assert run.returncode in (1, 2), run.stdout + run.stderr
    assert "these await their run still: tests/kernels/test_more.py\n" in run.stderr, run.stderr
    assert awaiting(recorded) == ["tests/kernels/test_more.py"]


THREADS = """
import os

def test_more():
    assert os.environ["OMP_NUM_THREADS"] == "{wanted}"
"""


@pytest.mark.parametrize("processes, wanted", [(1, 3), (2, 1)])
def test_processes_that_share_the_cores_have_a_thread_each(recorded, processes, wanted):
    (recorded.root / "tests/kernels/test_more.py").write_text(THREADS.format(wanted=wanted))
    run = recorded.record_tests("--processes", str(processes), OMP_NUM_THREADS="3")
    assert run.returncode == 0, run.stdout + run.stderr


def test_a_file_that_was_cut_short_before_its_last_test_awaits_its_run(recorded):
    (recorded.root / "tests/kernels/test_a.py").write_text("def test_more():\n    raise KeyboardInterrupt\n")
    (recorded.root / "tests/kernels/test_b.py").write_text("def test_more(): ...\n")
    before = recorded.outcome_path.read_bytes()
    run = recorded.record_tests()
    assert run.returncode == 2 and "their record is as it was" in run.stderr, run.stdout + run.stderr
    assert recorded.outcome_path.read_bytes() == before


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
    assert json.loads(ran.outcome_path.read_text()).keys() == {"provenance", "files", "earlier"}
