"""The forms that are timed are attention, and what is told of their times is the median."""

import pytest
import torch

from kernels.bench.parallel import forms as many_gpus
from kernels.bench.parallel.forms import (
    FORMS,
    context_for,
    forms_on,
    make_call,
    output_and_grads,
    rounded_median,
    single_gpu,
)
from kernels.reference import attention


def test_one_gpu_with_the_whole_sequence_is_attention():
    q, k, v, dout = torch.randn(4, 1, 2, 12, 8)
    found = output_and_grads(single_gpu, q, k, v, dout)
    truth = output_and_grads(lambda *qkv: attention(*qkv, is_causal=True), q, k, v, dout)
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
    make_call(form, q, k, v)()
    make_call(form, q, k, v, dout)()
    assert wanted == [False, True]
    with context_for(form):
        pass  # nothing about any form but PyTorch's


def test_a_comparison_has_medians_and_percentages_of_the_ideal(monkeypatch):
    times = {"slow": [4.0, 5.0, 6.0], "fast": [2.0, 2.5, 3.0], "single": [4.0, 5.0, 6.0]}
    monkeypatch.setattr(many_gpus, "time_in_rounds", lambda forms, **_: {name: list(times[name]) for name in forms})
    monkeypatch.setattr(many_gpus.dist, "get_world_size", lambda: 2)
    found = many_gpus.compare_with_single_gpu({"slow": None, "fast": None}, None, count=3, repeat=1)
    assert found["slow"] == {"median": 5.0, "ideal": 2.5, "percent": 50.0, "low": 50.0, "high": 50.0}
    assert found["fast"]["percent"] == 100.0
    shared = many_gpus.compare_with_single_gpu({"slow": None}, None, count=3, repeat=1, parts=2)
    assert (shared["slow"]["ideal"], shared["slow"]["percent"]) == (5.0, 100.0)


@pytest.mark.parametrize("times, wanted", [([3.0], 3.0), ([1.0, 9.0, 2.0], 2.0), ([1.23456], 1.235)])
def test_the_rounded_median(times, wanted):
    assert rounded_median(times) == wanted
