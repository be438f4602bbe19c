"""Run snippets on this machine's GPU, keep what they print and draw: ``python -m scripts.record [--all] [NAME ...]``.

Runs what is stale or missing, or the named ones, or all; each in a Jupyter kernel of its own.  A line a snippet says
how long it took.  A record is replaced whole, after the last cell.  A snippet that raises or writes to stderr stops
there and leaves its old record alone; the others are run all the same, and the exit status is 1.
Needs torch, triton, nbclient, jupytext, ipykernel and plotly; no network.

``--check`` runs nothing and names all that is stale or missing, the outcome of the kernels' tests
(``scripts.record_tests``) and of random cases (``tests.kernels.random_cases``) included.  It needs jupytext alone.
"""

from __future__ import annotations

import argparse
import sys
from time import perf_counter

from scripts import records
from scripts.records import RecordError
from scripts.records.run import Unfit, run

UP_TO_DATE = "every record is up to date"
SNIPPETS_UP_TO_DATE = "every snippet's record is up to date"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m scripts.record", description="Run snippets on this machine's GPU.")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--all", action="store_true", help="also those whose record is up to date")
    which.add_argument("--check", action="store_true", help="run nothing; say what is stale or missing, exit 1 if any")
    parser.add_argument("names", nargs="*", metavar="NAME", help="a snippet; without any: what is stale or missing")
    options = parser.parse_args(arguments)
    try:
        if options.check:
            wrong = check(options.names)
            print("\n".join(wrong) or UP_TO_DATE)
            return int(bool(wrong))
        chosen = choose(options.names, options.all)
        if not chosen:
            print(SNIPPETS_UP_TO_DATE)
        return int(not all([recorded(name, f"{number}/{len(chosen)}") for number, name in enumerate(chosen, start=1)]))
    except RecordError as error:
        print(f"\nstopped: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nstopped: interrupted; the record of the snippet that was running is as it was", file=sys.stderr)
        return 130


def recorded(name: str, number: str) -> bool:
    """Whether a snippet could be recorded; says so, with its seconds or with what is wrong.

    Raises:
        Unfit: if none can be, on this machine.
    """
    print(f"{number:>5}  {name:<18}", end="", flush=True)
    started = perf_counter()
    try:
        run(name)
    except Unfit:
        raise
    except RecordError as error:
        print("  not recorded", flush=True)
        print(f"\nnot recorded: {error}\n", file=sys.stderr)
        return False
    print(f"{perf_counter() - started:8.1f} s", flush=True)
    return True


def choose(named: list[str], everything: bool) -> list[str]:
    """The snippets to run.  Raises RecordError for a name that is no snippet."""
    there = records.names()
    if unknown := [name for name in named if name not in there]:
        raise RecordError(f"no snippet is called {', '.join(unknown)}; there are: {', '.join(there)}")
    if named or everything:
        return there if everything else named
    return [name for name in there if records.look(name)[1]]


def check(named: list[str]) -> list[str]:
    """What is wrong with each record that is stale or missing, of the named snippets or of all that is kept."""
    faults = [records.look(name)[1] for name in named] if named else records.faults().values()
    return [str(fault) for fault in faults if fault]


if __name__ == "__main__":
    sys.exit(main())
