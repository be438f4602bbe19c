"""Moves rows from one GPU to another: as messages, or by reading the other's memory.

    Messages      uses send and receive of torch.distributed: NCCL between GPUs, gloo between
                  CPUs.  NCCL's copy is a kernel, and needs SMs while attention has them all.
    PeerMemory    GPUs of one host map each other's memory, and a copy engine, which isn't part
                  of the SMs, fetches the rows while they compute.

Both exchange in the same way.  Every GPU *offers* two tensors of one shape in one of two rooms,
one for keys and values and one for gradients, and says how many elements one of them has at
``most`` on any GPU.  Then each may *take* what the GPU so many places before it has offered
there.  A take runs while the GPU computes something else.  Its ``wait`` makes the stream wait
for it (with gloo, the host), and must come before the next offer in that room.
"""

from __future__ import annotations

import socket
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from weakref import WeakKeyDictionary

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed import P2POp, ProcessGroup

from kernels.parallel.host_agreement import all_gather_objects, refuse_capture


class Taken(NamedTuple):
    """Two tensors on their way, [2, ...]; they have arrived after ``wait``."""

    buffer: Tensor
    wait: Callable[[], object]

    def arrived(self) -> Tensor:
        self.wait()
        return self.buffer


# Takes from the GPU so many places before mine, given the shape of one of the two tensors
# there.
Take = Callable[[int, Sequence[int]], Taken]
KEYS, GRADIENTS = range(ROOMS := 2)


class Messages:
    """Exchanges by messages: a take sends to one GPU and receives from another, at once."""

    def __init__(self, group: ProcessGroup):
        self.group, self.rank, self.ranks = group, dist.get_rank(group), group.size()

    def offer(self, a: Tensor, b: Tensor, *, room: int, most: int) -> Take:
        """Returns the function that takes.  Messages need no room."""
        offered = torch.stack([a, b])

        def take(places: int, shape: Sequence[int]) -> Taken:
            buffer = offered.new_empty(2, *shape)
            to, of = (self.rank + places) % self.ranks, (self.rank - places) % self.ranks
            both = [(dist.isend, offered, to), (dist.irecv, buffer, of)]
            both = [
                P2POp(what, x, group=self.group, group_peer=peer)
                for what, x, peer in both
                if x.numel()
            ]
            under_way = dist.batch_isend_irecv(both) if both else []
            return Taken(buffer, lambda: [each.wait() for each in under_way])

        return take


@dataclass(eq=False)
class Room:
    """Bytes that every GPU of a group has mapped, and a handle to those of the others."""

    memory: Tensor
    handle: object


class PeerMemory:
    """Exchanges by peer memory: a take copies from the other GPU, by a copy engine.

    A GPU writes what it offers into memory that all GPUs of the group have mapped, one piece
    for each room.  A barrier before it writes makes sure that all are done with the earlier
    offer there, since each GPU has waited for what it took.  A barrier after it makes sure that
    all have offered.  Neither depends on an earlier offer, so CUDA graphs of calls and other
    calls may follow one another in any order on one stream.
    """

    TIMEOUT = 60_000  # ms, after which a GPU that waits for another gives up with an error

    def __init__(self, group: ProcessGroup):
        self.rank, self.ranks = dist.get_rank(group), group.size()
        self.group = weakref.ref(group)  # weak, so that we don't keep the group alive
        self.stream = torch.cuda.Stream()
        self.rooms: dict[int, Room] = {}
        self.in_graphs: set[Room] = set()  # a graph may be replayed after its room has grown

    def offer(self, a: Tensor, b: Tensor, *, room: int, most: int) -> Take:
        place = self.reserved(room, 2 * most * a.element_size())
        mine = place.memory.view(a.dtype)[: 2 * a.numel()].view(2, *a.shape)
        place.handle.barrier(timeout_ms=self.TIMEOUT)  # nobody reads here any more
        torch.stack([a, b], out=mine)
        place.handle.barrier(timeout_ms=self.TIMEOUT)  # everybody has written

        def take(places: int, shape: Sequence[int]) -> Taken:
            buffer = a.new_empty(2, *shape)
            if not buffer.numel():
                return Taken(buffer, lambda: None)
            owner = (self.rank - places) % self.ranks
            theirs = place.handle.get_buffer(owner, buffer.shape, a.dtype)
            self.stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(self.stream):
                buffer.copy_(theirs)
                there = self.stream.record_event()
            return Taken(buffer, lambda: torch.cuda.current_stream().wait_event(there))

        return take

    def reserved(self, number: int, size: int) -> Room:
        """Returns a room of at least so many bytes.  All GPUs ask alike, so it grows on all."""
        room = self.rooms.get(number)
        if room is None or room.memory.numel() < size:
            refuse_capture("memory that it offers to other GPUs is to be mapped first")
            if room is not None:
                torch.cuda.synchronize()
                dist.barrier(self.group())  # nobody may still read the old one
                del room, self.rooms[number]
            room = self.rooms[number] = mapped(size, self.group())
        if torch.cuda.is_current_stream_capturing():
            self.in_graphs.add(room)
        return room


