"""Moves rows from one GPU to another: as messages, or by reading the other's memory.

    Messages      uses send and receive of torch.distributed: NCCL between GPUs, gloo between
                  CPUs.  NCCL's copy is a kernel, and needs SMs while attention has them all.
    PeerMemory    GPUs of one host map each other's memory, and a copy engine, which isn't part
                  of the SMs, fetches the rows while they compute.

Both exchange in the same way.  Every GPU *publishes* two tensors of one shape in one of two
slots, one for keys and values and one for gradients, and says how many elements one of them has
at most on any GPU.  Then each may *fetch* what the GPU ``offset`` ranks before it has published
there.  A fetch runs while the GPU computes something else.  Its ``wait`` makes the stream wait
for it (with gloo, the host), and must come before the next ``publish`` in that slot.
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


class PendingFetch(NamedTuple):
    """Two tensors on their way, [2, ...]; they have arrived after ``wait``."""

    buffer: Tensor
    wait: Callable[[], object]

    def result(self) -> Tensor:
        self.wait()
        return self.buffer


# Fetches from the GPU ``offset`` ranks before mine, given the shape of one of its two tensors.
Fetch = Callable[[int, Sequence[int]], PendingFetch]
KEYS, GRADIENTS = range(2)  # the slots


class Messages:
    """Exchanges by messages: a fetch sends to one GPU and receives from another, at once."""

    def __init__(self, group: ProcessGroup):
        self.group, self.rank, self.ranks = group, dist.get_rank(group), group.size()

    def publish(self, a: Tensor, b: Tensor, *, slot: int, max_numel: int) -> Fetch:
        """Returns the function that fetches.  Messages need no slot."""
        outgoing = torch.stack([a, b])

        def fetch(offset: int, shape: Sequence[int]) -> PendingFetch:
            buffer = outgoing.new_empty(2, *shape)
            dst, src = (self.rank + offset) % self.ranks, (self.rank - offset) % self.ranks
            transfers = [(dist.isend, outgoing, dst), (dist.irecv, buffer, src)]
            ops = [
                P2POp(op, x, group=self.group, group_peer=peer)
                for op, x, peer in transfers
                if x.numel()
            ]
            requests = dist.batch_isend_irecv(ops) if ops else []
            return PendingFetch(buffer, lambda: [request.wait() for request in requests])

        return fetch


@dataclass(eq=False)
class SymmetricBuffer:
    """Bytes that every GPU of a group has mapped, and a handle to those of the others."""

    memory: Tensor
    handle: object


class PeerMemory:
    """Exchanges by peer memory: a fetch copies from the other GPU, by a copy engine.

    A GPU writes what it publishes into memory that all GPUs of the group have mapped, one
    buffer for each slot.  A barrier before it writes makes sure that all are done with what was
    published there before, since each GPU has waited for what it fetched.  A barrier after it
    makes sure that all have published.  Neither depends on earlier calls, so CUDA graphs of
    calls and other calls may follow one another in any order on one stream.
    """

    TIMEOUT = 60_000  # ms, after which a GPU that waits for another gives up with an error

    def __init__(self, group: ProcessGroup):
        self.rank, self.ranks = dist.get_rank(group), group.size()
        self.group = weakref.ref(group)  # weak, so that we don't keep the group alive
        self.stream = torch.cuda.Stream()
        self.buffers: dict[int, SymmetricBuffer] = {}  # by their slots
        # A graph may be replayed after one of its buffers has grown.
        self.captured: set[SymmetricBuffer] = set()

    def publish(self, a: Tensor, b: Tensor, *, slot: int, max_numel: int) -> Fetch:
        published = self.reserve(slot, 2 * max_numel * a.element_size())
        own_memory = published.memory.view(a.dtype)[: 2 * a.numel()].view(2, *a.shape)
        published.handle.barrier(timeout_ms=self.TIMEOUT)  # nobody reads here any more
        torch.stack([a, b], out=own_memory)
        published.handle.barrier(timeout_ms=self.TIMEOUT)  # everybody has written

        def fetch(offset: int, shape: Sequence[int]) -> PendingFetch:
            buffer = a.new_empty(2, *shape)
            if not buffer.numel():
                return PendingFetch(buffer, lambda: None)
            owner = (self.rank - offset) % self.ranks
            peer_memory = published.handle.get_buffer(owner, buffer.shape, a.dtype)
            self.stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(self.stream):
                buffer.copy_(peer_memory)
                event = self.stream.record_event()
            return PendingFetch(buffer, lambda: torch.cuda.current_stream().wait_event(event))

        return fetch

    def reserve(self, slot: int, size: int) -> SymmetricBuffer:
        """Returns a slot's buffer, of at least so many bytes.

        All GPUs ask alike, so it grows on all.
        """
        buffer = self.buffers.get(slot)
        if buffer is None or buffer.memory.numel() < size:
            refuse_capture("memory that it offers to other GPUs is to be mapped first")
            if buffer is not None:
                torch.cuda.synchronize()
                dist.barrier(self.group())  # nobody may still read the old one
                del buffer, self.buffers[slot]
            buffer = self.buffers[slot] = allocate_symmetric(size, self.group())
        if torch.cuda.is_current_stream_capturing():
            self.captured.add(buffer)
        return buffer


def allocate_symmetric(size: int, group: ProcessGroup) -> SymmetricBuffer:
    """Allocates at least so many bytes that all GPUs of a group map; all call it together."""
    import torch.distributed._symmetric_memory as symmetric

    size = -(-size // 512) * 512
    device = torch.device("cuda", torch.cuda.current_device())
    # ``symmetric.empty`` would cut it from a pool.  If one GPU alone had freed a piece, the
    # next one would be at another place there than on the others.
    allocate = symmetric._SymmetricMemory.empty_strided_p2p
    memory = allocate((size,), (1,), torch.uint8, device)
    torch.cuda.synchronize()  # the barriers' signals must be zero before another GPU sees them
    return SymmetricBuffer(memory, symmetric.rendezvous(memory, group))


Exchange = Messages | PeerMemory
EXCHANGES = ("messages", "peer memory")
_peer_memory: WeakKeyDictionary[ProcessGroup, PeerMemory] = WeakKeyDictionary()
_can_use_peer_memory: WeakKeyDictionary[ProcessGroup, bool] = WeakKeyDictionary()


def exchange_of(group: ProcessGroup, kind: str | None = None) -> Exchange:
    """Returns the exchange of a group, the same for all of its processes.

    kind: "messages" or "peer memory"; if None, peer memory where all GPUs can read each other
    """
    if kind == "messages" or (kind is None and not can_use_peer_memory(group)):
        return Messages(group)
    if group not in _peer_memory:
        _peer_memory[group] = PeerMemory(group)
    return _peer_memory[group]


def can_use_peer_memory(group: ProcessGroup) -> bool:
    """Returns whether each process has its own GPU, and can read those of all others.

    All processes get the same answer, because each asks the others.
    """
    if group not in _can_use_peer_memory:
        own_gpu = (
            socket.gethostname(),
            gpu_uuid(torch.cuda.current_device()) if torch.cuda.is_available() else None,
        )
        all_gpus = all_gather_objects(own_gpu, group)
        hosts, gpus = zip(*all_gpus, strict=True)
        fits = None not in gpus and len(set(hosts)) == 1 and len(set(gpus)) == len(gpus)
        can_read_all = fits and all(map(can_access_peer, gpus))
        _can_use_peer_memory[group] = all(all_gather_objects(can_read_all, group))
    return _can_use_peer_memory[group]


def gpu_uuid(index: int) -> str:
    """Returns the GPU's UUID, which is the same in every process."""
    return str(torch.cuda.get_device_properties(index).uuid)


def can_access_peer(gpu: str) -> bool:
    """Returns whether the current GPU is this one, or can read its memory."""
    own_index = torch.cuda.current_device()
    index_of_uuid = {gpu_uuid(index): index for index in range(torch.cuda.device_count())}
    peer_index = index_of_uuid.get(gpu)
    return peer_index is not None and (
        peer_index == own_index or torch.cuda.can_device_access_peer(own_index, peer_index)
    )
