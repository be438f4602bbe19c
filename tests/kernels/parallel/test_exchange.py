"""What a GPU offers others read whole, however late one of them is, and a graph keeps the memory that it was made with.

A GPU is a thread here, and its stream is the order in which the thread does things.  So this tests the order of
barriers, writes and reads, without a GPU; tests/kernels/parallel/test_graphs.py has the same of GPUs.
"""

import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from functools import partial
from types import SimpleNamespace

import pytest
import torch

from kernels.parallel import exchange, host_agreement
from kernels.parallel.exchange import GRADIENTS, KEYS, PeerMemory, Room
from kernels.parallel.order import CallOptions, shard, unshard
from kernels.parallel.ring_attention import RingAttention
from kernels.reference import attention

LATE = 0.2  # seconds
HERE = threading.local()  # the GPU of this thread


class Gpu:
    """One of several threads, and the group of all of them.

    to_read, to_write: seconds that pass between its being allowed to and its doing so
    without: 0 if all leave out the barrier before they write, 1 if they leave out the one behind it
    """

    def __init__(self, rank, together, to_read=0.0, to_write=0.0, without=None):
        self.rank, self.together, self.barrier = rank, together, together[0]
        self.to_read, self.to_write, self.without = to_read, to_write, without
        self.capturing, self.mapped, self.met = False, [], 0

    def size(self):
        return len(self.together) - 1


class Handle:
    def __init__(self, gpu, number):
        self.gpu, self.number = gpu, number

    def barrier(self, timeout_ms):
        gpu, number = self.gpu, self.gpu.met % 2
        gpu.met += 1
        if number != gpu.without:
            gpu.barrier.wait()
        time.sleep(gpu.to_write if number == 0 else 0.0)

    def get_buffer(self, rank, shape, dtype):
        memory = self.gpu.together[1 + rank].mapped[self.number]()
        return memory.view(dtype)[: shape.numel()].view(shape)


class Stream:
    def wait_stream(self, other):
        time.sleep(HERE.gpu.to_read)

    def record_event(self):
        return None

    def wait_event(self, event):
        assert event is None


CUDA = SimpleNamespace(
    Stream=Stream,
    current_stream=Stream,
    stream=lambda stream: nullcontext(),
    synchronize=lambda: None,
    is_initialized=lambda: True,
    is_current_stream_capturing=lambda: HERE.gpu.capturing,
)
DIST = SimpleNamespace(get_rank=lambda gpu: gpu.rank, barrier=lambda gpu: gpu.barrier.wait())


class Torch:
    """torch, but for its GPUs."""

    cuda = CUDA

    def __getattr__(self, name):
        return getattr(torch, name)


def mapped(size, gpu):
    memory = torch.zeros(size, dtype=torch.uint8)
    gpu.mapped.append(weakref.ref(memory))
    gpu.barrier.wait()
    return Room(memory, Handle(gpu, len(gpu.mapped) - 1))


@pytest.fixture
def run(monkeypatch):
    """Has each of some GPUs run a function; the second is the one with these habits."""
    monkeypatch.setattr(exchange, "torch", Torch())
    monkeypatch.setattr(host_agreement, "torch", Torch())
    monkeypatch.setattr(exchange, "dist", DIST)
    monkeypatch.setattr(exchange, "mapped", mapped)

    def runs(function, count=1, without=None, **habits):
        together = [threading.Barrier(count, timeout=30)]
        together += [Gpu(rank, together, without=without, **habits if rank == 1 else {}) for rank in range(count)]

        def on(gpu):
            HERE.gpu = gpu
            return function(gpu)

        with ThreadPoolExecutor(count) as threads:
            return list(threads.map(on, together[1:]))

    return runs


ROOMS = (KEYS, KEYS, GRADIENTS, GRADIENTS, KEYS)  # twice in a row: an offer in another room is a meeting, too


def what_neighbours_find(gpu):
    """Of each offer, in these rooms, the numbers that the GPU one place before had offered, in both tensors."""
    peers, found = PeerMemory(gpu), []
    for number, room in enumerate(ROOMS):
        mine = torch.full((1, 1, 2, 4), 10.0 * number + gpu.rank)
        take = peers.offer(mine, -mine, room=room, most=mine.numel())
        parts = take(1, mine.shape).arrived()
        found.append((parts[0].unique().tolist(), parts[1].unique().tolist()))
    gpu.barrier.wait()  # its memory goes when it returns
    return found


def wanted(rank, count):
    numbers = [10.0 * number + (rank - 1) % count for number in range(len(ROOMS))]
    return [([number], [-number]) for number in numbers]


