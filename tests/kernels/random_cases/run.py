"""What one process does: rounds of random cases until its time is over, and a tally of them."""

import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import count
from random import Random
from time import perf_counter

import torch

from tests.kernels.random_cases import attention, formats, serving
from tests.kernels.random_cases.rounds import CASES, Failure, Form, run, settings_of

KEPT_FAILURES = 20


@dataclass
class Tally:
    """How many cases there were of each form, the largest share of the budget, and the first failures."""

    cases: dict[str, int] = field(default_factory=dict)
    worst: dict[str, float] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)
    failed: int = 0

    def add(self, form: str, cases: int, worst: float, failures: list[Failure]) -> None:
        self.cases[form] = self.cases.get(form, 0) + cases
        self.worst[form] = max(self.worst.get(form, 0.0), worst)
        self.failures = (self.failures + failures)[:KEPT_FAILURES]
        self.failed += len(failures)

    def merge(self, other: "Tally") -> None:
        for form in other.cases:
            self.add(form, other.cases[form], other.worst[form], [])
        self.failures = (self.failures + other.failures)[:KEPT_FAILURES]
        self.failed += other.failed


def every_form() -> list[Form]:
    """All that can run here, in one order."""
    return [*attention.forms(), *formats.forms(), *serving.forms()]


def tally(forms: list[Form], seed: int, numbers: Iterable[int]) -> Tally:
    """The rounds of these numbers.  It ends early where the GPU does not answer any more."""
    found = Tally()
    for number in numbers:
        form, settings = settings_of(forms, seed, number)
        try:
            worst, failures = run(form, settings, seed, number)
        except torch.OutOfMemoryError:  # the GPU is shared: what others take may be too much for a round, uncounted
            torch.cuda.empty_cache()
            continue
        found.add(form.name, settings["cases"], worst, failures)
        if torch.cuda.is_available():
            if failures and not answers():
                break
            if torch.cuda.memory_reserved() > 2**32:
                torch.cuda.empty_cache()
    return found


def answers() -> bool:
    """Whether the GPU still does: after an illegal access, it refuses this process everything."""
    try:
        torch.cuda.synchronize()
    except RuntimeError:
        return False
    return True


def until(seconds: float) -> Iterator[int]:
    end = perf_counter() + seconds
    for number in count():
        if perf_counter() >= end:
            return
        yield number


def work(seed: int, seconds: float) -> Tally:
    """A process's share of the run."""
    settle()
    return tally(every_form(), seed, until(seconds))


def warm_up(process: int, processes: int) -> int:
    """A round of each kind that is compiled, of this process's share of them; how many.  None is counted."""
    settle()
    entries = [(form, entry) for form in every_form() for entry in form.kernels]
    Random(0).shuffle(entries)  # what takes long to compile is spread over the processes
    for form, entry in entries[process::processes]:
        try:
            run(form, form.draw(Random(0), entry) | {"cases": 1}, 0, 0)
        except torch.OutOfMemoryError:
            torch.cuda.empty_cache()
    return len(entries[process::processes])


def settle() -> None:
    """Processes share the processors, where more threads than one would wait for one another; and what is filled with
    NaN is warned of at every call."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")


def run_again(forms: list[Form], seed: int, case: int) -> tuple[Form, dict, float, list[Failure]]:
    """One case again, with what is around it: its form, its settings, the round's share and what of it failed."""
    form, settings = settings_of(forms, seed, case // CASES)
    worst, failures = run(form, settings, seed, case // CASES)
    return form, settings, worst, [each for each in failures if each.case in (case, case // CASES * CASES)]
