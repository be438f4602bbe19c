"""The grader stops endless loops, explains crashes and mistakes, and never overwrites a reader's file."""

import ast
import re
import shutil
import signal
import subprocess
import sys

import numpy as np
import pytest
import torch

from scripts.labs import __main__ as command
from scripts.labs import forbidden_in_file, grader, lab_info, progress
from scripts.labs.formatting import join_words, pluralize, with_full_stop
from scripts.labs.grading import guarded_tensor, judge
from scripts.labs.grading.accesses import is_interpreted
from scripts.labs.grading.who_wrote import box
from scripts.labs.lab import load
from scripts.labs.lab_info import ROOT
from scripts.labs.message import format_verdict
from scripts.labs.submission import advice, compiler_error, to_rejection
from tests.labs.wrong_solutions import solution_file, wrong_solution

ADD = solution_file("vector-add")
STORE = "    tl.store(out + place, total, mask=real)\n"


in_the_interpreter = pytest.mark.skipif(not is_interpreted(), reason="the interpreter's words: a GPU has others")


@pytest.fixture
def lab():
    return lab_info.find("vector-add")


def message_of(slug, source, folder):
    """What is told of a file with this source, judged in this process."""
    lab, file = load(slug), folder / "mine.py"
    file.write_text(source, encoding="utf-8")
    return format_verdict(lab, judge.judge(lab, judge.load_functions(file), str(file)))


def grade_changed(lab, tmp_path, change, seconds=None):
    """Grades the right solution with a change; returns whether it passed, and the message."""
    source = ADD.read_text()
    file = tmp_path / lab.file
    file.write_text(change(source))
    assert file.read_text() != source
    return grader.grade_file(lab, file, seconds)


@pytest.mark.parametrize(
    "loop_body, limit",
    [
        ("pass", "1 s of processor time"),
        ('__import__("time").sleep(0.1)', "6 s"),  # which keeps no core busy
    ],
)
def test_a_loop_that_never_ends_is_stopped_and_its_line_is_named(loop_body, limit, lab, tmp_path):
    loop = f"    while True:\n        {loop_body}\n"
    passed, message = grade_changed(lab, tmp_path, lambda text: text.replace(STORE, loop), 1)
    assert not passed
    assert f"did not end within {limit}, so it was stopped" in message and "LAB_SECONDS=6." in message
    assert re.search("at line 2[01] of your file, in the case of add: 256 numbers, seed 1\\.", message)


def test_a_right_solution_passes_on_a_busy_machine(lab, tmp_path):
    """While other programs have the processor, the clock goes on."""
    wait = f'    __import__("time").sleep(0.7)\n{STORE}'
    passed, message = grade_changed(lab, tmp_path, lambda text: text.replace(STORE, wait), 4)
    assert passed, message


@pytest.mark.parametrize(
    "trace, case, expected",
    [
        ('  File "{file}", line 7 in add\n', "add: 3 numbers", " It was at line 7 of your file, in the case of add: 3"),
        ("", "add: 3 numbers", " It was in the case of add: 3 numbers. If the machine is only slow"),
        ('  File "{file}", line 7 in <module>\n', None, " It was at line 7 of your file. If"),
        ("", None, "Is there a loop that never ends? If"),
    ],
)
def test_it_is_told_where_a_file_was_as_far_as_that_is_known(trace, case, expected, tmp_path):
    file, trace_file, case_file = tmp_path / "mine.py", tmp_path / "trace", tmp_path / "case"
    trace_file.write_text("Timeout (0:00:10)!\n" + trace.format(file=file))
    if case:
        case_file.write_text(case)
    assert expected in grader.death_message(1, trace_file, file, case_file, 10)
    trace_file.write_text(trace.format(file=file))
    assert expected in grader.death_message(-signal.SIGPROF, trace_file, file, case_file, 10)


