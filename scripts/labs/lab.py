"""What a lab is: the functions to write, and for each its cases, its truth and the mistakes that people make."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from scripts.labs import lab_info
from scripts.labs.grading.accesses import Access
from scripts.labs.lab_info import LabInfo

if TYPE_CHECKING:
    from scripts.labs.verdict import Rejection

SEEDS = (1, 2, 3)
Result = Tensor | tuple[Tensor, ...]


@dataclass(frozen=True)
class Case:
    """One call of the reader's function.

    name: said in the message, ``1000 numbers, seed 1``
    inputs: argument -> tensor, on the CPU and contiguous, or a number
    outputs: argument -> an empty tensor of the shape and dtype that the function writes to; a function without such
        arguments returns its result
    layouts: argument -> how it lies in memory, one of ``guarded_tensor.LAYOUTS``; contiguous if it is not named
    """

    name: str
    inputs: dict[str, Tensor | int | float | bool]
    outputs: dict[str, Tensor] = field(default_factory=dict)
    layouts: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Mistake:
    """A wrong implementation of the function, written in PyTorch, so that it gives no kernel away.

    message: a sentence to the reader, ``Your last block is never written.``
    heading: the chapter and the anchor of the heading that explains it, ``first-kernel#the-smallest-kernel``, or ""
    implementation: what the function would return, of the same arguments as ``Task.reference``, in FP64, NaN where
        nobody writes
    writes: False of one that may write nothing at all; where nothing was written no other is named
    """

    name: str
    message: str
    heading: str
    implementation: Callable[..., Result]
    writes: bool = True


@dataclass(frozen=True)
class Task:
    """One function that the reader writes.

    reference: the result in PyTorch, of the case's inputs by name; in FP64 it is the truth, in the inputs' precision
        the baseline, whose error the budget allows twice
    cases: made anew for each run; the order is that in which they are tried, so easy ones first
    exact: whether only the very same numbers pass   signed: whether 0 and -0 are two numbers, as they are if exact
    error_scale: of the inputs in FP64, what an error is divided by where terms cancel, to be broadcast to the result
        (for a dot product √Σ(xᵢyᵢ)²), one for all results or a tuple of one for each; otherwise the row's largest
    roundings: how many roundings in FP32 of that scale the budget grants besides; a number, or a function of the inputs
        in FP64, as error_scale is
    check_accesses: given what the kernels read and stored in the interpreter, once a case is right, says what's wrong
        with it, or ""
    results: what the results are called that a function returns, if there are several
    gpu_case: a large case that only a GPU runs, and which is timed
    timed_against: the handbook's kernel for it, ``kernels.first.add:add``
    """

    function: str
    reference: Callable[..., Result]
    cases: Callable[[], Iterable[Case]]
    mistakes: tuple[Mistake, ...] = ()
    exact: bool = False
    signed: bool = False
    error_scale: Callable[..., Result] | None = None
    roundings: float | Callable[..., Result | tuple[Tensor | float, ...]] = 4.0
    check_accesses: Callable[[list[Access], Case], str] | None = None
    results: tuple[str, ...] = ()
    gpu_case: Callable[[], Case] | None = None
    timed_against: str = ""


@dataclass(frozen=True)
class Lab:
    """tasks: in the order in which they are graded
    check: what is asked besides, of the reader's functions; it returns "", or a sentence that says what is wrong with
        the last of them, or a rejection that names another
    judge_whole: grades a lab that has no tasks, given the lab, the functions, the reader's file and the verdict, to
        which it adds what is right; it raises Rejected
    """

    info: LabInfo
    tasks: tuple[Task, ...]
    check: Callable[[dict[str, Callable]], str | Rejection] | None = None
    judge_whole: Callable[..., None] | None = None


def load(query: str) -> Lab:
    """The lab of that number or name: of its ``lab.py`` TASKS, and ``check`` and ``judge_whole`` if there are any."""
    lab = lab_info.find(query)
    module = import_module(f"scripts.labs.catalogue.{lab.folder}.lab")
    return Lab(lab, module.TASKS, getattr(module, "check", None), getattr(module, "judge_whole", None))


def generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def normal(seed: int, *shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """Random numbers, the same on every machine."""
    return torch.randn(shape, generator=generator(seed)).to(dtype)


def widen(x: Tensor) -> Tensor:
    """In FP32 what has 16 bits: a reference computes as a kernel does, which keeps its sums in FP32."""
    return x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
