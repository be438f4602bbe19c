"""Each form that is timed computes attention and its gradients; the times of both passes of a round are added up."""

import sys
from contextlib import nullcontext
from types import ModuleType

import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from kernels.bench import forward_backward
from kernels.bench.forward_backward import (
    Form,
    errors_of,
    flash_attention_4,
    forms,
    in_layout_of,
    time_implementations,
    timed_calls,
)
from kernels.reference import attention, oracle


def reference_backward(q, k, v, dout, is_causal):
    leaves = [x.detach().requires_grad_() for x in (q, k, v)]
    return lambda: torch.autograd.grad(attention(*leaves, is_causal=is_causal), leaves, dout)


RIGHT = Form(attention, reference_backward)


def fake_flash_attn_4(order=(0, 1, 2)):
    """A package like flash-attn-4, in plain PyTorch: its tensors are [batch, N, heads, head_dim]."""
    interface = ModuleType("flash_attn.cute.interface")

    def flash_attn_func(q, k, v, *, causal, return_lse=False):
        assert all(x.is_contiguous() for x in (q, k, v)), "it would be slower than it is"
        out = attention(*(x.transpose(1, 2) for x in (q, k, v)), is_causal=causal).transpose(1, 2)
        return out.contiguous(), "lse"

    def backward(q, k, v, out, dout, lse, scale, causal):
        assert (lse, scale) == ("lse", None) and out.shape == dout.shape and dout.is_contiguous()
        gradients = reference_backward(*(x.transpose(1, 2) for x in (q, k, v, dout)), causal)()
        return [gradients[place].transpose(1, 2) for place in order]

    interface.flash_attn_func, interface._flash_attn_bwd = flash_attn_func, backward
    return interface


@pytest.fixture
def package(monkeypatch):
    def put(interface):
        for name in ("flash_attn", "flash_attn.cute"):
            monkeypatch.setitem(sys.modules, name, ModuleType(name))
        monkeypatch.setitem(sys.modules, "flash_attn.cute.interface", interface)

    return put


@pytest.fixture
def on_a_cpu(monkeypatch):
    """Graphs are plain calls, and a clock and a power are made up."""
    monkeypatch.setattr(forward_backward, "as_cuda_graph", lambda function: function)
    monkeypatch.setattr(forward_backward, "sdpa_kernel", lambda backend: nullcontext())
    monkeypatch.setattr(forward_backward, "clock_and_power", lambda: (1500.0, 400.0))


def qkv_dout(n=6):
    return torch.randn(4, 2, 3, n, 8, dtype=torch.float64)


def check_form(name, form, given, is_causal):
    q, k, v, dout = in_layout_of(name, *given)
    leaves = [x.detach().requires_grad_() for x in given[:3]]
    expected_output = oracle(*leaves, is_causal=is_causal)
    expected_gradients = torch.autograd.grad(expected_output, leaves, given[3])
    torch.testing.assert_close(form.attention(q, k, v, is_causal=is_causal), expected_output.detach())
    actual_gradients = form.backward(q, k, v, dout, is_causal)()
    assert len(actual_gradients) == 3
    for actual, expected in zip(actual_gradients, expected_gradients, strict=True):
        torch.testing.assert_close(actual, expected)


@pytest.mark.parametrize("is_causal", [False, True])
def test_flash_attention_4_is_attention_in_its_own_layout(package, is_causal):
    package(fake_flash_attn_4())
    check_form("flash_attention_4", flash_attention_4(), qkv_dout(), is_causal)


def test_gradients_in_another_order_are_noticed(package):
    package(fake_flash_attn_4(order=(1, 0, 2)))
    with pytest.raises(AssertionError):
        check_form("flash_attention_4", flash_attention_4(), qkv_dout(), False)


def test_flash_attention_4_is_left_out_where_it_is_not_installed(monkeypatch):
    monkeypatch.setitem(sys.modules, "flash_attn", None)
    assert flash_attention_4() is None
    assert list(forms()) == ["hopper_attention", "flash_attention", "sdpa_cudnn"]


def test_flash_attention_4_is_among_the_forms_where_it_is_installed(package):
    package(fake_flash_attn_4())
    assert list(forms())[-1] == "flash_attention_4"


def test_a_form_reads_its_tensors_in_its_order():
    (x,) = in_layout_of("hopper_attention", torch.randn(2, 3, 4, 5).transpose(2, 3))
    (y,) = in_layout_of("flash_attention_4", x)
    assert x.is_contiguous() and y.transpose(1, 2).is_contiguous() and torch.equal(x, y)