@pytest.mark.parametrize(
    "line, expected",
    [
        ("import ctypes; ctypes.string_at(0)", "it crashed (SIGSEGV)"),
        ("import os; os._exit(0)", "ended the program (exit status 0)"),
        ("torch.zeros(1 << 40)", "more memory than a lab may take"),
    ],
)
def test_a_crash_an_exit_and_an_error_are_told_in_a_sentence(lab, tmp_path, line, expected):
    passed, message = grade_changed(
        lab, tmp_path, lambda text: text.replace("    programs =", f"    {line}\n    programs =")
    )
    assert not passed and expected in message and "Traceback" not in message


@in_the_interpreter
@pytest.mark.parametrize(
    "old, new, expected",
    [
        ("def add(x", "def plus(x", "there is no function add"),
        (
            "out: torch.Tensor)",
            "out, block=256)",
            "it takes (x, y, out, block), but the lab calls it with (x, y, out)",
        ),
        ("    programs =", "    raise SystemExit\n    programs =", "ends the program (SystemExit)"),
        (
            "    programs =",
            "    1 / 0\n    programs =",
            "line 11 of your file: it raised ZeroDivisionError: division by",
        ),
        ("import torch\n", "import torhc\n", "No module named 'torhc'"),
        ("    programs =", "    programs =+=", "Python cannot read the file"),
        ("import torch\n", "import torch\nfrom kernels.first.add import add as ours\n", "it imports kernels.first.add"),
        ("total, mask=real)\n", "total, mask=real)\n    raise NotImplementedError('write me')\n", "is not written yet"),
        (STORE, "    pass\n", "nobody wrote there"),
        (STORE, "    pass\n", "No kernel has stored anything: a kernel returns nothing, it ends with tl.store."),
        ("tl.load(x + place, mask=real)", "x[place]", "A pointer has no index: tl.load(pointer + place) reads"),
        (STORE, "    out[place] = total\n", "    out[place] = total\nA pointer has no index"),
        ("tl.arange(0, BLOCK)", "tl.arange(0, 250)", "A row in a kernel has 1, 2, 4, 8 … places"),
        (STORE, STORE.replace("out", "x"), "x was changed"),
        (
            STORE,
            STORE.replace("out + place", "out - 1 + place"),
            "program 0 writes out[-1], and out goes from out[0] to out[",
        ),
        (STORE, f"    if place < 3:\n        total = total\n{STORE}", "a GPU refuses that. Choose number by number"),
        (
            "    add_kernel[",
            "    torch.add(x, y, alpha=2, out=out)\n    return\n    add_kernel[",
            "no kernel stored them",
        ),
    ],
)
def test_what_is_not_a_solution_is_told_in_words(lab, tmp_path, old, new, expected):
    file = tmp_path / lab.file
    file.write_text(ADD.read_text().replace(old, new, 1))
    message = forbidden_in_file.why_forbidden(lab, file)
    if not message:
        loaded_lab = load(lab.slug)
        try:
            verdict = judge.judge(loaded_lab, judge.load_functions(file), str(file))
        except (Exception, SystemExit) as error:
            verdict = judge.Verdict(judge.to_rejection("add", None, error, str(file)))
        message = format_verdict(loaded_lab, verdict)
    assert expected in message


@in_the_interpreter
@pytest.mark.parametrize(
    "wrong, expected",
    [
        ("same_block_of_y", "Program 1 wrote it, after it had read x[256], y[0]."),
        ("copies_x", "Program 0 wrote it, after it had read x[0…255]."),
        ("zeros", "Program 0 wrote it, and had read nothing."),
    ],
)
def test_who_wrote_the_first_wrong_number_is_told_with_what_it_had_read(wrong, expected, tmp_path):
    assert f"\n{expected}\n" in message_of("vector-add", wrong_solution("vector-add", wrong).source, tmp_path)


