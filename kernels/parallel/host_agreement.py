"""Compares what processes call, on their hosts, before a GPU waits for another one.

They use the store with which their group was made, not a collective.  The first collective of
NCCL may have to connect the GPUs, and does so without a time limit
(github.com/pytorch/pytorch/issues/104506).  So a process that failed before it would leave all
others waiting for ever.
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

# The calls that all processes of a group have made with the same arguments.
_agreed: WeakKeyDictionary[ProcessGroup, set[NamedTuple]] = WeakKeyDictionary()
# How many times the processes of a group have gathered something: all have the same count, as
# long as none has raised.
_rounds: WeakKeyDictionary[ProcessGroup, int] = WeakKeyDictionary()

COMPLETE = "complete"  # the decision, unless it's a Timeout


class Timeout(NamedTuple):
    """The decision of a process that has waited so many seconds for those that are late."""

    process: int
    seconds: float
    late: list[int]


def agree(group: ProcessGroup, call: NamedTuple) -> None:
    """Compares the calls of all processes, the first time that this one makes such a call.

    call: those arguments of a function that must be the same everywhere, by their names
    Raises a ValueError that names what differs, on every process.
    """
    agreed_calls = _agreed.setdefault(group, set())
    if call in agreed_calls:
        return
    refuse_capture("all processes are to compare their arguments first")
    own_call = {"call": type(call).__name__} | call._asdict()
    for rank, other_call in enumerate(all_gather_objects(own_call, group)):
        if other_call != own_call:
            differences = "; ".join(
                f"{name}, {own_call.get(name)!r} and {other_call.get(name)!r}"
                for name in own_call | other_call
                if own_call.get(name) != other_call.get(name)
            )
            raise ValueError(
                f"process {dist.get_rank(group)} and process {rank} differ in {differences}: "
                "all must call alike"
            )
    agreed_calls.add(call)


def all_gather_objects(mine: object, group: ProcessGroup) -> list:
    """Returns what each process has, in the order of their ranks.

    mine: anything that can be pickled
    Everything told and decided stays in the store, so a new group needs a new store.
    Raises a RuntimeError that names the processes which told nothing within the group's
    timeout.  If those come later, theirs names the process that gave up.
    """
    round_number = _rounds[group] = _rounds.get(group, 0) + 1
    prefix, ranks = f"context parallel/{round_number}", range(group.size())
    keys = [f"{prefix}/{rank}" for rank in ranks]
    own_rank, store, timeout = dist.get_rank(group), group.get_group_store(), timeout_of(group)
    store.set(keys[own_rank], pickle.dumps(mine))
    decision = COMPLETE
    if not store.check([f"{prefix}/decided"]):  # otherwise there is nothing to wait for
        try:
            store.wait(keys, timeout)
        except RuntimeError:  # no store raises another kind, and FileStore no narrower one
            if late := [rank for rank in ranks if not store.check([keys[rank]])]:
                decision = json.dumps(Timeout(own_rank, timeout.total_seconds(), late))
    # The first decision holds for everybody: nobody goes on, or gives up, alone.
    common_decision = store.compare_set(f"{prefix}/decided", "", decision).decode()
    if common_decision != COMPLETE:
        first_rank, seconds, late = Timeout(*json.loads(common_decision))
        missing = f"process {', '.join(map(str, late))} of {len(keys)}"
        if own_rank in late:
            raise RuntimeError(
                f"process {first_rank} waited {seconds:g} s for {missing} to make this call, "
                "and gave up"
            )
        raise RuntimeError(
            f"{missing} has not made the call that process {first_rank} made {seconds:g} s "
            "ago: it has failed, or does something else; all must call alike"
        )
    return [pickle.loads(store.get(key)) for key in keys]


def timeout_of(group: ProcessGroup) -> timedelta:
    """Returns the timeout that a group was made with."""
    return group._get_backend(group._device_types[0]).options._timeout


def refuse_capture(why: str) -> None:
    """Raises a RuntimeError while a CUDA graph of this stream is captured.

    why: says what must happen that a capture can't contain
    """
    if torch.cuda.is_initialized() and torch.cuda.is_current_stream_capturing():
        raise RuntimeError(
            f"a CUDA graph is being captured of a call, and {why}: make the same call once "
            "before, on every process, with its backward pass if the graph has one"
        )
