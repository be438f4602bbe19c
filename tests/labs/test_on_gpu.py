"""What the grader does on a GPU, with Triton's interpreter in the GPU's place: its processes, its cases, its times."""

import resource
from dataclasses import replace
from functools import partial
from importlib import import_module

import pytest
import torch

from kernels.bench import timing
from scripts.labs import grader, lab_info
from scripts.labs.grading import judge, side_by_side
from scripts.labs.grading.guarded_case import guarded_case
from scripts.labs.lab import load
from scripts.labs.message import format_verdict
from tests.labs import wrong_solutions

TIMED_TASKS = [
    (lab.slug, i) for lab in lab_info.all_labs() for i, task in enumerate(load(lab.slug).tasks) if task.timed_against
]


@pytest.fixture
def gpu(monkeypatch):
    """Kernels are interpreted and tables lie on the CPU, but the grader takes both for a GPU's."""
    if torch.cuda.is_available():
        pytest.skip("here is one: the tests below that need one run on it, and the right ones of test_labs")
    monkeypatch.setattr(judge, "is_interpreted", lambda: False)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    monkeypatch.setattr(timing, "device_time", lambda function: (timing.Time(1.0, 1.0, 1.0), function())[0])
    for module in (judge, side_by_side):
        monkeypatch.setattr(module, "guarded_case", lambda case, device: guarded_case(case, "cpu"))


def lab_with_small_case(slug, number, **more):
    """A lab of one task, and as its large case its first one."""
    lab = load(slug)
    task = lab.tasks[number]
    first = next(iter(task.cases()))
    return replace(lab, tasks=(replace(task, cases=lambda: (first,), gpu_case=lambda: first, **more),))


@pytest.mark.parametrize("slug, number", TIMED_TASKS)
def test_a_right_one_is_tried_on_the_large_case_and_timed_beside_the_rung(slug, number, gpu):
    lab, begun = lab_with_small_case(slug, number), []
    functions = judge.load_functions(wrong_solutions.solution_file(lab.info.folder))
    found = judge.judge(lab, functions, on_case=lambda task, case: begun.append(task.function))
    assert found.passed and found.cases == len(begun) == 2
    assert found.times.keys() == {lab.tasks[0].function}, found.remarks
    assert " ms, the handbook's " in format_verdict(lab, found)


@pytest.mark.parametrize("slug, number", TIMED_TASKS)
def test_the_rung_takes_the_large_cases_inputs_and_gives_its_output(slug, number, device):
    task = load(slug).tasks[number]
    module, _, name = task.timed_against.partition(":")
    case = next(iter(task.cases()))
    given = [each.to(device) if isinstance(each, torch.Tensor) else each for each in case.inputs.values()]
    out = getattr(import_module(module), name)(*given)
    assert out.squeeze().shape == next(iter(case.outputs.values())).squeeze().shape
    large = task.gpu_case()
    assert large.inputs.keys() == case.inputs.keys() and not large.layouts


def test_a_rung_that_does_not_run_on_this_gpu_takes_nothing_from_the_reader(gpu):
    lab = lab_with_small_case("vector-add", 0, timed_against="kernels.first.add:no_such_kernel")
    found = judge.judge(lab, judge.load_functions(wrong_solutions.solution_file("vector_add")))
    assert found.passed and not found.times
    assert "It could not be timed: module 'kernels.first.add' has no attribute 'no_such_kernel'" in format_verdict(
        lab, found
    )


def test_a_wrong_large_case_is_told_without_a_search_for_its_mistake(gpu, tmp_path):
    lab = lab_with_small_case("vector-add", 0)
    lab = replace(lab, tasks=(replace(lab.tasks[0], cases=tuple),))
    file = tmp_path / "wrong.py"
    file.write_text(wrong_solutions.wrong_solution("vector-add", "copies_x").source)
    found = judge.judge(lab, judge.load_functions(file))
    assert not found.passed and found.rejection.mistake is None
    assert "are wrong." in format_verdict(lab, found)


@pytest.mark.parametrize(
    "slug, first, second, wanted",
    [
        ("vector-add", {"passed": True, "gpu": False}, None, (True, "first")),
        ("vector-add", {"passed": False, "gpu": False}, None, (False, "first")),
        ("vector-add", {"passed": True, "gpu": True}, {"passed": True}, (True, "second")),
        (
            "vector-add",
            {"passed": True, "gpu": True},
            {"passed": False},
            (False, "In Triton's interpreter it passes. On the GPU:\nsecond"),
        ),
        ("strides", {"passed": True, "gpu": True}, None, (True, "first")),
    ],
)
def test_kernels_are_graded_in_the_interpreter_and_what_passes_on_the_gpu(slug, first, second, wanted, monkeypatch):
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    answers, environments = [first | {"message": "first"}, (second or {}) | {"message": "second"}], []

    def in_a_process(lab, file, seconds, more):
        environments.append(more)
        return answers.pop(0)

    monkeypatch.setattr(grader, "run_in_process", in_a_process)
    lab = lab_info.find(slug)
    assert grader.grade_file(lab, wrong_solutions.solution_file(lab.folder)) == wanted
    assert environments == [{"TRITON_INTERPRET": "1"}, {}][: 2 if second else 1]