@in_the_interpreter
@pytest.mark.parametrize(
    "slug, old, new",
    [
        ("flash-forward", "BLOCK_Q = 16", "BLOCK_Q = 32"),  # of 16 queries seq_q // BLOCK_Q makes no program
        ("causal-and-ragged", "triton.cdiv(seq_q, BLOCK_Q)", "seq_q // 10000"),
        ("paged-decode", "decode_kernel[(batch, splits)]", "decode_kernel[(0, splits)]"),
        ("vector-add", "add_kernel[(programs,)]", "add_kernel[(0,)]"),
    ],
)
def test_where_no_program_was_started_that_is_told_and_no_mistake_is_named(slug, old, new, tmp_path):
    source = solution_file(slug).read_text(encoding="utf-8")
    assert source.count(old) == 1
    message = message_of(slug, source.replace(old, new), tmp_path)
    assert "nobody wrote there" in message and f"\n{judge.NO_PROGRAM_STARTED}" in message
    assert "behaves like" not in message


@in_the_interpreter
def test_a_single_number_in_a_row_of_its_own_counts_in_range():
    """So does Triton 3.6.0 hold what a kernel is given, and NumPy since 2.4 makes no whole number of it."""
    import triton.language as tl
    from triton.runtime.interpreter import TensorHandle

    from scripts.labs.grading.gpu_rules import no_rows_as_conditions

    patched = {}
    set_attr = type("Scope", (), {"set_attr": staticmethod(lambda _, name, value: patched.update({name: value}))})
    no_rows_as_conditions(lambda *_: None)(None, set_attr)
    three = tl.tensor(TensorHandle(np.array([3], np.int32), tl.int32), tl.int32)
    assert patched["__index__"](three) == 3


def test_a_box_of_a_table_is_told_by_its_indices():
    places = np.array([5, 6, 10, 11])
    assert box(places, torch.empty(4, 5)) == "[1…2, 0…1]"
    assert box(places[:1], torch.empty(4, 5)) == "[1, 0]"
    assert box(np.array([1, 6]), torch.empty(4, 5).T) == "[1, 0…1]"
    assert box(np.array([0, 1, 20, 21]), torch.empty(5, 5)) == "[0 and 4, 0…1]"


@pytest.mark.parametrize(
    "error, code, expected",
    [
        ("'int' object is not iterable", "y = weights[i]", "tl.sum(tl.where(place == i, row, 0.0))"),
        ("'function' object is not subscriptable", "add_kernel[(1,)](x)", "has it lost its @triton.jit"),
        ("'list' object has no attribute 'type'", "row.append(score)", "tl.full([ROW], …)"),
        ("axis 1 out of bounds for shape ['constexpr[2]']", "tl.sum(a * b, 1)", "A row has the axis 0 alone"),
        ("input and other must have equal ranks >= 2", "tl.dot(a, b)", "two rows is tl.sum(a * b)"),
        ("missing 1 required positional argument: 'scale'", "kernel[(1,)](q)", "put its first lines back"),
        ("something else", "y = x + 1", ""),
    ],
)
def test_an_error_of_the_interpreter_is_followed_by_what_to_do(error, code, expected):
    found = advice(error, code)
    assert expected in found if expected else not found


@pytest.mark.parametrize(
    "line, expected",
    [
        (
            "x << 1",
            "dot, line 5 of your file: it raised NotImplementedError: \"lshift_cpu\" not implemented for 'Float'.",
        ),
        ("x.to(torch.float8_e4m3fn) * 2", 'it raised NotImplementedError: "mul_cpu_reduced_float" not implemented'),
        ("x.to_sparse().logical_not()", "it raised NotImplementedError: Could not run 'aten::logical_not"),
        ("torch.empty(3, device='meta').sum()", "is on the device meta, and the inputs were on the CPU: leave it"),
        ("'12'", "the result is of type str, and one number is wanted."),
        ("x", "the result has shape [3], and [], one number, is wanted."),
    ],
)
def test_what_pytorch_cannot_do_and_what_is_no_number_is_told_in_a_line(line, expected, tmp_path):
    source = f"import torch\n\n\ndef dot(x, y):\n    return {line}\n\n\ndef softmax_row(scores):\n    pass\n"
    message = message_of("dot-and-softmax", source, tmp_path)
    assert expected in message and message.count("\n") <= 6


