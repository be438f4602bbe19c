"""Find the bug: each wrong kernel runs on the reader's input beside what is right."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache

import torch
from torch import Tensor

from scripts.labs.formatting import join_words, pluralize, two_digits, with_full_stop
from scripts.labs.grading.budget import expected_results
from scripts.labs.grading.gpu_rules import RefusedByGrader
from scripts.labs.grading.judge import judge_case
from scripts.labs.lab import Case, Lab, Task, widen
from scripts.labs.message import first_wrong_line
from scripts.labs.submission import load_functions, to_rejection
from scripts.labs.verdict import UNWRITTEN, Rejected, Rejection, Verdict

LARGEST_SIZE = 64
LARGEST_SCORE = 1000.0
TOLERANCE = 0.01  # of the test that all of them pass
SECONDS = 1  # of processor time, for a function that returns an input
PATIENCE = 6  # times as long by the clock


@dataclass(frozen=True)
class Bug:
    """One kernel that is wrong in one place.

    names: of its inputs, in their order   shapes: of each, where a letter is any size and a number is that size
    like: the input that the output is shaped as; ``rows`` for one number a row of the first
    infinite: inputs that may be -inf
    """

    kernel: str
    reference: Callable[..., Tensor]
    names: tuple[str, ...]
    shapes: tuple[tuple[str | int, ...], ...]
    like: str
    dtype: torch.dtype = torch.float32
    infinite: tuple[str, ...] = ()
    strided: bool = False

    def output(self, inputs: dict[str, Tensor]) -> Tensor:
        if self.like == "rows":
            return torch.empty(inputs[self.names[0]].shape[0])
        return torch.empty(inputs[self.like].shape)


def attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return torch.softmax(q @ k.mT * q.shape[-1] ** -0.5, -1) @ v


def causal_attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    scores = q @ k.mT * q.shape[-1] ** -0.5
    hidden = torch.ones_like(scores, dtype=torch.bool).triu(1)
    return torch.softmax(scores.masked_fill(hidden, -torch.inf), -1) @ v


def merge(lse_a: Tensor, lse_b: Tensor, out_a: Tensor, out_b: Tensor) -> Tensor:
    weights = torch.softmax(torch.stack([lse_a, lse_b], -1), -1).nan_to_num(nan=0.0)
    return weights[:, :1] * out_a + weights[:, 1:] * out_b


ATTENTION_INPUTS = ("q", "k", "v"), (("N_q", 16), ("N_k", 16), ("N_k", 16)), "q"
BUGS = (
    Bug("softmax", lambda x: torch.softmax(x, -1), ("x",), (("M", "N"),), "x"),
    Bug("sums", lambda x: x.sum(-1), ("x",), (("M", "N"),), "rows"),
    Bug(
        "dots",
        lambda x, y: (widen(x) * widen(y)).sum(-1),
        ("x", "y"),
        (("M", "N"), ("M", "N")),
        "rows",
        torch.float16,
    ),
    Bug("rescaled", attention, *ATTENTION_INPUTS),
    Bug("ragged", attention, *ATTENTION_INPUTS),
    Bug("causal", causal_attention, ("q", "k", "v"), (("N", 16), ("N", 16), ("N", 16)), "q"),
    Bug("strided", attention, *ATTENTION_INPUTS, strided=True),
    Bug(
        "merged",
        merge,
        ("lse_a", "lse_b", "out_a", "out_b"),
        (("M",), ("M",), ("M", 16), ("M", 16)),
        "out_a",
        infinite=("lse_a", "lse_b"),
    ),
)
TASKS = ()


@cache
def kernels(file) -> dict[str, Callable]:
    """The wrong kernels as the lab hands them out, whatever the reader has made of them since."""
    return load_functions(file)


def judge_whole(lab: Lab, functions: dict[str, Callable], file: str, verdict: Verdict) -> None:
    """Asks each of the reader's functions for its input, and says what it shows.

    Raises:
        Rejected: with the first that is written and shows nothing, otherwise with the first that is not written.
    """
    rejected: list[Rejected] = []
    for bug in BUGS:
        name = f"expose_{bug.kernel}"
        try:
            with time_limit(SECONDS, PATIENCE * SECONDS):
                returned = functions[name]()
            verdict.remarks.append(f"{name}: found. {reveal_bug(lab, bug, name, checked_inputs(bug, name, returned))}.")
            verdict.cases += 1
            continue
        except Rejected as error:
            rejected.append(error)
        except Exception as error:
            rejected.append(Rejected(to_rejection(name, None, error, file)))
        message = rejected[-1].rejection.message
        verdict.remarks.append(
            with_full_stop(f"{name}: {'not written yet' if message == UNWRITTEN else f'not yet, {message}'}")
        )
    rejected.sort(key=lambda each: each.rejection.message == UNWRITTEN)
    if rejected:
        name_of_rejected = f"{rejected[0].rejection.function}: "  # below, with its line
        verdict.remarks[:] = [note for note in verdict.remarks if not note.startswith(name_of_rejected)]
        raise rejected[0]


@contextmanager
def time_limit(seconds: float, wall_seconds: float):
    """Ends what takes longer by an exception, so that the other functions are looked at, too.

    seconds: of processor time   wall_seconds: by the clock, for what keeps no processor busy
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_) -> None:
        raise RefusedByGrader(f"it did not end within {seconds} s: is there a loop that never ends?")

    timers = {signal.ITIMER_VIRTUAL: (signal.SIGVTALRM, seconds), signal.ITIMER_REAL: (signal.SIGALRM, wall_seconds)}
    old_handlers = {signal_number: signal.signal(signal_number, stop) for signal_number, _ in timers.values()}
    for timer, (_, after) in timers.items():
        signal.setitimer(timer, after)
    try:
        yield
    finally:
        for timer, (signal_number, _) in timers.items():
            signal.setitimer(timer, 0)
            signal.signal(signal_number, old_handlers[signal_number])


