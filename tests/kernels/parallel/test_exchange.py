"""All GPUs read whole what one publishes, however late one of them is; a CUDA graph keeps the memory it captured.

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
from kernels.parallel.exchange import GRADIENTS, KEYS, PeerMemory, SymmetricBuffer
from kernels.parallel.order import CallOptions, shard, unshard
from kernels.parallel.ring_attention import RingAttention
from kernels.reference import attention

DELAY_SECONDS = 0.2
THIS_THREAD = threading.local()  # its attribute gpu is the one that this thread plays


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
        time.sleep(THIS_THREAD.gpu.to_read)

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
    is_current_stream_capturing=lambda: THIS_THREAD.gpu.capturing,
)
DIST = SimpleNamespace(get_rank=lambda gpu: gpu.rank, barrier=lambda gpu: gpu.barrier.wait())


class Torch:
    """torch, but for its GPUs."""

    cuda = CUDA

    def __getattr__(self, name):
        return getattr(torch, name)


def allocate_symmetric(size, gpu):
    memory = torch.zeros(size, dtype=torch.uint8)
    gpu.mapped.append(weakref.ref(memory))
    gpu.barrier.wait()
    return SymmetricBuffer(memory, Handle(gpu, len(gpu.mapped) - 1))


@pytest.fixture
def run(monkeypatch):
    """Has each of some GPUs run a function; the second is the one with these habits."""
    monkeypatch.setattr(exchange, "torch", Torch())
    monkeypatch.setattr(host_agreement, "torch", Torch())
    monkeypatch.setattr(exchange, "dist", DIST)
    monkeypatch.setattr(exchange, "allocate_symmetric", allocate_symmetric)

    def runs(function, count=1, without=None, **habits):
        barrier_and_gpus = [threading.Barrier(count, timeout=30)]
        barrier_and_gpus += [
            Gpu(rank, barrier_and_gpus, without=without, **habits if rank == 1 else {}) for rank in range(count)
        ]

        def on(gpu):
            THIS_THREAD.gpu = gpu
            return function(gpu)

        with ThreadPoolExecutor(count) as threads:
            return list(threads.map(on, barrier_and_gpus[1:]))

    return runs


SLOTS = (KEYS, KEYS, GRADIENTS, GRADIENTS, KEYS)  # twice in a row: to publish in another slot is to meet, too


def what_neighbours_find(gpu):
    """Each time, in these slots, the numbers that the GPU one rank before had published, in both tensors."""
    peers, received = PeerMemory(gpu), []
    for number, slot in enumerate(SLOTS):
        sent = torch.full((1, 1, 2, 4), 10.0 * number + gpu.rank)
        fetch = peers.publish(sent, -sent, slot=slot, max_numel=sent.numel())
        parts = fetch(1, sent.shape).result()
        received.append((parts[0].unique().tolist(), parts[1].unique().tolist()))
    gpu.barrier.wait()  # its memory goes when it returns
    return received


def wanted(rank, count):
    numbers = [10.0 * number + (rank - 1) % count for number in range(len(SLOTS))]
    return [([number], [-number]) for number in numbers]


@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize(
    "habits", [{"to_read": DELAY_SECONDS}, {"to_write": DELAY_SECONDS}], ids=["to read", "to write"]
)
def test_a_gpu_that_is_late_finds_and_leaves_the_right_numbers(run, habits, count):
    assert run(what_neighbours_find, count, **habits) == [wanted(rank, count) for rank in range(count)]


@pytest.mark.parametrize(
    "without, habits", [(0, {"to_read": DELAY_SECONDS}), (1, {"to_write": DELAY_SECONDS})], ids=["before", "behind"]
)
def test_without_either_barrier_it_would_not(run, without, habits):
    assert run(what_neighbours_find, 2, without, **habits) != [wanted(rank, 2) for rank in range(2)]


def test_a_part_is_fetched_that_is_smaller_than_the_largest(run):
    """As gradients are in zigzag order: one GPU publishes a half and fetches a whole, another the other way round."""
    peers = []  # for as long as the other may fetch

    def on_gpu(gpu):
        rows = 2 + 2 * gpu.rank
        peers.append(PeerMemory(gpu))
        fetch = peers[-1].publish(*torch.ones(2, 1, 1, rows, 4).bfloat16(), slot=GRADIENTS, max_numel=16)
        return fetch(1, (1, 1, 6 - rows, 4)).result().sum().item()

    assert run(on_gpu, 2) == [32, 16]


def test_nothing_published_and_nothing_fetched(run):
    def on_gpu(gpu):
        nothing = torch.ones(1, 1, 0, 4)
        return PeerMemory(gpu).publish(nothing, nothing, slot=KEYS, max_numel=16)(1, nothing.shape).result().shape

    assert run(on_gpu, 2) == [(2, 1, 1, 0, 4)] * 2


@pytest.mark.parametrize("dtype, close", [(torch.float32, 1e-5), (torch.bfloat16, 0.02)], ids=["fp32", "bf16"])
@pytest.mark.parametrize("order", ["zigzag", "contiguous"])
@pytest.mark.parametrize("count", [2, 4])
def test_a_ring_by_it_is_attention(run, count, order, dtype, close):
    """Two calls in a row; by the formulas gradients are FP32, for which their buffer must have been reserved."""
    whole = torch.randn(4, 1, 2, 8 * count, 4).to(dtype)
    options = CallOptions(True, 0.5, order)

    def output_and_grads(form, x):
        q, k, v = inputs = [each.clone().requires_grad_() for each in x[:3]]
        out = form(q, k, v)
        return [out.detach(), *torch.autograd.grad(out, inputs, x[3])]

    def ring(gpu):
        peers = PeerMemory(gpu)
        own_parts = [shard(x, gpu.rank, count, order=order) for x in whole]
        results = [
            output_and_grads(lambda q, k, v: RingAttention.apply(q, k, v, peers, options), own_parts) for _ in range(2)
        ]
        gpu.barrier.wait()  # its memory goes when it returns
        assert all(map(torch.equal, *results))
        return results[0]

    truth = output_and_grads(partial(attention, is_causal=True, scale=0.5), whole.double())
    for results, wanted in zip(zip(*run(ring, count, to_read=DELAY_SECONDS / 20), strict=True), truth, strict=True):
        error = unshard(list(results), order=order).double() - wanted
        assert error.norm() <= close * wanted.norm()


# Memory.


def publish(peers, tokens):
    peers.publish(*torch.ones(2, 1, 1, tokens, 4), slot=KEYS, max_numel=4 * tokens)


def test_a_buffer_grows_and_is_used_again(run):
    def on_gpu(gpu):
        peers = PeerMemory(gpu)
        for tokens in (8, 4, 64, 64, 8):
            publish(peers, tokens)
        return [memory() is not None for memory in gpu.mapped]

    assert run(on_gpu) == [[False, True]]


def test_memory_of_a_graph_stays(run):
    def on_gpu(gpu):
        peers = PeerMemory(gpu)
        publish(peers, 8)
        gpu.capturing = True
        publish(peers, 8)
        gpu.capturing = False
        for tokens in (64, 128):
            publish(peers, tokens)
        return [memory() is not None for memory in gpu.mapped]

    assert run(on_gpu) == [[True, False, True]]


def test_none_is_mapped_in_a_capture(run):
    def on_gpu(gpu):
        peers = PeerMemory(gpu)
        for before in (0, 1):
            gpu.capturing = True
            with pytest.raises(
                RuntimeError, match=r"a CUDA graph is being captured of a call, .* once before, on every"
            ):
                publish(peers, 64)
            assert (len(gpu.mapped), gpu.met) == (before, 2 * before)
            gpu.capturing = False
            publish(peers, 8)
        return True

    assert run(on_gpu) == [True]