def test_a_line_at_which_tritons_compiler_stops_is_the_files(tmp_path):
    """As it happens on a GPU, where the compiler has the kernel's source and counts lines from its first."""
    from triton.compiler.errors import CompilationError

    file = tmp_path / "mine.py"
    file.write_text("import triton\n\n\n@triton.jit\ndef kernel(x):\n    y = x\n    z = w\n")
    kernel = "def kernel(x):\n    y = x\n    z = w\n"
    error = CompilationError(kernel, ast.parse(kernel).body[0].body[1], "w is not defined")
    assert compiler_error(error, str(file)) == ("kernel", 7)
    assert compiler_error(CompilationError("def sum(x):\n    y", error.node, ""), str(file)) is None
    found = to_rejection("add", None, error, str(file))
    assert (found.place, found.line, found.code) == ("kernel", 7, "z = w")
    assert found.message == "it raised CompilationError: w is not defined"


def test_one_and_many_are_told_apart():
    assert [pluralize(many, "place") for many in (0, 1, 2)] == ["0 places", "1 place", "2 places"]
    assert [join_words("qkv"[:many]) for many in (1, 2, 3)] == ["q", "q and k", "q, k and v"]


def test_a_sentence_ends_once():
    assert list(map(with_full_stop, ("is it?", "it ends", "it ended."))) == ["is it?", "it ends.", "it ended."]


def test_the_files_to_write_are_put_there_and_never_overwritten(tmp_path):
    message = command.put_start_files(tmp_path / "labs")
    assert "Made in labs/: 01_dot_and_softmax.py" in message and "not begun" in message
    mine = tmp_path / "labs" / "04_vector_add.py"
    mine.write_text("mine")
    (tmp_path / "labs" / "01_dot_and_softmax.py").unlink()
    message = command.put_start_files(tmp_path / "labs")
    assert mine.read_text() == "mine"
    assert "Made in labs/: 01_dot_and_softmax.py." in message
    assert "Left alone in labs/, since you have written there: 04_vector_add.py." in message


def test_the_table_says_what_passed_and_what_was_changed_since(lab, tmp_path):
    command.put_start_files(tmp_path)
    status = lambda: progress.status_of(tmp_path, lab, progress.read(tmp_path))  # noqa: E731
    assert status() == "not begun"
    shutil.copy(ADD, tmp_path / lab.file)
    progress.record_try(tmp_path, lab, False)
    assert status() == "tried once"
    progress.record_try(tmp_path, lab, True)
    assert status() == "passed"
    (tmp_path / lab.file).write_text("# changed")
    assert status() == "passed once, changed since"
    assert progress.table(tmp_path, lab_info.all_labs()).endswith(f"0 of {len(lab_info.all_labs())} passed.")
    progress.record_try(tmp_path, lab, False)
    assert status() == "passed once, fails now"
    (tmp_path / lab.file).unlink()
    assert status() == "no file"


def test_a_lab_that_is_not_there_is_named_with_those_that_are(tmp_path):
    asked = subprocess.run(
        [sys.executable, "-m", "scripts.labs", "99"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert asked.returncode == 2
    assert asked.stdout.startswith("There is no lab '99'; there are: 1 dot-and-softmax")
    lab = lab_info.find("4")
    passed, message = grader.grade_file(lab, tmp_path / lab.file)
    assert (passed, message) == (False, f"There is no {tmp_path.name}/{lab.file}: `make labs` makes it.")


@pytest.mark.parametrize("layout", guarded_tensor.LAYOUTS)
@pytest.mark.parametrize("shape", [(0,), (1,), (7,), (3, 5), (2, 3, 4)])
def test_a_table_lies_in_nan_whatever_its_layout(layout, shape):
    x = torch.randn(shape)
    laid = guarded_tensor.guard("x", x, layout)
    assert torch.equal(laid.tensor, x)
    assert laid.buffer[laid.outside_mask()].isnan().all()
    assert laid.outside_mask().any() and not laid.changed_mask().any()
    assert laid.first_written_outside() is None
    laid.buffer[3] = 1.0
    assert laid.first_written_outside() == 3 - laid.tensor.storage_offset()
    assert guarded_tensor.guard_output("out", x, layout).unwritten_mask().all()
