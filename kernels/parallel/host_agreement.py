"""What processes agree on among themselves, on their hosts, before a GPU waits for another one.

They tell it through the store by which their group was founded, and not by a collective: the
first collective of NCCL may have to connect the GPUs, and does so without a time limit
(github.com/pytorch/pytorch/issues/104506), so that a process that fails before it would leave
all others waiting for ever.
"""

from __future__ import annotations

import json
import pickle
from datetime import timedelta
from typing import NamedTuple
from weakref import WeakKeyDictionary

import torch
import torch.distributed as dist
from torch.distributed import ProcessGroup

# What all processes of a group were found to have called alike.
_agreed: WeakKeyDictionary[ProcessGroup, set[NamedTuple]] = WeakKeyDictionary()
# How often the processes of a group have told one another something: they all count alike, as
# long as none has raised.
_told: WeakKeyDictionary[ProcessGroup, int] = WeakKeyDictionary()


ALL = "all have told"  # what is decided, unless it is a GaveUp


class GaveUp(NamedTuple):
    """What a process decides that has waited so long in vain, for those that are late."""

    process: int
    seconds: float
    late: list[int]


def agree(group: ProcessGroup, call: NamedTuple) -> None:
    """Compares the calls of all processes, the first time that this one calls so.

    call: a function's arguments, those that must be the same everywhere, by their names
    Raises a ValueError that names what differs, on every process.
    """
    agreed = _agreed.setdefault(group, set())
    if call in agreed:
        return
    refuse_capture("all processes are to compare their arguments first")
    mine = {"function": type(call).__name__} | call._asdict()
    for rank, theirs in enumerate(gathered(mine, group)):
        if theirs != mine:
            what = "; ".join(
                f"{name}, {mine.get(name)!r} and {theirs.get(name)!r}"
                for name in mine | theirs
                if mine.get(name) != theirs.get(name)
            )
            raise ValueError(
                f"process {dist.get_rank(group)} and process {rank} differ in {what}: all must "
                "call alike"
            )
    agreed.add(call)


def gathered(mine: object, group: ProcessGroup) -> list:
    """What each process has, in the order of their ranks.

    mine: anything that can be pickled
    What is told and decided stays in the store: a group that is founded anew needs a new one.
    Raises a RuntimeError that names the processes which have told nothing within the group's
    timeout, and on those, if they come later, one that says who has given up.
    """
    number = _told[group] = _told.get(group, 0) + 1
    place, ranks = f"context parallel/{number}", range(group.size())
    keys = [f"{place}/{rank}" for rank in ranks]
    me, store, timeout = dist.get_rank(group), group.get_group_store(), timeout_of(group)
    store.set(keys[me], pickle.dumps(mine))
    decision = ALL
    if not store.check([f"{place}/decided"]):  # else there is nothing to wait for
        try:
            store.wait(keys, timeout)
        except RuntimeError:  # no store raises another kind, and FileStore no narrower one
            if late := [rank for rank in ranks if not store.check([keys[rank]])]:
                decision = json.dumps(GaveUp(me, timeout.total_seconds(), late))
    # The first decision is everybody's: nobody goes on, or gives up, alone.
    decided = store.compare_set(f"{place}/decided", "", decision).decode()
    if decided != ALL:
        first, seconds, late = GaveUp(*json.loads(decided))
        missing = f"process {', '.join(map(str, late))} of {len(keys)}"
        if me in late:
            raise RuntimeError(
                f"process {first} waited {seconds:g} s for {missing} to make this call, and "
                "gave up"
            )
        raise RuntimeError(
            f"{missing} has not made the call that process {first} made {seconds:g} s ago: it "
            "has failed, or does something else; all must call alike"
        )
    return [pickle.loads(store.get(key)) for key in keys]


def timeout_of(group: ProcessGroup) -> timedelta:
    """The timeout that a group was founded with."""
    return group._get_backend(group._device_types[0]).options._timeout


def refuse_capture(why: str) -> None:
    """Raises a RuntimeError while a CUDA graph of this stream is captured.

    why: what is to be done that a capture cannot hold
    """
    if torch.cuda.is_initialized() and torch.cuda.is_current_stream_capturing():
        raise RuntimeError(
            f"a CUDA graph is being captured of a call, and {why}: make the same call once "
            "before, on every process, with its backward pass if the graph has one"
        )
