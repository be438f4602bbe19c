"""How rows of one GPU reach another: as messages, or by reading the other's memory.

    Messages      send and receive of torch.distributed: NCCL between GPUs, gloo between CPUs.
                  NCCL's copy is a kernel, and wants SMs while attention has them all.
    PeerMemory    GPUs of one host map each other's memory, and a copy engine, which is beside
                  the SMs, fetches what is wanted while they compute.

Both have one idea of an exchange.  Every GPU *offers* two tensors of one shape, in one of two
rooms, that of keys and values or that of gradients.  Then each may *take* what the GPU so many
places before it has offered there.  A take runs while something else is computed; its ``wait``
makes the stream wait for it (with gloo the host), and comes before the next offer in that room.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import NamedTuple
from weakref import WeakKeyDictionary

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed import P2POp, ProcessGroup


class Taken(NamedTuple):
    """Two tensors under way, [2, ...]; there once ``wait`` has been called."""

    buffer: Tensor
    wait: Callable[[], object]

    def arrived(self) -> Tensor:
        self.wait()
        return self.buffer


# Takes from the GPU so many places before mine; the shape of one of the two tensors there.
Take = Callable[[int, Sequence[int]], Taken]
KEYS, GRADIENTS = range(ROOMS := 2)


class Messages:
    """Each take is a send to one GPU and a receive from another, at the same time."""

    def __init__(self, group: ProcessGroup):
        self.group, self.rank, self.ranks = group, dist.get_rank(group), group.size()

    def reserve(self, size: int) -> None:
        """Nothing to do: what is sent is sent from where it is."""

    def offer(self, a: Tensor, b: Tensor, *, room: int) -> Take:
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


class PeerMemory:
    """Each take is a copy out of the other GPU's memory, by a copy engine, beside the stream.

    What is offered lies in memory that all GPUs of the group have mapped, in one of two places
    in turn.  A barrier says that all have offered.  It also makes the place that was used last
    but one free again, because each GPU had waited for what it took before it offered anew.
    """

    TIMEOUT = 60_000  # ms, after which a GPU that waits for another gives up with an error

    def __init__(self, group: ProcessGroup):
        self.rank, self.ranks = dist.get_rank(group), group.size()
        self.group = weakref.ref(group)  # which must not outlive its destruction
        self.stream = torch.cuda.Stream()
        self.size, self.turns = 0, [0] * ROOMS

    def reserve(self, size: int) -> None:
        """Two places a room for ``size`` bytes, the same on every GPU."""
        if size <= self.size:
            return
        import torch.distributed._symmetric_memory as symmetric

        torch.cuda.synchronize()  # nobody may still read the old one
        dist.barrier(self.group())
        self.size = -(-size // 512) * 512
        self.memory = symmetric.empty(2 * ROOMS, self.size, dtype=torch.uint8, device="cuda")
        self.handle = symmetric.rendezvous(self.memory, self.group())

    def offer(self, a: Tensor, b: Tensor, *, room: int) -> Take:
        self.turns[room] = turn = 1 - self.turns[room]
        place = (2 * room + turn) * self.size // a.element_size()
        mine = self.memory[2 * room + turn].view(a.dtype)[: 2 * a.numel()].view(2, *a.shape)
        if torch.cuda.is_current_stream_capturing():  # a graph has the same place every time
            self.handle.barrier(timeout_ms=self.TIMEOUT)
        mine[0].copy_(a)
        mine[1].copy_(b)
        self.handle.barrier(timeout_ms=self.TIMEOUT)

        def take(places: int, shape: Sequence[int]) -> Taken:
            buffer = a.new_empty(2, *shape)
            if not buffer.numel():
                return Taken(buffer, lambda: None)
            owner = (self.rank - places) % self.ranks
            theirs = self.handle.get_buffer(owner, buffer.shape, a.dtype, place)
            self.stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(self.stream):
                buffer.copy_(theirs)
                there = self.stream.record_event()
            return Taken(buffer, lambda: torch.cuda.current_stream().wait_event(there))

        return take


Exchange = Messages | PeerMemory
KINDS = ("messages", "peer memory")
_peer_memory: WeakKeyDictionary[ProcessGroup, PeerMemory] = WeakKeyDictionary()
_one_host: WeakKeyDictionary[ProcessGroup, bool] = WeakKeyDictionary()


def exchange_of(group: ProcessGroup, kind: str | None = None) -> Exchange:
    """The exchange of a group, the same for all of its processes.

    kind: "messages" or "peer memory"; None for the latter where all GPUs can read each other
    """
    if kind == "messages" or (kind is None and not one_host(group)):
        return Messages(group)
    if group not in _peer_memory:
        _peer_memory[group] = PeerMemory(group)
    return _peer_memory[group]


def one_host(group: ProcessGroup) -> bool:
    """Whether the group's processes have a GPU each, of one host, that can read the others'."""
    if group not in _one_host:
        import socket

        mine = (
            socket.gethostname(),
            torch.cuda.current_device() if torch.cuda.is_available() else None,
        )
        all_of_them: list = [None] * group.size()
        dist.all_gather_object(all_of_them, mine, group)
        hosts, devices = zip(*all_of_them, strict=True)
        _one_host[group] = (
            None not in devices
            and len(set(hosts)) == 1
            and len(set(devices)) == len(devices)
            and all(
                torch.cuda.can_device_access_peer(mine[1], x) for x in devices if x != mine[1]
            )
        )
    return _one_host[group]
