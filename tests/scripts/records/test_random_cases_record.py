"""The record of random cases: of today's kernels and today's judge, on a GPU, and not edited, or it is refused."""

import pytest

from scripts import records
from scripts.records import RandomCases, kernel_tests

FOLDER = "tests/kernels/random_cases"
MODULES = {
    f"{FOLDER}/rounds.py": "from tests.kernels.judge import allowed\n\nCASES = 16\n\n\n"
    "def draw():\n    from kernels.middle import quadruple\n\n    return quadruple(1)\n",
    f"{FOLDER}/run.py": "from tests.kernels.random_cases import rounds\n",
    f"{FOLDER}/__main__.py": "print('a table')\n",
    f"{FOLDER}/test_random_cases.py": "def test_nothing(): ...\n",
    "tests/kernels/judge.py": "from tests.budget import most\n\nallowed = 2\n",
    "kernels/bench/__init__.py": "",
    "kernels/bench/timing.py": "repeats = 3\n",
}


def test_the_record_of_random_cases_is_up_to_date():
    """The real one: stale is a failure, and so is a case that failed; missing is said."""
    cases, fault = records.look_at_random_cases()
    if isinstance(fault, records.Missing):
        pytest.skip(str(fault))
    assert not fault, fault
    assert not cases.failed, cases.failures


@pytest.fixture
def recorded(house):
    """A house with a record of random cases."""
    for path, text in MODULES.items():
        (house.root / path).parent.mkdir(exist_ok=True)
        (house.root / path).write_text(text)
    house.pretend_random_cases()
    return house


def fault(house):
    return str(house.reader().look_at_random_cases()[1])


def test_what_is_written_is_read(recorded):
    cases, fault = recorded.reader().look_at_random_cases()
    assert fault is None
    assert cases.forms["softmax"] == {"cases": 16, "worst": 1.5} and cases.failures[0]["case"] == 35
    assert (cases.seeds, cases.seconds, cases.failed) == ([7, 8], 540.0, 1)


def test_it_depends_on_what_draws_and_judges_and_on_the_kernels_that_these_import(recorded):
    depends = set(kernel_tests.digest(recorded.root, RandomCases))
    assert depends == {
        "tests.kernels.random_cases.rounds", "tests.kernels.random_cases.run", "tests.kernels.judge", "tests.budget",
        "kernels", "kernels.middle", "kernels.base",
    }  # fmt: skip


def test_a_new_room_that_no_case_imports_outdates_nothing(recorded):
    (recorded.root / "kernels/parallel").mkdir()
    (recorded.root / "kernels/parallel/ring.py").write_text("from kernels.base import double\n")
    assert fault(recorded) == "None"


@pytest.mark.parametrize(
    "path, old, new, module",
    [
        ("kernels/base.py", "2 * x", "x + x", "kernels.base"),
        (f"{FOLDER}/rounds.py", "16", "8", "tests.kernels.random_cases.rounds"),
        ("tests/kernels/judge.py", "2", "3", "tests.kernels.judge"),
        ("tests/budget.py", "<= 0", "<= 1", "tests.budget"),
    ],
)
def test_a_changed_kernel_or_judge_outdates_it_and_is_named(recorded, path, old, new, module):
    recorded.edit(path, old, new)
    again = "run them on a GPU with: python -m tests.kernels.random_cases"
    assert fault(recorded) == f"the record of random cases is stale: {module} changed since it was made; {again}"
    assert isinstance(recorded.reader().look_at_random_cases()[1], records.Stale)
    assert fault(recorded) in map(str, recorded.reader().faults().values())


@pytest.mark.parametrize(
    "path, old, new",
    [
        ("kernels/base.py", "  # twice", "  # two times"),
        ("kernels/bench/timing.py", "3", "5"),
        (f"{FOLDER}/__main__.py", "a table", "another table"),
        (f"{FOLDER}/test_random_cases.py", "test_nothing", "test_something"),
        ("tests/kernels/test_double.py", "[1, 2, 3]", "[1, 2]"),
    ],
)
def test_comments_instruments_tests_and_the_command_outdate_nothing(recorded, path, old, new):
    recorded.edit(path, old, new)
    assert fault(recorded) == "None"


def test_a_missing_one_says_how_to_run_it(house):
    missing = house.reader().look_at_random_cases()[1]
    assert isinstance(missing, records.Missing)
    assert str(missing).endswith("on a GPU yet; run them on a GPU with: python -m tests.kernels.random_cases")


@pytest.mark.parametrize(
    "old, new",
    [
        ('"cases": 32', '"cases": 3200000'),
        ('"worst": 0.5', '"worst": 0.4'),
        ('"failed": 1', '"failed": 0'),
        ("540.0", "54.0"),
        ('"seeds"', '"sown"'),
        ('"A GPU"', '"A faster GPU"'),
        ('"forms"', '<<<<<<< ours\n"forms"'),
    ],
)
def test_one_edited_by_hand_is_refused(recorded, old, new):
    recorded.edit(RandomCases.record, old, new)
    told = fault(recorded)
    assert "its checksum fails" in told or "cannot be read" in told


@pytest.mark.parametrize("content", [b"", b"[]", b"null", b"{}", b"\xff"])
def test_what_is_no_record_is_refused(recorded, content):
    (recorded.root / RandomCases.record).write_bytes(content)
    assert "the record of random cases cannot be read" in fault(recorded)


@pytest.mark.parametrize("changed, where", [({"gpu": None}, "without a GPU"), ({"interpreter": True}, "interpreter")])
def test_one_that_was_not_made_on_a_gpu_is_refused(recorded, changed, where):
    recorded.pretend_random_cases(**changed)
    assert where in fault(recorded)