def mapped(size: int, group: ProcessGroup) -> Room:
    """Returns at least so many bytes that all GPUs of a group map; all call it together."""
    import torch.distributed._symmetric_memory as symmetric

    size = -(-size // 512) * 512
    device = torch.device("cuda", torch.cuda.current_device())
    # ``symmetric.empty`` would cut it from a pool.  If one GPU alone had freed a piece, the
    # next one would be at another place there than on the others.
    allocate = symmetric._SymmetricMemory.empty_strided_p2p
    memory = allocate((size,), (1,), torch.uint8, device)
    torch.cuda.synchronize()  # the barriers' signals must be zero before another GPU sees them
    return Room(memory, symmetric.rendezvous(memory, group))


Exchange = Messages | PeerMemory
KINDS = ("messages", "peer memory")
_peer_memory: WeakKeyDictionary[ProcessGroup, PeerMemory] = WeakKeyDictionary()
_one_host: WeakKeyDictionary[ProcessGroup, bool] = WeakKeyDictionary()


def exchange_of(group: ProcessGroup, kind: str | None = None) -> Exchange:
    """Returns the exchange of a group, the same for all of its processes.

    kind: "messages" or "peer memory"; if None, peer memory where all GPUs can read each other
    """
    if kind == "messages" or (kind is None and not one_host(group)):
        return Messages(group)
    if group not in _peer_memory:
        _peer_memory[group] = PeerMemory(group)
    return _peer_memory[group]


def one_host(group: ProcessGroup) -> bool:
    """Returns whether each process has its own GPU, and can read those of all others.

    All processes get the same answer, because each asks the others.
    """
    if group not in _one_host:
        mine = (
            socket.gethostname(),
            gpu_of(torch.cuda.current_device()) if torch.cuda.is_available() else None,
        )
        theirs = all_gather_objects(mine, group)
        hosts, gpus = zip(*theirs, strict=True)
        fits = None not in gpus and len(set(hosts)) == 1 and len(set(gpus)) == len(gpus)
        _one_host[group] = all(all_gather_objects(fits and all(map(readable, gpus)), group))
    return _one_host[group]


def gpu_of(index: int) -> str:
    """Returns a name of the GPU that is the same in every process."""
    return str(torch.cuda.get_device_properties(index).uuid)


def readable(gpu: str) -> bool:
    """Returns whether the current GPU is this one, or can read its memory."""
    here = torch.cuda.current_device()
    seen = {gpu_of(index): index for index in range(torch.cuda.device_count())}
    there = seen.get(gpu)
    return there is not None and (
        there == here or torch.cuda.can_device_access_peer(here, there)
    )