@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("habits", [{"to_read": LATE}, {"to_write": LATE}], ids=["to read", "to write"])
def test_a_gpu_that_is_late_finds_and_leaves_the_right_numbers(run, habits, count):
    assert run(what_neighbours_find, count, **habits) == [wanted(rank, count) for rank in range(count)]


@pytest.mark.parametrize("without, habits", [(0, {"to_read": LATE}), (1, {"to_write": LATE})], ids=["before", "behind"])
def test_without_either_barrier_it_would_not(run, without, habits):
    assert run(what_neighbours_find, 2, without, **habits) != [wanted(rank, 2) for rank in range(2)]


def test_a_part_is_taken_that_is_smaller_than_the_most(run):
    """As gradients are in zigzag order: one GPU offers a half and takes a whole, another the other way round."""
    offered = []  # for as long as the other may take

    def offer(gpu):
        rows = 2 + 2 * gpu.rank
        offered.append(PeerMemory(gpu))
        take = offered[-1].offer(*torch.ones(2, 1, 1, rows, 4).bfloat16(), room=GRADIENTS, most=16)
        return take(1, (1, 1, 6 - rows, 4)).arrived().sum().item()

    assert run(offer, 2) == [32, 16]


def test_nothing_offered_and_nothing_taken(run):
    def offer(gpu):
        nothing = torch.ones(1, 1, 0, 4)
        return PeerMemory(gpu).offer(nothing, nothing, room=KEYS, most=16)(1, nothing.shape).arrived().shape

    assert run(offer, 2) == [(2, 1, 1, 0, 4)] * 2


@pytest.mark.parametrize("dtype, close", [(torch.float32, 1e-5), (torch.bfloat16, 0.02)], ids=["fp32", "bf16"])
@pytest.mark.parametrize("order", ["zigzag", "contiguous"])
@pytest.mark.parametrize("count", [2, 4])
def test_a_ring_by_it_is_attention(run, count, order, dtype, close):
    """Two calls in a row; by the formulas gradients are FP32, which their room must have been reserved for."""
    whole = torch.randn(4, 1, 2, 8 * count, 4).to(dtype)
    options = CallOptions(True, 0.5, order)

    def passes(form, x):
        q, k, v = inputs = [each.clone().requires_grad_() for each in x[:3]]
        out = form(q, k, v)
        return [out.detach(), *torch.autograd.grad(out, inputs, x[3])]

    def ring(gpu):
        peers = PeerMemory(gpu)
        mine = [shard(x, gpu.rank, count, order=order) for x in whole]
        found = [passes(lambda q, k, v: RingAttention.apply(q, k, v, peers, options), mine) for _ in range(2)]
        gpu.barrier.wait()  # its memory goes when it returns
        assert all(map(torch.equal, *found))
        return found[0]

    truth = passes(partial(attention, is_causal=True, scale=0.5), whole.double())
    for found, wanted in zip(zip(*run(ring, count, to_read=LATE / 20), strict=True), truth, strict=True):
        error = unshard(list(found), order=order).double() - wanted
        assert error.norm() <= close * wanted.norm()


# Memory.


def offered(peers, tokens):
    peers.offer(*torch.ones(2, 1, 1, tokens, 4), room=KEYS, most=4 * tokens)


def test_a_room_grows_and_is_used_again(run):
    def offer(gpu):
        peers = PeerMemory(gpu)
        for tokens in (8, 4, 64, 64, 8):
            offered(peers, tokens)
        return [memory() is not None for memory in gpu.mapped]

    assert run(offer) == [[False, True]]


def test_memory_of_a_graph_stays(run):
    def offer(gpu):
        peers = PeerMemory(gpu)
        offered(peers, 8)
        gpu.capturing = True
        offered(peers, 8)
        gpu.capturing = False
        for tokens in (64, 128):
            offered(peers, tokens)
        return [memory() is not None for memory in gpu.mapped]

    assert run(offer) == [[True, False, True]]


def test_none_is_mapped_in_a_capture(run):
    def offer(gpu):
        peers = PeerMemory(gpu)
        for before in (0, 1):
            gpu.capturing = True
            with pytest.raises(
                RuntimeError, match=r"a CUDA graph is being captured of a call, .* once before, on every"
            ):
                offered(peers, 64)
            assert (len(gpu.mapped), gpu.met) == (before, 2 * before)
            gpu.capturing = False
            offered(peers, 8)
        return True

    assert run(offer) == [True]
