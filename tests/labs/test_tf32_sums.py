"""A sum of products that a GPU's compiler makes a dot in TF32 is refused in the interpreter, which does not show it."""

import os
import subprocess
import sys
from dataclasses import replace

import pytest
import torch

from scripts.labs.grading import guarded_tensor, judge
from scripts.labs.grading.accesses import AccessTracer, is_interpreted
from scripts.labs.lab import load
from scripts.labs.lab_info import ROOT
from scripts.labs.message import format_verdict
from tests.labs import wrong_solutions
from tests.labs.tf32_sums import FORMS, sums

in_the_interpreter = pytest.mark.skipif(not is_interpreted(), reason="what the interpreter watches")


def tables(rows):
    return [torch.randn(many, 16) for many in (rows, 16, rows)]


@in_the_interpreter
@pytest.mark.parametrize("form, rows", FORMS)
def test_only_those_sums_are_noted_of_which_the_compiler_makes_a_dot(form, rows):
    laid = [guarded_tensor.guard(name, each, "contiguous") for name, each in zip("xyz", tables(rows), strict=True)]
    with AccessTracer(laid) as tracer:
        sums[(1,)](*(each.tensor for each in laid), FORM=form, ROWS=rows)
    assert bool(tracer.rounding_fault) == FORMS[form, rows]
    assert laid[2].changed_mask().any()


def test_the_compiler_makes_a_dot_of_those_sums_and_of_no_others(tmp_path):
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    environment |= {"TRITON_CACHE_DIR": str(tmp_path)}
    result = subprocess.run(
        [sys.executable, "-m", "tests.labs.tf32_sums"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines() == [", ".join(map(str, form)) for form, dot in FORMS.items() if dot]


@pytest.mark.gpu
@pytest.mark.parametrize("form, rows", [each for each in FORMS if each[1] == 16])
def test_on_a_gpu_such_a_sum_keeps_three_digits_and_the_others_keep_seven(form, rows, device):
    x, y, out = (table.to(device) for table in tables(rows))
    sums[(1,)](x, y, out, FORM=form, ROWS=rows)
    truth = x.double() @ y.double() * (2 if form == "doubled" else 1)
    off = ((out - truth).abs().max() / truth.abs().max()).item()
    assert (1e-5 < off < 1e-2) if FORMS[form, rows] else off < 1e-6


@in_the_interpreter
def test_the_reader_is_told_what_to_write_instead(tmp_path):
    lab, file = load("backward"), tmp_path / "mine.py"
    lab = replace(lab, tasks=tuple(task for task in lab.tasks if task.function == "backward_dq"))
    file.write_text(wrong_solutions.wrong_solution("backward", "sum_made_a_dot").source)
    message = format_verdict(lab, judge.judge(lab, judge.load_functions(file), str(file)))
    assert "backward_dq: the numbers are right here, but on a GPU, Triton makes a tl.dot of the sum of" in message
    assert 'Write tl.dot(x, y, input_precision="ieee") yourself' in message
