"""Every lab accepts solutions written in three ways, rejects every wrong one, and says whose mistake it is."""

import ast
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import cache
from types import SimpleNamespace

import pytest

from scripts.labs import forbidden_in_file, grader, lab_info
from scripts.labs.grading import judge, known_mistake
from scripts.labs.grading.accesses import is_interpreted
from scripts.labs.lab import Lab, load
from scripts.labs.message import format_verdict
from tests.labs import wrong_solutions
from tests.labs.changed_functions import changed_functions

LABS = {lab.slug: lab for lab in lab_info.all_labs()}
RIGHT_SOLUTIONS = [
    (slug, file)
    for slug, each in LABS.items()
    for file in [wrong_solutions.solution_file(slug), *sorted(wrong_solutions.HERE.glob(f"{each.folder}/right_*.py"))]
]
WRONG_SOLUTIONS = [solution for slug in LABS for solution in wrong_solutions.wrong_solutions(slug)]


def parameter_id(value):
    return (
        f"{value.lab}-{value.name}"
        if isinstance(value, wrong_solutions.WrongSolution)
        else getattr(value, "stem", value)
    )


@cache
def cached_lab(slug: str) -> Lab:
    """The lab, whose cases are made once, and not anew for each file that is judged."""
    lab = load(slug)
    cases_of_tasks = [tuple(task.cases()) for task in lab.tasks]
    tasks = [
        replace(task, cases=lambda cases=cases: cases) for task, cases in zip(lab.tasks, cases_of_tasks, strict=True)
    ]
    return replace(lab, tasks=tuple(tasks))


@pytest.fixture(autouse=True, scope="module")
def cache_grading():
    """Some fifty files a lab are judged on the same cases, each beside the same mistakes."""
    cached = {}

    def compute_once(compute, case, implementation, *arguments):
        key = compute, id(case), implementation
        if key not in cached:
            cached[key] = compute(*arguments), case  # the case is kept, so that no other has its id
        return cached[key][0]

    expected_results, makes_difference = judge.expected_results, known_mistake.makes_difference

    def cached_expected_results(task, case, implementation=None):
        return compute_once(expected_results, case, implementation, task, case, implementation)

    with pytest.MonkeyPatch.context() as patch:
        for module in (judge, known_mistake):
            patch.setattr(module, "expected_results", cached_expected_results)
        patch.setattr(
            known_mistake,
            "makes_difference",
            lambda implementation, case, expected: compute_once(
                makes_difference, case, implementation, implementation, case, expected
            ),
        )
        with patch_language_once(patch) if is_interpreted() else nullcontext():
            yield


@contextmanager
def patch_language_once(patch):
    """Triton's interpreter makes ``triton.language`` its own for each launch, and here for all of them."""
    import triton.language as tl
    from triton.runtime import interpreter

    scopes, patch_lang = {}, interpreter._patch_lang

    def patch_once(function):
        """The language is patched under the names by which the function knows it: tl for a kernel, core for tl.sum."""
        names = frozenset(name for name, each in function.__globals__.items() if each is tl or each is tl.core)
        if names not in scopes:
            scopes[names] = patch_lang(function)
        return SimpleNamespace(restore=lambda: None)

    patch.setattr(interpreter, "_patch_lang", patch_once)
    yield
    for scope in reversed(scopes.values()):
        if scope:
            scope.restore()


def skip_cases_without_mistake(monkeypatch, mistake):
    """A file that makes a mistake is right on the cases on which that does not show; they are not run again."""
    judge_case = judge.judge_case

    def judge_or_skip(lab, task, case, function, file, passed_cases):
        implementation = next((each.implementation for each in task.mistakes if each.name == mistake), None)
        expected = judge.expected_results(task, case)
        if implementation and not known_mistake.makes_difference(implementation, case, expected):
            passed_cases.append((case, expected))
        else:
            judge_case(lab, task, case, function, file, passed_cases)

    monkeypatch.setattr(judge, "judge_case", judge_or_skip)


def judge_file(lab, file):
    if says := forbidden_in_file.why_forbidden(lab.info, file):
        return judge.Verdict(judge.Rejection("", says))
    return judge.judge(lab, judge.load_functions(file), str(file))


@pytest.mark.parametrize("slug, file", RIGHT_SOLUTIONS, ids=parameter_id)
def test_a_right_solution_passes(slug, file):
    lab = cached_lab(slug)
    outcome = judge_file(lab, file)
    assert outcome.passed, format_verdict(lab, outcome)
    assert "passed" in format_verdict(lab, outcome)
    limit = grader.SECONDS if is_interpreted() else grader.SECONDS_ON_GPU  # there for a case, most of it the compiler's
    assert outcome.seconds < limit, "a solution would be stopped before it is judged"


