"""A record on disk: written whole or not at all, and told from one that was edited by its checksum."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

from scripts.records.root import Stale

STATED = frozenset(  # what every record states of itself
    ("gpu", "driver", "cuda", "torch", "triton", "python", "date", "interpreter", "digest", "checksum")
)


def machine(provenance: dict) -> str:
    """The GPU that a record was made on; of several how many, what links them, and the NCCL that they speak by."""
    if "gpus" not in provenance:
        return provenance["gpu"]
    link = f", {provenance['link']}" if provenance["link"] else ""
    several = f"{provenance['gpus']} \N{MULTIPLICATION SIGN} {provenance['gpu']}"
    return f"{several}{link}, NCCL {provenance['nccl']}"


def checksum(provenance: dict, contents: object) -> str:
    """A hash of what a record holds, but for the checksum itself.

    It guards against accidents, not against somebody who means harm: whoever edits a record can compute it anew.
    """
    stated = {key: value for key, value in provenance.items() if key != "checksum"}
    whole = json.dumps([stated, contents], sort_keys=True)
    return hashlib.sha256(whole.encode()).hexdigest()


def check(provenance: dict, contents: object, record: str, again: str) -> None:
    """Refuses a record that is not whole or was not made on a GPU.

    record, again: what a message calls it, and how it is made anew
    """
    if absent := STATED - provenance.keys():
        raise Stale(f"{record} does not state its {', '.join(sorted(absent))}; {again}")
    if provenance["checksum"] != checksum(provenance, contents):
        raise Stale(f"{record} was changed after it was made: its checksum fails; {again}")
    if not provenance["gpu"] or provenance["interpreter"]:
        where = "in Triton's interpreter" if provenance["interpreter"] else "without a GPU"
        raise Stale(f"{record} was made {where}; {again}")


def listed(names: list[str]) -> str:
    """The first few, and how many more."""
    shown, more = names[:6], len(names) - 6
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")


def store(path: Path, text: str) -> None:
    """Write a file beside its place, sync it and rename it there."""
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with partial.open("w", encoding="utf-8") as file:
            file.write(f"{text}\n")
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)  # so that the new name, too, is on disk
    finally:
        os.close(folder)
