"""The error budget: twice the error of PyTorch at the same precision, both against FP64, and what rounding does.

Each head has the budget of its own worst row, as in the tests of the handbook's kernels: one budget for a whole table
would pass a row of zeros beside a row of large numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from scripts.labs.lab import Case, Task

ERROR_FACTOR = 2
PERTURBATIONS = 8  # times that the inputs are moved a little: fewer would say little of a row in which two keys count
EPS = torch.finfo(torch.float32).eps


@dataclass(frozen=True)
class Expected:
    """One result: what is wanted, and how far from it each number may be.

    dtype: in which it is wanted   signed: whether 0 and -0 are two numbers
    """

    name: str
    truth: Tensor
    allowed: Tensor
    dtype: torch.dtype
    signed: bool = False

    def wrong_mask(self, actual: Tensor) -> Tensor:
        """Of each number whether it is too far from the truth; NaN always is, and infinity unless it is wanted."""
        if not self.truth.is_floating_point():
            return actual.cpu() != self.truth
        actual = actual.detach().cpu().double()
        near = (actual - self.truth).abs() <= self.allowed  # NaN compares false
        finite = self.truth.isfinite()
        if self.signed:
            near &= (self.truth != 0) | (actual.signbit() == self.truth.signbit())
        return torch.where(finite, ~(near & actual.isfinite()), actual != self.truth)


def expected_results(task: Task, case: Case, implementation: Callable | None = None) -> list[Expected]:
    """Each result of the task's reference, or of another implementation of it, on a case's inputs."""
    implementation = implementation or task.reference
    exact_inputs = {name: as_double(each) for name, each in case.inputs.items()}
    truths, baselines = results(implementation(**exact_inputs)), results(implementation(**case.inputs))
    seeds = range(0 if task.exact else PERTURBATIONS)
    perturbed_truths = [results(implementation(**perturb(exact_inputs, seed + 1))) for seed in seeds]
    names = list(case.outputs) or list(task.results)
    names = names or [f"result {i + 1}" if len(truths) > 1 else "the result" for i in range(len(truths))]
    error_scales = for_each_result(task.error_scale, exact_inputs, truths) if not task.exact else truths
    roundings = for_each_result(task.roundings, exact_inputs, truths) if not task.exact else truths
    expected = []
    for i, (name, truth, baseline) in enumerate(zip(names, truths, baselines, strict=True)):
        dtype = case.outputs[name].dtype if case.outputs else baseline.dtype
        allowed = torch.zeros(())
        if not task.exact and truth.is_floating_point():
            perturbed_truth = [each[i] for each in perturbed_truths]
            allowed = tolerance(truth, baseline, perturbed_truth, error_scales[i], dtype, roundings[i])
        truth = truth.double() if truth.is_floating_point() else truth
        expected.append(Expected(name, truth, allowed.expand(truth.shape), dtype, task.exact or task.signed))
    return expected


def tolerance(truth: Tensor, baseline: Tensor, perturbed: list[Tensor], error_scale, dtype, roundings) -> Tensor:
    """How far from the truth each number may be.

    perturbed: the truth of inputs that are off by up to one place of FP32.  A kernel can't tell half of that
        from the case's inputs, and what it makes of them is rounded as often again: a score in its sum, by the scale
        and by log₂ e
    error_scale: what an error is divided by   roundings: a number, or one for each number of the result
    """
    finite = truth.nan_to_num(nan=0.0, posinf=0.0, neginf=0.0)
    magnitude = finite.abs()
    if error_scale is None:
        error_scale = (
            magnitude.amax(-1, keepdim=True).expand_as(magnitude) if magnitude.ndim and magnitude.numel() else magnitude
        )
    error_scale = torch.maximum(magnitude, torch.as_tensor(error_scale, dtype=torch.float64).expand_as(magnitude))
    is_zero = error_scale == 0
    error_of_perturbed = torch.stack([worst(each, finite, error_scale) for each in perturbed]).amax(0)
    error_of_baseline = worst(baseline, finite, error_scale)
    eps = torch.finfo(dtype).eps
    is_useful = error_of_baseline <= 16 * (eps + error_of_perturbed)  # one that overflows grants nothing
    relative = torch.maximum(error_of_perturbed, error_of_baseline.masked_fill(~is_useful, 0))
    rounding = eps / 2 + roundings * EPS / 2
    smallest = torch.finfo(dtype).smallest_normal * eps
    return (ERROR_FACTOR * relative * error_scale + rounding * error_scale).clamp(min=smallest).masked_fill(is_zero, 0)


def worst(result: Tensor, truth: Tensor, error_scale: Tensor) -> Tensor:
    """The largest error of each head, divided by the error scale: [..., 1, 1]."""
    error = (result.double().nan_to_num(nan=0.0, posinf=0.0, neginf=0.0) - truth).abs()
    relative_error = (error / error_scale).masked_fill(error_scale == 0, 0)
    if not relative_error.numel():
        return relative_error.new_zeros(())
    return (
        relative_error.amax(tuple(range(relative_error.ndim))[-2:], keepdim=True)
        if relative_error.ndim
        else relative_error
    )


def for_each_result(value, inputs: dict, truths: tuple) -> tuple:
    """What a task says of its results: a number for all, or what a function makes of the inputs, for all or each."""
    values = results(value(**inputs)) if callable(value) else (value,)
    return values * len(truths) if len(values) == 1 else values


def results(result) -> tuple[Tensor, ...]:
    return tuple(result) if isinstance(result, tuple | list) else (result,)


def as_double(value):
    return value.double() if isinstance(value, Tensor) and value.is_floating_point() else value


def perturb(inputs: dict, seed: int) -> dict:
    """The inputs, each number moved at random by up to a place of FP32."""
    perturbed, generator = {}, torch.Generator().manual_seed(seed)
    for name, value in inputs.items():
        if isinstance(value, Tensor) and value.is_floating_point():
            value = value * (1 + EPS * (2 * torch.rand(value.shape, generator=generator, dtype=value.dtype) - 1))
        perturbed[name] = value
    return perturbed
