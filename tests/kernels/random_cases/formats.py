"""Random cases of the softmax kernel, and of the kernels that quantise and dequantise blocks."""

import math
from collections.abc import Callable
from random import Random
from typing import NamedTuple

import torch
from torch import Tensor

from kernels.formats.block import FP8, FP8_BLOCKS, MXFP4, MXFP8, NVFP4, Quantized, dequantize, quantize
from kernels.formats.block_triton import dequantize_blocks, quantize_blocks
from kernels.softmax import softmax
from tests.kernels.error_budget import arithmetic, budget_used
from tests.kernels.prefilled import prefilled_with_nan
from tests.kernels.random_cases.rounds import (
    DEVICE,
    DTYPES,
    LONGEST,
    Form,
    as_many_as_fit,
    catalogue,
    normal,
    sizes,
    split,
)

SCHEMES = {scheme.name: scheme for scheme in (NVFP4, MXFP4, MXFP8, FP8, FP8_BLOCKS)}


def draw(rng: Random, entry: dict) -> dict:
    """Rows and columns; where 16 divides the columns or they are one, Triton compiles anew."""
    columns = rng.randint(2, rng.choice([40, 300, LONGEST]))
    if entry["columns"] == "whole":
        columns = 16 * math.ceil(columns / 16)
    elif entry["columns"] == "one":
        columns = 1
    elif columns % 16 == 0:
        columns -= 1
    rows = rng.choice([1, rng.randint(1, 40), rng.randint(1, 300)])
    return {**entry, "rows": rows, "columns": columns, "cases": as_many_as_fit(rows * columns)}


# Softmax.


def scores(settings: dict, generator: torch.Generator) -> list[Tensor]:
    """Rows of scores, [cases, rows, columns], some of which have numbers of -inf."""
    shape = settings["cases"], settings["rows"], settings["columns"]
    x = normal(generator, *shape) * sizes(generator, shape[0], 0.01, 100)[..., 0]
    hidden = torch.rand(shape, generator=generator, device=DEVICE) < settings["hidden"]
    hidden[..., 0] = False  # a row of nothing else is NaN in PyTorch
    return [x.masked_fill(hidden, -torch.inf).to(getattr(torch, settings["dtype"]))]


def softmaxes(kernel: Callable, settings: dict, tensors: list[Tensor]) -> list[Tensor]:
    (x,) = tensors
    if settings["transposed"]:
        x = x.mT.contiguous().mT
    with prefilled_with_nan():
        return [torch.stack([kernel(rows, block=settings["block"]) for rows in x])]


def softmax_used(settings: dict, tensors: list[Tensor], results: list[Tensor]) -> float:
    """Each case has the budget of its own worst row; FP32 inside knows exp and a sum no better than ``arithmetic``."""
    (x,), (out,) = tensors, results
    truth = x.double().softmax(-1)
    size = truth.amax(-1, keepdim=True)
    return budget_used(out, x.softmax(-1), truth, size, size * arithmetic(x.shape[-1]))


# Quantise and dequantise.


class BothWays(NamedTuple):
    """What quantises, and what undoes it."""

    quantize: Callable
    dequantize: Callable


def values(settings: dict, generator: torch.Generator) -> list[Tensor]:
    """Rows and numbers of very different size, zeros among them, and a tensor scale for each case."""
    shape = settings["cases"], settings["rows"], settings["columns"]
    x = normal(generator, *shape) * normal(generator, *shape).exp()
    x = x * normal(generator, *shape[:2], 1).exp() * sizes(generator, shape[0], 1e-4, 1e3)[..., 0]
    x = x.masked_fill(torch.rand(shape, generator=generator, device=DEVICE) < settings["hidden"], 0)
    scale = sizes(generator, shape[0], 1e-5, 10).flatten()
    return [x.to(getattr(torch, settings["dtype"])), scale]


def quantized(kernel: BothWays, settings: dict, tensors: list[Tensor]) -> list[Tensor]:
    """Codes, scales, tensor scales and values of each case, stacked."""
    results = []
    for x, scale in zip(*(split(each, settings["cases"]) for each in tensors), strict=True):
        x = x[0].mT.contiguous().mT if settings["transposed"] else x[0]
        scheme = SCHEMES[settings["scheme"]]
        given = scale[0] if settings["given"] and scheme.has_tensor_scale else None
        with prefilled_with_nan():
            made = kernel.quantize(x, scheme, tensor_scale=given)
            results.append((*parts_of(made), kernel.dequantize(made)))
    return [torch.stack(each) for each in zip(*results, strict=True)]


def parts_of(made: Quantized) -> list[Tensor]:
    return [x for x in (made.codes, made.scales, made.tensor_scale) if x is not None]


def quantized_used(settings: dict, tensors: list[Tensor], results: list[Tensor]) -> float:
    """0 where all bits are those of PyTorch's specification, else inf."""
    right = quantized(BothWays(quantize, dequantize), {**settings, "transposed": False}, tensors)
    alike = [(a == b).all() for a, b in zip(bits(results), bits(right), strict=True)]
    return 0.0 if torch.stack(alike).all() else math.inf


def bits(tensors: list[Tensor]) -> list[Tensor]:
    return [x.view(torch.int32) if x.dtype == torch.float32 else x for x in tensors]


def forms() -> list[Form]:
    shared = {"dtype": DTYPES, "columns": ["any", "whole", "any", "one"]}
    shared |= {"transposed": [False, False, True], "hidden": [0.0, 0.05, 0.5]}
    of_softmax = catalogue("softmax", 24, **shared, block=[64, 1024])
    of_blocks = catalogue("blocks", 30, **shared, scheme=list(SCHEMES), given=[False, True])
    return [
        Form("softmax", softmax, of_softmax, draw, scores, softmaxes, softmax_used),
        Form(
            "quantize_blocks and dequantize_blocks", BothWays(quantize_blocks, dequantize_blocks), of_blocks,
            draw, values, quantized, quantized_used,
        ),
    ]  # fmt: skip