def test_the_process_in_the_interpreter_looks_for_a_gpu_when_its_memory_is_no_longer_limited():
    """A driver that finds no room for its addresses finds no GPU, and then the lab would never be graded on it."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    with grader.memory_limited():
        assert resource.getrlimit(resource.RLIMIT_AS) != before
    assert resource.getrlimit(resource.RLIMIT_AS) == before


def test_who_asks_for_the_interpreter_gets_it_alone(monkeypatch):
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    monkeypatch.setattr(grader, "run_in_process", lambda *_: {"passed": True, "message": "first", "gpu": True})
    lab = lab_info.find("vector-add")
    assert grader.grade_file(lab, wrong_solutions.solution_file(lab.folder)) == (True, "first")


def grade_on_gpu(slug, change, tmp_path, monkeypatch, seconds=None):
    """What is told of a right solution, changed, where Triton compiles for the GPU what passes in its interpreter."""
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    lab = lab_info.find(slug)
    file = tmp_path / lab.file
    file.write_text(change(wrong_solutions.solution_file(lab.folder).read_text()))
    return grader.grade_file(lab, file, seconds)


@pytest.mark.gpu
@pytest.mark.parametrize("slug", sorted({slug for slug, _ in TIMED_TASKS}))
def test_on_a_gpu_a_right_one_passes_and_is_timed_beside_the_rung(slug, tmp_path, monkeypatch):
    passed, message = grade_on_gpu(slug, lambda text: text, tmp_path, monkeypatch)
    assert passed and ": passed, " in message, message
    assert message.count(" ms, the handbook's ") == sum(each == slug for each, _ in TIMED_TASKS), message


@pytest.mark.gpu
@pytest.mark.parametrize("slug", [each.slug for each in lab_info.all_labs() if each.triton])
def test_where_there_is_a_gpu_a_wrong_one_is_rejected_before_it_runs_there(slug, tmp_path, monkeypatch):
    """All of them are in test_labs; here one of each lab goes the way of a reader's file."""
    first = max(
        wrong_solutions.wrong_solutions(slug), key=lambda each: bool(each.known_mistake)
    )  # one whose mistake is named, if there is any
    passed, message = grade_on_gpu(slug, lambda _: first.source, tmp_path, monkeypatch)
    assert not passed and "it is not written yet" not in message
    assert not message.startswith("In Triton's interpreter it passes.")


def with_gpu_only_number(text, number, kernel):
    """``apart`` is 0 in the interpreter and ``number`` on a GPU; ``kernel`` is what the kernel's first line becomes."""
    asked = "__import__('os').environ.get('TRITON_INTERPRET') == '1'"
    text = text.replace("    programs =", f"    apart = 0 if {asked} else {number}\n    programs =")
    text = text.replace("len(x), BLOCK=BLOCK)", "len(x), apart, BLOCK=BLOCK)").replace(
        "length, BLOCK", "length, apart, BLOCK"
    )
    return text.replace("    place = ", f"{kernel}    place = ")


FAR = "    out += apart\n"
ASLEEP = """    for _ in range(apart):
        length = tl.inline_asm_elementwise(
            "nanosleep.u32 1000000; mov.b32 $0, $1;", "=r,r", [length], tl.int32, False, 1
        )
"""


@pytest.mark.gpu
def test_on_a_gpu_an_address_far_outside_is_told_after_it_passed_in_the_interpreter(tmp_path, monkeypatch):
    far = partial(with_gpu_only_number, number=1 << 40, kernel=FAR)
    passed, message = grade_on_gpu("vector-add", far, tmp_path, monkeypatch)
    assert not passed and message.startswith("In Triton's interpreter it passes. On the GPU:\n"), message
    assert "illegal memory access" in message and "has each tl.load and tl.store the right mask?" in message


@pytest.mark.gpu
def test_on_a_gpu_a_case_that_does_not_end_is_stopped(tmp_path, monkeypatch):
    """The kernel sleeps for two minutes or so: should nobody stop it, the GPU is free again all the same."""
    asleep = partial(with_gpu_only_number, number=120_000, kernel=ASLEEP)
    passed, message = grade_on_gpu("vector-add", asleep, tmp_path, monkeypatch, 20)
    assert not passed and message.startswith("In Triton's interpreter it passes. On the GPU:\n"), message
    assert "did not end within 20 s, so it was stopped." in message
    assert "in the case of add: 256 numbers, seed 1." in message


@pytest.mark.parametrize("number, kernel", [(1 << 40, FAR), (120_000, ASLEEP)])
def test_what_only_a_gpu_gets_is_right_in_the_interpreter(number, kernel, tmp_path, monkeypatch):
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    file = tmp_path / "mine.py"
    source = wrong_solutions.solution_file("vector_add").read_text()
    file.write_text(with_gpu_only_number(source, number, kernel))
    passed, message = grader.grade_file(lab_info.find("vector-add"), file)
    assert passed, message


def test_an_error_of_cuda_is_told_in_a_line_with_what_to_do():
    from scripts.labs.submission import to_rejection

    error = "CUDA error: an illegal memory access was encountered\nSearch for `cudaErrorIllegalAddress'\nCompile with …"
    found = to_rejection("add", None, RuntimeError(error), "mine.py")
    assert found.message == "it raised RuntimeError: CUDA error: an illegal memory access was encountered"
    assert "has each tl.load and tl.store the right mask?" in found.advice