def reveal_bug(lab: Lab, bug: Bug, name: str, inputs: dict[str, Tensor]) -> str:
    """What the wrong kernel says on these inputs beside what is right.

    Raises:
        Rejected: if nothing shows, or if the input would make a right kernel wrong as well.
    """
    layouts = {each: layout(x) for each, x in inputs.items()} if bug.strided else {}
    copies = {each: x.contiguous() for each, x in inputs.items()}
    case = Case("your input", copies, {"out": bug.output(inputs)}, layouts)
    task = Task(bug.kernel, bug.reference, tuple, roundings=16)
    (want,) = expected_results(task, case)
    want = replace(want, allowed=want.allowed.clamp(min=TOLERANCE))
    if want.wrong_mask(bug.reference(**case.inputs)).any():
        message = "on your input PyTorch is too far from the truth as well, so it tells nothing about the kernel"
        raise Rejected(Rejection(name, f"{message}: take smaller numbers", case))
    try:
        judge_case(lab, task, case, kernels(lab.info.start)[bug.kernel], "", [])
    except Rejected as rejected:
        if rejected.rejection.message.startswith("it raised"):  # the interpreter's trouble, and not the bug
            raise Rejected(
                Rejection(name, f"on your input {bug.kernel} ends with an error, which is not the bug")
            ) from None
        rejection = rejected.rejection
        if rejection.wrong is None:
            return rejection.message
        far = want.wrong_mask(rejection.actual)
        if far.any():
            return first_wrong_line(replace(rejection, expected=want, wrong=far)).rstrip(".")
        most = (rejection.actual.double() - want.truth).abs().max().item()
        off = two_digits(most)
        message = f"on your input {bug.kernel} is off by {off} at most, which a tolerance of {TOLERANCE} lets pass"
        raise Rejected(Rejection(name, f"{message}: look for an input on which the wrong line does more")) from None
    place = (0,) * want.truth.ndim
    message = (
        f"on your input {bug.kernel} is right: out{list(place)} is {want.truth[place].item():.6g}, as it should be"
        f"{', and so are the others' if want.truth.numel() > 1 else ''}. Look for an input on which the wrong line "
        "matters"
    )
    raise Rejected(Rejection(name, message, case))


