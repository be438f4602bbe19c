"""Rounds of random cases: what is drawn for a round, what for each of its cases, and how both are judged.

A *case* is one call of one form on one drawn set of inputs.  Sixteen cases make a round: they share a form, a shape, a
dtype, the masks, the scale and a layout in memory, and each has its own numbers, magnitudes and lengths.  They are
called one by one and judged together, stacked along the batch, for there every head has a budget of its own anyway;
so the FP64 reference, which would take longer than all else, is computed once for sixteen.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from random import Random
from typing import NamedTuple
from unittest.mock import patch

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend

from tests.kernels import error_budget

CASES = 16 if torch.cuda.is_available() else 2  # a round, at most; the interpreter takes long over one
DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
LONGEST = 1024 if torch.cuda.is_available() else 16  # rows of queries, keys or scores
LARGEST = 2**22 if torch.cuda.is_available() else 2**14  # numbers of a round's largest FP64 tensor
DTYPES = ["float32", "float16", "bfloat16"][: 3 if torch.cuda.is_available() else 2]
WITHOUT_CUDNN = tuple(backend for backend in error_budget.BACKENDS if backend != SDPBackend.CUDNN_ATTENTION)


class Form(NamedTuple):
    """One way to be called, and how it is judged.

    kernels: what is compiled for it, one dict an entry; a round takes one of them
    draw: the settings of a round, from an entry; ``cases`` says how many it has
    inputs: tensors of all cases of a round, stacked along their first axis
    call: a kernel on such tensors, case after case; what comes out, stacked
    used: the largest share of the budget, of the cases in such tensors and results; at most 1 passes
    """

    name: str
    kernel: Callable
    kernels: list[dict]
    draw: Callable[[Random, dict], dict]
    inputs: Callable[[dict, torch.Generator], list[Tensor | None]]
    call: Callable[[Callable, dict, list[Tensor | None]], list[Tensor]]
    used: Callable[[dict, list[Tensor | None], list[Tensor]], float]


class Failure(NamedTuple):
    """A case that did not pass: ``used`` is None where it raised, and ``why`` says what."""

    form: str
    seed: int
    case: int
    settings: dict
    used: float | None
    why: str


def catalogue(name: str, count: int, **choices: list) -> list[dict]:
    """So many entries, the same in every process, in which each choice comes about equally often.

    What Triton compiles anew for is chosen from them, so that compiling ends.
    """
    rng = Random(name)
    columns = [rng.sample((values * count)[:count], count) for values in choices.values()]
    return [dict(zip(choices, row, strict=True)) for row in zip(*columns, strict=True)]


def settings_of(forms: list[Form], seed: int, number: int) -> tuple[Form, dict]:
    """Which form the round of that number has, and its settings."""
    rng = Random(f"{seed} {number}")
    form = rng.choice(forms)
    return form, form.draw(rng, rng.choice(form.kernels))


def run(form: Form, settings: dict, seed: int, number: int) -> tuple[float, list[Failure]]:
    """The largest share of the budget that cases of a round used, and those that did not pass.

    Together cases are judged only more strictly than by themselves: a backend of PyTorch's counts if it is of use for
    all of them, and cuDNN's is left out, which would plan anew for every shape.  So those of a round that does not
    pass are judged again, each by itself, with all backends, by what the kernel returned for it.

    Raises torch.OutOfMemoryError, which says nothing about a kernel.
    """
    generator = torch.Generator(DEVICE).manual_seed(seed << 24 | number)

    def failure(case: int, used: float | None, why: str) -> Failure:
        return Failure(form.name, seed, number * CASES + case, settings, used, why)

    try:
        tensors = form.inputs(settings, generator)
        results = form.call(form.kernel, settings, tensors)
    except torch.OutOfMemoryError:
        raise
    except Exception as error:
        return 0.0, [failure(0, None, f"{type(error).__name__} in one of the cases from here on: {error}")]
    try:
        with sixteen_bit_baseline(), patch.object(error_budget, "BACKENDS", WITHOUT_CUDNN):
            if (used_by_all := form.used(settings, tensors, results)) <= 1:
                return used_by_all, []
    except torch.OutOfMemoryError:
        raise
    except Exception:
        pass  # is raised again below, for the case that it concerns
    worst, failures = 0.0, []
    for case in range(settings["cases"]):
        single_case = ([part(x, case, settings["cases"]) for x in each] for each in (tensors, results))
        try:
            with sixteen_bit_baseline():
                used = form.used({**settings, "cases": 1}, *single_case)
        except torch.OutOfMemoryError:
            raise
        except Exception as error:
            failures.append(failure(case, None, f"{type(error).__name__}: {error}"))
            continue
        worst = max(worst, used)
        if not used <= 1:
            failures.append(failure(case, used, "beyond the budget"))
    return worst, failures


@contextmanager
def sixteen_bit_baseline() -> Iterator[None]:
    """PyTorch's results have one more in 16 bits, which rounds all that goes into a matmul to them.

    So does every backend with tensor cores; but where none of these takes the input, an odd head_dim with lengths or a
    CPU, all that is left keeps its weights in FP32.  Among a few cases nobody would notice; of a row alone, which is a
    head of its own when one query decodes, one in some hundred is then beyond twice the error.
    """
    results = error_budget.torch_results

    def with_rounded(q, k, v, dout, mask, options):
        found = results(q, k, v, dout, mask, options)
        if q.dtype != torch.float32:
            found.append(rounded_to_sixteen_bits(q, k, v, dout, mask, options.get("scale")))
        return found

    with patch.object(error_budget, "torch_results", with_rounded):
        yield


def rounded_to_sixteen_bits(
    q: Tensor, k: Tensor, v: Tensor, dout: Tensor | None, mask: Tensor, scale: float | None
) -> tuple[Tensor, ...]:
    """The output, and with ``dout`` the gradients of query, key and value: FlashAttention's formulas in FP32, where
    weights and gradients of scores, and the output in rowsum(dout∘out), are rounded."""

    def rounded(x: Tensor) -> Tensor:
        return x.to(q.dtype).float()

    scale = q.shape[-1] ** -0.5 if scale is None else scale
    group = q.shape[1] // k.shape[1]
    queries, keys, values = q.float(), *(x.float().repeat_interleave(group, 1) for x in (k, v))
    weights = (queries @ keys.mT * scale).masked_fill(~mask, -torch.inf).softmax(-1).nan_to_num(nan=0.0)
    weights_in = rounded(weights)
    out = weights_in @ values
    if dout is None:
        return (out.to(q.dtype),)
    dout = dout.float()
    delta = (dout * rounded(out)).sum(-1, keepdim=True)
    dscores = rounded(weights * (dout @ values.mT - delta))
    dk, dv = (x.unflatten(1, (-1, group)).sum(2) for x in (dscores.mT @ queries * scale, weights_in.mT @ dout))
    return tuple(x.to(q.dtype) for x in (out, dscores @ keys * scale, dk, dv))


def part(x: Tensor | None, case: int, cases: int) -> Tensor | None:
    """What of stacked tensors belongs to one case."""
    return None if x is None else x.tensor_split(cases)[case]


def split(x: Tensor | None, cases: int) -> list[Tensor | None]:
    return [None] * cases if x is None else list(x.tensor_split(cases))


def as_many_as_fit(numbers: int) -> int:
    """How many cases a round has whose largest tensor has so many numbers a case."""
    return max(1, min(CASES, LARGEST // max(1, numbers)))


def sizes(generator: torch.Generator, count: int, smallest: float, largest: float) -> Tensor:
    """Magnitudes, [count, 1, 1, 1], as often between 0.1 and 1 as between 1 and 10."""
    exponent = torch.rand(count, 1, 1, 1, generator=generator, device=DEVICE)
    low, high = (torch.tensor(x).log10().item() for x in (smallest, largest))
    return 10 ** (low + (high - low) * exponent)


def normal(generator: torch.Generator, *shape: int) -> Tensor:
    return torch.randn(shape, generator=generator, device=DEVICE)
