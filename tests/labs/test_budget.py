"""The error budget has room for what a GPU rounds, also where scores are large."""

from dataclasses import replace

import pytest
import torch

from scripts.labs.grading.budget import PERTURBATIONS, as_double, expected_results, for_each_result, perturb
from scripts.labs.lab import Case, Task, load
from tests.labs import gpu_rounding

ATTENTION = {"one-key": 0, "key-blocks": 0, "flash-forward": 0, "causal-and-ragged": 0, "paged-decode": 1}


def load_task(slug: str) -> Task:
    return load(slug).tasks[ATTENTION[slug]]


def find_case(task: Task, name: str) -> Case:
    return next(case for case in task.cases() if case.name == name)


def largest_share(slug: str, task: Task, case: Case) -> float:
    """How much of what is allowed the roundings of a GPU take, at most, whichever way the kernel is written."""
    expected = {each.name: each for each in expected_results(task, case)}
    shares = [0.0]
    for form in gpu_rounding.FORMS:
        for copy in (0, 1):
            for name, index, output in gpu_rounding.gpu_outputs(slug, case, form, copy):
                truth, allowed = expected[name].truth[index], expected[name].allowed[index]
                shares.append(((output.double() - truth).abs() / allowed).max().item())
    return max(shares)


@pytest.mark.parametrize("slug", ATTENTION)
def test_what_a_gpu_rounds_takes_half_of_the_budget_at_most(slug):
    task = load_task(slug)
    shares = {case.name: largest_share(slug, task, case) for case in task.cases()}
    assert max(shares.values()) < 0.5, shares


def test_without_the_roundings_of_scores_a_right_kernel_is_refused():
    task = load_task("key-blocks")
    assert largest_share("key-blocks", replace(task, roundings=48), find_case(task, "large scores")) > 1


def test_the_roundings_are_those_that_a_gpu_showed():
    """An H200, with Triton 3.6.0: of a row whose first half was right to the last digit the second half was off."""
    task = load_task("key-blocks")
    case = find_case(task, "large scores")
    (want,) = expected_results(task, case)
    got = {place: out for _, place, out in gpu_rounding.gpu_outputs("key-blocks", case, "by 2", 0)}[2,]
    off = (got.double() - want.truth[2]).abs() / task.error_scale(**case.inputs)[2]
    assert got[8].item() == pytest.approx(-0.2040539, abs=2e-7)
    assert off[:8].max() < 2e-7 and off[8:].min() > 4e-6
    assert want.allowed[2, 8] > 4 * abs(-0.2040539 - want.truth[2, 8])


def test_a_difference_that_a_gpu_showed_of_two_keys_that_count_is_within_a_quarter():
    task = load_task("paged-decode")
    want = expected_results(task, find_case(task, "large scores"))[0]
    assert want.allowed[0, 0, 7] > 4 * abs(-0.7031289 - want.truth[0, 0, 7])


def test_shares_in_fp16_are_refused_all_the_same():
    """What is granted for scores of usual size is far below what 11 bits lose."""
    task = load_task("key-blocks")
    case = find_case(task, "two full blocks, seed 1")
    (want,) = expected_results(task, case)
    q, k, v = (case.inputs[name].double() for name in "qkv")
    shares = (q @ k.T / q.shape[1] ** 0.5).softmax(-1).half().double()
    assert want.wrong_mask(shares @ v).any()
    assert (want.allowed / task.error_scale(q, k, v)).max() < 2**-12 / 8


def test_steps_are_a_number_or_made_of_the_inputs_for_all_results_or_for_each():
    one_result, two_results = (torch.ones(2),), (torch.ones(2), torch.ones(3))
    inputs = {"x": torch.arange(3.0)}
    assert for_each_result(4.0, inputs, two_results) == (4.0, 4.0)
    assert for_each_result(None, inputs, one_result) == (None,)
    assert for_each_result(lambda x: len(x), inputs, two_results) == (3, 3)
    assert for_each_result(lambda x: (len(x), 8), inputs, two_results) == (3, 8)


def test_the_inputs_are_moved_often_enough_that_no_seed_decides():
    """Of the two keys that count in this row, a few moves may all bring the scores hardly apart."""
    task = load_task("paged-decode")
    case = find_case(task, "large scores")
    exact = {name: as_double(x) for name, x in case.inputs.items()}
    truth = task.reference(**exact)[0]
    errors = [(task.reference(**perturb(exact, seed))[0] - truth).abs().max().item() for seed in range(1, 41)]
    largest_errors = [max(errors[i : i + PERTURBATIONS]) for i in range(0, len(errors), PERTURBATIONS)]
    assert max(largest_errors) < 3 * min(largest_errors)
