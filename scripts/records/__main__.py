"""Runs snippets on this machine's GPU and keeps what they print: ``make record``.

Runs what is stale or missing, or the named snippets, or all of them, each in a Jupyter kernel of its own, and prints
how long each took. A snippet that raises or writes to stderr leaves its old record alone; the others still run, and the
exit status is 1. Needs torch, triton, nbclient, jupytext and ipykernel; no network. COMMIT names it where Git can't.

``--check`` runs nothing and says what would stop a build: records that are neither current nor listed in
snippets/behind.toml, and listed ones that are current. It needs jupytext alone.
"""

import argparse
import sys
from time import perf_counter

from scripts.records import Reader, RecordError
from scripts.records.reader import BEHIND
from scripts.records.root import UnsuitableMachine


def main(arguments: list[str] | None = None) -> int:
    title = __doc__.partition("\n")[0]
    parser = argparse.ArgumentParser(prog=".venv/bin/python -m scripts.records", description=title)
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--all", action="store_true", help="also those whose record is current")
    which.add_argument("--check", action="store_true", help="run nothing; say what would stop a build, exit 1 if any")
    parser.add_argument("names", nargs="*", metavar="NAME", help="a snippet; without any: what is stale or missing")
    options = parser.parse_args(arguments)
    try:
        reader = Reader()
        for name in options.names:
            reader.path(name)  # is there one?
        if options.check:
            return check(reader, options.names)
        chosen = options.names or [name for name in reader.names() if options.all or reader.inspect(name).fault]
        if not chosen:
            print("every snippet's record is current")
        recorded = [name for number, name in enumerate(chosen, start=1) if record(name, f"{number}/{len(chosen)}")]
        if listed := [name for name in recorded if name in reader.behind]:
            print(f"take out of {BEHIND}: {', '.join(listed)}")
        return int(recorded != chosen)
    except RecordError as error:
        print(f"\nstopped: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nstopped: interrupted; the record of the snippet that was running is as it was", file=sys.stderr)
        return 130


def check(reader: Reader, names: list[str]) -> int:
    """Prints what would stop a build, of these snippets or of all; returns 1 if something would."""
    faults = reader.faults()
    wrong = [str(fault) for name, fault in faults.items() if not names or name in names]
    print("\n".join(wrong) or f"every record is current or listed in {BEHIND}")
    return int(bool(wrong))


def record(name: str, progress: str) -> bool:
    """Returns whether a snippet could be recorded; prints its seconds, or what's wrong.

    Raises:
        UnsuitableMachine: since the next snippet could not be recorded either.
    """
    from scripts.records.record_snippet import record_snippet  # which needs nbclient: --check does without

    print(f"{progress:>5}  {name:<18}", end="", flush=True)
    started = perf_counter()
    try:
        record_snippet(name)
    except UnsuitableMachine:
        raise
    except RecordError as error:
        print("  not recorded", flush=True)
        print(f"\nnot recorded: {error}\n", file=sys.stderr)
        return False
    print(f"{perf_counter() - started:8.1f} s", flush=True)
    return True


if __name__ == "__main__":
    sys.exit(main())
