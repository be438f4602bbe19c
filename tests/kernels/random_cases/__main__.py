"""Runs random cases of the kernels and counts them: ``python -m tests.kernels.random_cases [--minutes 9]``.

First we compile every kernel that a case may need, shared out over the processes, and don't count that. Then each
process draws cases from a seed of its own, which it prints, until the minutes are over. What was counted is kept in
tests/kernels/random_cases.json, failures included. A current record is left alone, unless you ask for ``--all``.
A failure doesn't stop the run: we print it with its seed and its settings, and the exit status is 1.

``--minutes 0`` compiles, and records nothing. ``--seed S --case I`` runs one case again, on a GPU of the same kind:
what a seed draws depends on the forms that can run, so a CPU draws another case. ``--seed`` alone gives the first
of the processes' seeds. A record is only made on a GPU; without one, cases run in Triton's interpreter.
Needs torch, triton, numpy, ml_dtypes, pytest and jupytext; no network. COMMIT names the commit if Git can't.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import secrets
import sys
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from time import perf_counter

import torch

from scripts.records import ROOT, RecordError, kernel_outcomes
from scripts.records.digest import Modules
from scripts.records.record_file import refuse_unfit
from scripts.records.run_tracer import provenance


def main(arguments: list[str] | None = None) -> int:
    title = __doc__.partition("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m tests.kernels.random_cases", description=title)
    parser.add_argument("--minutes", type=float, default=1.0, help="how long cases are counted; 0 compiles alone")
    parser.add_argument("--processes", type=int, default=4, help="how many share the GPU, each with a seed of its own")
    parser.add_argument("--seed", type=int, help="of the first process; the others have those that follow")
    parser.add_argument("--case", type=int, help="the number of one case of that seed, to run it again")
    parser.add_argument("--all", action="store_true", help="also if the record is current")
    options = parser.parse_args(arguments)
    if options.case is not None and options.seed is None:
        parser.error("--case needs the --seed that it was drawn from")
    os.environ.pop("TRITON_INTERPRET", None)
    if not torch.cuda.is_available():
        os.environ["TRITON_INTERPRET"] = "1"  # before Triton is imported, here and in the processes
    ran = provenance()  # imports Triton, whose own functions are compiled or interpreted from then on
    try:
        if options.case is not None:
            return run_one_case(options.seed, options.case)
        if not options.all and kernel_outcomes.random_cases(ROOT, Modules(ROOT))[1]:
            print("the record of random cases is current")
            return 0
        seed = secrets.randbelow(10**9) if options.seed is None else options.seed
        return count_cases(options.minutes, [seed + process for process in range(options.processes)], ran)
    except (RecordError, BrokenProcessPool) as error:
        print(f"\nstopped: {error}", file=sys.stderr)
        return 1


def run_one_case(seed: int, case: int) -> int:
    """Runs one case, prints its settings and what became of it; returns 1 if it fails."""
    from tests.kernels.random_cases.run import every_form, run_again

    form, settings, worst, failures = run_again(every_form(), seed, case)
    print(f"{form.name}\n{json.dumps(settings)}")
    for failure in failures:
        print(failure_line(failure._asdict()))
    if not failures:
        print(f"passes; the round that it belongs to uses {worst:.3f} of the budget")
    return int(bool(failures))


def count_cases(minutes: float, seeds: list[int], ran: dict) -> int:
    """Compiles, counts, prints what came of it and keeps it; returns 1 if a case failed.

    ran: where it runs, as ``run_tracer.provenance``

    Raises:
        UnsuitableMachine: on a GPU of which no record can be made.
        RecordError: if the source was edited meanwhile. The old record stays as it was.
    """
    from tests.kernels.random_cases.run import Tally, warm_up, work

    if ran["gpu"]:
        refuse_unfit("random cases", ran)
    before = kernel_outcomes.digest_of_random_cases(Modules(ROOT))
    total, started = Tally(), perf_counter()
    with ProcessPoolExecutor(len(seeds), mp_context=multiprocessing.get_context("spawn")) as pool:
        if ran["gpu"]:
            compiled = sum(pool.map(partial(warm_up, processes=len(seeds)), range(len(seeds))))
            print(f"{compiled} kinds of round compiled and run in {perf_counter() - started:.0f} s", flush=True)
        if not minutes:
            return 0
        print(f"seeds {seeds[0]} to {seeds[-1]}, {minutes:g} minutes", flush=True)
        for seed, tally in zip(seeds, pool.map(work, seeds, [60 * minutes] * len(seeds)), strict=True):
            print(f"seed {seed}: {sum(tally.cases.values())} cases, {tally.failed} failed", flush=True)
            total.merge(tally)
    for form, cases in sorted(total.cases.items()):
        print(f"{cases:>10} {form:<45} {total.worst[form]:.3f} of the budget at most")
    print(f"{sum(total.cases.values()):>10} together, {total.failed} failed")
    failures = [failure._asdict() for failure in total.failures]
    for failure in failures:
        print(failure_line(failure))
    if kernel_outcomes.digest_of_random_cases(Modules(ROOT)) != before:
        raise RecordError("a module that random cases reach was edited while they ran; run them again")
    if not ran["gpu"]:
        print("no GPU: nothing is recorded")
        return int(bool(total.failed))
    forms = {form: {"cases": total.cases[form], "worst": round(total.worst[form], 3)} for form in total.cases}
    outcome = {"forms": forms, "seeds": seeds, "seconds": 60 * minutes, "failed": total.failed, "failures": failures}
    kernel_outcomes.save_outcomes(ROOT, kernel_outcomes.RANDOM_CASES, outcome | {"digest": before, "ran": ran})
    return int(bool(total.failed))


def failure_line(failure: dict) -> str:
    budget = "" if failure["used"] is None else f" ({failure['used']:.3f} of it)"
    where = f"--seed {failure['seed']} --case {failure['case']}"
    return f"FAILED {failure['form']}, {failure['why']}{budget}; again: {where}\n    {json.dumps(failure['settings'])}"


if __name__ == "__main__":
    sys.exit(main())