def layout(x: Tensor) -> str:
    """How a table lies in memory, as far as a copy of it can be laid in the same way."""
    if x.is_contiguous():
        return "contiguous"
    if x.ndim == 2 and 0 < x.stride(0) < x.stride(1):
        return "transposed"
    return "rows apart" if x.stride(-1) == 1 else "every second"


def describe_returned(returned) -> str:
    """What somebody has returned, in words."""
    if returned is None:
        return "nothing"
    if isinstance(returned, tuple | list) and all(isinstance(x, Tensor) for x in returned):
        return pluralize(len(returned), "tensor")
    names = {int: "a whole number", float: "a number", list: "a list", tuple: "a tuple", Tensor: "one tensor"}
    return names.get(type(returned), f"an object of type {type(returned).__name__}")


def checked_inputs(bug: Bug, name: str, returned) -> dict[str, Tensor]:
    """The inputs by their names.

    Raises:
        Rejected: if they are not what the kernel takes, with what they are and what is wanted.
    """

    def reject(message: str) -> None:
        raise Rejected(Rejection(name, message))

    tensors = returned if isinstance(returned, tuple | list) else (returned,)
    if len(tensors) != len(bug.names) or not all(isinstance(x, Tensor) for x in tensors):
        is_wanted = "a tensor, x, is wanted"
        if len(bug.names) > 1:
            is_wanted = f"{len(bug.names)} tensors, {join_words(bug.names)}, are wanted"
        reject(f"it returns {describe_returned(returned)}, and {is_wanted}")
    sizes: dict[str, int] = {}
    for each, x, shape in zip(bug.names, tensors, bug.shapes, strict=True):
        if x.device.type != "cpu":
            reject(f"{each} is on the device {x.device}: make it on the CPU, the grader takes it from there")
        if x.dtype != bug.dtype:
            reject(f"{each} is {x.dtype}, and {bug.dtype} is wanted")
        if x.ndim != len(shape):
            reject(f"{each} has {pluralize(x.ndim, 'dimension')}, and [{', '.join(map(str, shape))}] is wanted")
        for size, letter in zip(x.shape, shape, strict=True):
            if size != (letter if isinstance(letter, int) else sizes.setdefault(letter, size)):
                reject(f"{each} has shape {list(x.shape)}, which does not fit [{', '.join(map(str, shape))}]")
            if not 1 <= size <= LARGEST_SIZE:
                reject(f"{each} has shape {list(x.shape)}: each dimension is from 1 to {LARGEST_SIZE}")
        finite = x.masked_fill(x == -torch.inf, 0) if each in bug.infinite else x
        if not finite.isfinite().all():
            reject(f"{each} holds NaN or infinity, on which a right kernel may do what it likes")
        if finite.double().abs().max() > LARGEST_SCORE:
            worst = finite.flatten()[finite.double().abs().argmax()].item()
            reject(f"{each} holds {worst:.7g}, and {LARGEST_SCORE:g} is the most, with either sign")
    inputs = dict(zip(bug.names, tensors, strict=True))
    if "q" in inputs and (inputs["q"] @ inputs["k"].mT).abs().max() / 4 > LARGEST_SCORE:
        reject(f"an attention score is beyond {LARGEST_SCORE:g}, the most that is allowed, with either sign")
    for half in ("a", "b"):
        if f"lse_{half}" in inputs and inputs[f"out_{half}"][inputs[f"lse_{half}"] == -torch.inf].any():
            reject(f"where lse_{half} is -inf, out_{half} is 0: no key was seen there")
    return inputs