@pytest.mark.parametrize("is_causal", [False, True])
def test_graph_and_call_compute_the_same(on_a_cpu, is_causal):
    tensors = qkv_dout()
    calls = timed_calls("reference", RIGHT, *tensors, is_causal)
    assert [key[1:] for key in calls] == [(x, y) for x in ("forward", "backward") for y in ("graph", "eager")]
    results = {key: call() for key, call in calls.items()}
    for direction in ("forward", "backward"):
        for graph, eager in zip(
            results["reference", direction, "graph"], results["reference", direction, "eager"], strict=True
        ):
            torch.testing.assert_close(graph, eager)


def test_errors_are_those_of_output_and_gradients(on_a_cpu, monkeypatch):
    def wrong(q, k, v, dout, is_causal):
        dq, dk, dv = reference_backward(q, k, v, dout, is_causal)()
        return lambda: (dq, 1.25 * dk, dv)

    tested_forms = {"right": RIGHT, "wrong": Form(attention, wrong)}
    monkeypatch.setattr(forward_backward, "forms", lambda: tested_forms)
    errors = errors_of(*qkv_dout(), True)
    assert max(errors["right"]) < 1e-12
    assert errors["wrong"] == pytest.approx([0, 0, 0.25, 0], abs=1e-12)


@pytest.fixture
def noted_rounds(monkeypatch):
    """Replaces the rounds: the i-th form, from 1, takes i ms in each. Returns what they were called with."""
    requested = {}

    def time_in_rounds(timed, *, count, seed):
        requested.update(count=count, seed=seed, names=list(timed))
        for call in timed.values():
            for _ in range(2 + count):
                call()
        return {name: [float(number + 1)] * count for number, name in enumerate(timed)}

    monkeypatch.setattr(forward_backward, "time_in_rounds", time_in_rounds)
    monkeypatch.setattr(forward_backward, "forms", lambda: {"reference": RIGHT})
    return requested


def test_times_are_of_one_call_and_both_is_their_sum(on_a_cpu, noted_rounds, monkeypatch):
    # 3 · 2 · 4 · 6 · 6 · 8 FLOP forward, 2.5 times as many backward: 4 and 2 calls.
    monkeypatch.setattr(forward_backward, "MIN_FLOPS", 4 * 6912)
    times, readings = time_implementations(*qkv_dout(), False, count=3, seed=7)
    assert (noted_rounds["count"], noted_rounds["seed"], len(noted_rounds["names"])) == (3, 7, 5)
    assert times == {
        ("reference", "forward", "graph"): [0.25] * 3,
        ("reference", "forward", "eager"): [0.5] * 3,
        ("reference", "backward", "graph"): [1.5] * 3,
        ("reference", "backward", "eager"): [2.0] * 3,
        ("reference", "both", "graph"): [1.75] * 3,
        ("reference", "both", "eager"): [2.5] * 3,
    }
    assert readings == [(1500.0, 400.0)] * 3  # and not those of the calls before the rounds


@pytest.mark.gpu
@pytest.mark.parametrize("is_causal", [False, True])
def test_on_hopper_every_form_is_right_and_is_timed(is_causal):
    if torch.cuda.get_device_capability() != (9, 0):
        pytest.skip("needs a Hopper GPU")
    pytest.importorskip("pynvml", reason="needs nvidia-ml-py, by which PyTorch asks NVML")
    q, k, v, dout = torch.randn(4, 1, 4, 512, 64, device="cuda", dtype=torch.bfloat16)
    assert max(max(errors) for errors in errors_of(q, k, v, dout, is_causal).values()) < 0.01
    times, readings = time_implementations(q, k, v, dout, is_causal, count=2)
    assert {way[0] for way in times} == set(forms()) and min(min(each) for each in times.values()) > 0
    assert all(100 < clock < 3000 and 10 < power < 2000 for clock, power in readings)


@pytest.mark.gpu
def test_the_peer_by_its_operators_is_the_peer(seeded):
    q, k, v, dout = torch.randn(4, 1, 2, 256, 64, device="cuda", dtype=torch.bfloat16)
    leaves = [x.detach().requires_grad_() for x in (q, k, v)]
    with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
        out = forms()["sdpa_cudnn"].attention(*leaves, is_causal=True)
        expected = torch.autograd.grad(out, leaves, dout)
    for gradient, expected_gradient in zip(
        forms()["sdpa_cudnn"].backward(q, k, v, dout, True)(), expected, strict=True
    ):
        torch.testing.assert_close(gradient, expected_gradient, atol=1e-2, rtol=1e-2)
