"""The forms that are timed are attention, and what is told of their times is the median."""

import pytest
import torch

from kernels.bench.parallel import forms as many_gpus
from kernels.bench.parallel.forms import FORMS, call, forms_on, middle, on_one, passes, surroundings
from kernels.reference import attention


def test_one_gpu_with_the_whole_sequence_is_attention():
    q, k, v, dout = torch.randn(4, 1, 2, 12, 8)
    found = passes(on_one, q, k, v, dout)
    truth = passes(lambda *qkv: attention(*qkv, is_causal=True), q, k, v, dout)
    torch.testing.assert_close(found, truth)


def test_a_cpu_has_the_forms_that_need_no_gpu():
    assert [*forms_on(torch.device("cpu"))] == ["ring, messages", "all-gather", "all-to-all"]
    assert forms_on(torch.device("cuda")) == FORMS


def test_a_call_goes_back_only_where_a_gradient_comes_from_above(monkeypatch):
    wanted = []

    def form(q, k, v):
        wanted.append(q.requires_grad)
        return q * k * v

    q, k, v, dout = torch.randn(4, 3)
    call(form, q, k, v)()
    call(form, q, k, v, dout)()
    assert wanted == [False, True]
    with surroundings(form):
        pass  # nothing about any form but PyTorch's


def test_beside_one_tells_medians_and_the_share_of_the_ideal(monkeypatch):
    times = {"slow": [4.0, 5.0, 6.0], "fast": [2.0, 2.5, 3.0], "one": [4.0, 5.0, 6.0]}
    monkeypatch.setattr(many_gpus, "rounds", lambda forms, **_: {name: list(times[name]) for name in forms})
    monkeypatch.setattr(many_gpus.dist, "get_world_size", lambda: 2)
    found = many_gpus.beside_one({"slow": None, "fast": None}, None, count=3, repeat=1)
    assert found["slow"] == {"median": 5.0, "ideal": 2.5, "percent": 50.0, "low": 50.0, "high": 50.0}
    assert found["fast"]["percent"] == 100.0
    shared = many_gpus.beside_one({"slow": None}, None, count=3, repeat=1, share=2)
    assert (shared["slow"]["ideal"], shared["slow"]["percent"]) == (5.0, 100.0)


@pytest.mark.parametrize("times, wanted", [([3.0], 3.0), ([1.0, 9.0, 2.0], 2.0), ([1.23456], 1.235)])
def test_the_middle(times, wanted):
    assert middle(times) == wanted
