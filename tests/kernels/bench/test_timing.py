"""A time is a median between its percentiles, in milliseconds, of what it says that it times."""

from functools import partial
from time import sleep

import pytest
import torch
import triton.testing

from kernels.bench.timing import as_cuda_graph, device_time, host_time, time_attention, wall_time
from kernels.reference import attention


def test_a_time_is_a_median_between_its_percentiles(device):
    small, large = (torch.randn(n, n, device=device) for n in (16, 1024))
    short, long = device_time(lambda: small @ small), device_time(lambda: large @ large)
    assert 0 < short.low <= short.median <= short.high
    assert long.median > short.median


@pytest.mark.parametrize("clock", [device_time, wall_time])
def test_a_time_is_in_milliseconds(clock):
    assert 10 <= clock(lambda: sleep(0.01)).median < 100


@pytest.mark.parametrize("clock", [device_time, wall_time])
def test_a_shorter_time_calls_less_often(clock):
    calls = []
    clock(lambda: (sleep(0.002), calls.append("short")), milliseconds=10)
    clock(lambda: (sleep(0.002), calls.append("long")), milliseconds=400)
    assert 5 <= calls.count("short") < calls.count("long")


SHAPE = (1, 2, 40, 16)


def noting(calls, answer):
    """Attention that notes what it was given and whether autograd was on."""

    def attend(q, k, v, **options):
        grads = [tensor.requires_grad for tensor in (q, k, v)]
        calls.append((torch.is_grad_enabled(), grads, options))
        return answer(q, k, v, **options)

    return attend


def test_forward_is_timed_without_autograd():
    calls = []
    q, k, v = torch.randn(3, *SHAPE)
    q.requires_grad_()
    spent = time_attention(noting(calls, attention), q, k, v, is_causal=True, milliseconds=10)
    assert 0 < spent.low <= spent.median <= spent.high
    assert len(calls) > 5 and all(call == (False, [False] * 3, {"is_causal": True}) for call in calls)


def test_of_a_backward_pass_the_forward_is_no_part():
    calls, backwards = [], []

    def answer(q, k, v):
        out = attention(q, k, v)
        out.register_hook(lambda dout: backwards.append(dout.clone()))
        return out

    q, k, v, dout = torch.randn(4, *SHAPE)
    with torch.no_grad():  # wherever it is called from
        time_attention(noting(calls, answer), q, k, v, dout, milliseconds=10)
    assert calls == [(True, [True] * 3, {})]
    assert len(backwards) > 5 and all(torch.equal(arrived, dout) for arrived in backwards)
    assert not q.requires_grad and q.grad is None


def test_on_a_gpu_do_bench_takes_the_time(monkeypatch):
    calls = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(triton.testing, "do_bench", lambda *call, **options: calls.append((call, options)) or [2, 1, 3])
    assert device_time(sleep, milliseconds=40) == (2, 1, 3)
    assert calls == [((sleep,), {"rep": 40, "quantiles": [0.5, 0.2, 0.8]})]


@pytest.mark.gpu
def test_a_wall_time_waits_for_the_gpu():
    assert wall_time(lambda: torch.cuda._sleep(10**7)).median > 2  # 10⁷ clocks at 2 GHz are 5 ms


def test_the_host_does_not_wait_for_the_gpu(monkeypatch):
    """What was begun before is waited for, and so is the end of the calls, but not each of them."""
    waited = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: [sleep(0.05), waited.append(len(called))])
    called = []
    returned, done = host_time(lambda: [sleep(0.01), called.append(1)], calls=5)
    assert waited == [0, 5] and 10 <= returned < done - 8


# A call as a CUDA graph.


@pytest.mark.gpu
def test_a_replay_computes_again(device):
    x, y = torch.ones(5, device=device), torch.empty(5, device=device)
    calls = []

    def double():
        calls.append(1)
        torch.mul(x, 2, out=y)

    replay = as_cuda_graph(double)
    x.fill_(3)
    y.zero_()
    replay()
    assert y.eq(6).all() and len(calls) == 2


@pytest.mark.gpu
def test_a_graph_keeps_what_it_reads():
    x = torch.full((1 << 20,), 2.0, device="cuda")
    result = torch.empty_like(x)
    replay = as_cuda_graph(partial(torch.add, x, 1, out=result))
    del x
    torch.full((1 << 20,), 5.0, device="cuda")  # takes the memory if it is free
    replay()
    assert (result == 3).all()


def test_without_a_gpu_it_says_so(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(RuntimeError, match="as_cuda_graph needs a GPU"):
        as_cuda_graph(lambda: pytest.fail("called"))