@pytest.mark.parametrize("solution", WRONG_SOLUTIONS, ids=parameter_id)
def test_a_wrong_solution_is_rejected_and_its_mistake_named(solution, tmp_path, monkeypatch):
    """It is judged where it differs from the right one, and on the cases on which its mistake shows."""
    lab = cached_lab(solution.lab)
    if solution.changes:
        changed = changed_functions(solution.right, solution.source, [task.function for task in lab.tasks])
        lab = replace(lab, tasks=tuple(task for task in lab.tasks if task.function in changed))
        skip_cases_without_mistake(monkeypatch, solution.known_mistake)
    check_rejected(solution, lab, tmp_path)


@pytest.mark.every_page
@pytest.mark.parametrize("solution", WRONG_SOLUTIONS, ids=parameter_id)
def test_a_wrong_solution_is_rejected_on_all_cases_and_its_mistake_named(solution, tmp_path):
    check_rejected(solution, cached_lab(solution.lab), tmp_path)


def check_rejected(solution, lab, folder):
    if lab.info.triton and not is_interpreted():
        pytest.skip("kernels are rejected in the interpreter, also where there is a GPU: in a process of its own")
    file = folder / f"{solution.name}.py"
    file.write_text(solution.source, encoding="utf-8")
    outcome = judge_file(lab, file)
    assert not outcome.passed, f"{solution.name} passes all cases"
    message = format_verdict(lab, outcome)
    assert "it is not written yet" not in message
    if solution.known_mistake:
        assert outcome.rejection.mistake, message
        assert outcome.rejection.mistake.name == solution.known_mistake


@pytest.mark.parametrize("slug", LABS)
def test_there_are_three_right_and_eight_wrong_solutions_and_each_says_what_it_is(slug):
    right = [file for each, file in RIGHT_SOLUTIONS if each == slug]
    all_wrong = [each for each in WRONG_SOLUTIONS if each.lab == slug]
    assert len(right) >= 3 and len(all_wrong) >= 8
    assert all(ast.get_docstring(ast.parse(file.read_text())) for file in right)
    assert all(each.description for each in all_wrong)


@pytest.mark.parametrize("slug", LABS)
def test_every_mistake_can_be_named_and_has_a_heading_to_read(slug):
    names_in_wrong_solutions = {each.known_mistake for each in WRONG_SOLUTIONS if each.lab == slug}
    for task in load(slug).tasks:
        for mistake in task.mistakes:
            assert lab_info.heading(mistake.heading)
        unnamed = [mistake.name for mistake in task.mistakes if mistake.name not in names_in_wrong_solutions]
        assert len(unnamed) < len(task.mistakes) or not task.mistakes, "no wrong one is named"


@pytest.mark.parametrize("slug", LABS)
def test_the_start_file_is_not_written_yet(slug):
    lab = load(slug)
    assert not forbidden_in_file.why_forbidden(lab.info, lab.info.start)
    verdict = judge.judge(lab, judge.load_functions(lab.info.start), str(lab.info.start))
    assert "is not written yet" in format_verdict(lab, verdict)
    notebook_rejection = judge.judge(lab, judge.load_functions(lab.info.start)).rejection
    assert notebook_rejection.place == verdict.rejection.place


def test_labs_are_numbered_without_a_gap_and_stand_in_the_order_of_their_numbers():
    numbers = [each.number for each in LABS.values()]
    assert len(set(numbers)) == len(numbers)
    assert all(each.chapter in lab_info.chapters() for each in LABS.values())


def test_a_replacement_that_fits_nowhere_or_twice_is_refused():
    for changes in ([["no such text", ""]], [["\n", ""]], [["import torch", "import torch"]]):
        with pytest.raises(ValueError, match=r"stands \d+ times in solution, once is wanted"):
            _ = wrong_solutions.WrongSolution("vector-add", "none", "", changes=changes).source


def test_a_function_is_touched_by_a_change_of_what_it_calls_and_by_one_that_nothing_calls_by_name():
    right = '"""Right."""\nimport torch\nSIZE = 1\n'
    right += "def a():\n    return b()\ndef b():\n    return SIZE\ndef c():\n    return 1\n"
    changed = lambda old, new: changed_functions(right, right.replace(old, new), "abc")  # noqa: E731
    assert changed("Right.", "Wrong.") == []
    assert changed("SIZE = 1", "SIZE = 2") == changed("return SIZE", "return 1 + SIZE") == ["a", "b"]
    assert changed("return 1\n", "return 2\n") == ["c"]
    assert changed("import torch", "import torch\nprint()") == ["a", "b", "c"]
