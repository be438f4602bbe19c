"""What each process does for a test of CUDA graphs: a ring by peer memory, as a graph and not, on its own GPU."""

from contextlib import contextmanager

import torch
from torch import Tensor

from kernels.bench.timing import as_cuda_graph
from kernels.parallel.call import context_parallel_attention
from kernels.parallel.exchange import KEYS, exchange_of

CYCLES = 400_000_000  # 0.2 seconds at 2 GHz; what the other GPU does meanwhile takes a few thousandths


class LateStream(torch.cuda.Stream):
    """A stream that begins late whatever waits for another stream, in a graph as well."""

    def wait_stream(self, stream) -> None:
        super().wait_stream(stream)
        with torch.cuda.stream(self):
            torch.cuda._sleep(CYCLES)


@contextmanager
def fetching_late(group, late: bool):
    """Inside, this process fetches late from the others, if asked to."""
    exchange = exchange_of(group, "peer memory")
    own_stream = exchange.stream
    exchange.stream = LateStream() if late else own_stream
    try:
        yield
        torch.cuda.synchronize()
    finally:
        exchange.stream = own_stream


def inputs(rank, seed, tokens=64) -> list[Tensor]:
    """q, k, v and the gradient of the output, in FP32: its kernels add up in one order, bit for bit."""
    torch.manual_seed(100 * seed + rank)
    return [*torch.randn(4, 1, 4, tokens, 64, device="cuda")]


def ring(group, q, k, v, dout, backward) -> list[Tensor]:
    """The output, and the gradients of q, k and v."""
    q, k, v = (x.detach().requires_grad_(backward) for x in (q, k, v))
    out = context_parallel_attention(q, k, v, group=group, exchange="peer memory", is_causal=True)
    return [out.detach(), *(torch.autograd.grad(out, (q, k, v), dout) if backward else ())]


def all_equal(found: list[list[Tensor]], wanted: list[list[Tensor]]) -> bool:
    return all(torch.equal(*pair) for pairs in map(zip, found, wanted) for pair in pairs)


def replays_between_calls(rank, ranks, group, backward) -> bool:
    """Whether two replays, with other calls in between, give the same bits as by themselves; and so do those calls.

    The second process fetches late; the first is then already at what comes next, unless something keeps it.
    """
    first, second = (inputs(rank, seed) for seed in (1, 2))
    expected = [ring(group, *each, backward) for each in (first, second)]
    actual, graph_results = [], []
    with fetching_late(group, late=rank == 1):
        replay = as_cuda_graph(lambda: graph_results.append(ring(group, *first, backward)))
        for _ in range(2):
            replay()
            actual.append([x.clone() for x in graph_results[-1]])
            actual.append(ring(group, *second, backward))
    return all_equal(actual, 2 * expected)


def replay_after_growth(rank, ranks, group) -> bool:
    """Whether a graph of a short call gives what it gave before a long one, of 32,768 tokens a GPU."""
    short, long = inputs(rank, 3), inputs(rank, 4, tokens=1 << 15)
    expected, graph_results = ring(group, *short, True), []
    replay = as_cuda_graph(lambda: graph_results.append(ring(group, *short, True)))
    exchange = exchange_of(group, "peer memory")
    buffer = exchange.buffers[KEYS]
    ring(group, *long, True)
    has_grown = exchange.buffers[KEYS] is not buffer
    inputs(rank, 5, tokens=1 << 16)  # writes where memory is free
    replay()
    return has_grown and all_equal([graph_results[-1]], [expected])


def error_in_capture(function) -> str:
    torch.cuda.synchronize()
    try:
        with torch.cuda.graph(torch.cuda.CUDAGraph(), capture_error_mode="relaxed"):
            function()
    except RuntimeError as error:
        return str(error)
    return ""


def capture_of_an_unseen_shape(rank, ranks, group) -> str:
    """The error of a capture of a call whose shape is new."""
    unseen = inputs(rank, 6, tokens=22)
    return error_in_capture(lambda: ring(group, *unseen, False))


def capture_that_outgrows_the_buffer(rank, ranks, group) -> str:
    """The error of a capture that publishes longer tensors than any before."""
    ring(group, *inputs(rank, 7), False)
    exchange = exchange_of(group, "peer memory")
    size = exchange.buffers[KEYS].memory.numel()
    x = torch.ones(1, device="cuda")
    return error_in_capture(lambda: exchange.publish(x, x, slot=KEYS, max_numel=size))
