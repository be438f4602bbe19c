"""hopper_attention has the gradients of its kernels, whoever asks for them: by the operator, or past it."""

from functools import partial

import pytest
import torch
from torch.func import vmap

from kernels.flash.attention import flash_attention
from kernels.flash.backward import backward as flash_gradients
from kernels.flash.forward import forward as flash_forward
from kernels.hopper import attention as forward_module
from kernels.hopper.attention import hopper_attention
from kernels.hopper.backward import gradients as backward_module
from kernels.hopper.plan import PLANS
from tests.kernels.error_budget import gradient_budget_used
from tests.kernels.flash.harness import CAUSAL, inputs, small_tiles
from tests.kernels.hopper.harness import BF16, FP16, HEAD_DIMS

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning", "ignore::FutureWarning")


# Which arguments and results meet: on any device, with the portable kernels in the place of those for Hopper.


@pytest.fixture
def portable(monkeypatch):
    """The orders in which gradients were added up, True for one order."""
    orders = []

    def launch(q, k, v, out, lse, is_causal, scale, plan, entry):
        for to, result in zip((out, lse), flash_forward(q, k, v, None, is_causal, scale), strict=True):
            if to is not None:
                to.copy_(result)

    def gradients(q, k, v, is_causal, scale, out, lse, dout, dlse, deterministic, entry=None):
        orders.append(deterministic)
        return flash_gradients(q, k, v, None, is_causal, scale, out, lse, dout, dlse)

    small_tiles(monkeypatch)
    monkeypatch.setattr(forward_module, "check_hopper", lambda *x: None)
    monkeypatch.setattr(forward_module, "launch", launch)
    for module in (forward_module, backward_module):
        monkeypatch.setattr(module, "hopper_gradients", gradients)
    return orders


def small(**sizes):
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    return inputs(device, FP16, 21, 35, 24, **{"heads": 4, "key_heads": 2} | sizes)


def results_of(attention, tensors, *, lse=True, **options):
    """Output, log-sum-exp, and the gradients of a function of both, or of the output alone."""
    leaves = [x.detach().requires_grad_() for x in tensors]
    results = attention(*leaves, enable_gqa=True, return_lse=lse, **options)
    results = results if lse else (results,)
    value = sum((x.float().sin()).sum() for x in results)
    return *results, *torch.autograd.grad(value, leaves)


def agree(results, expected):
    for result, other in zip(results, expected, strict=True):
        assert result.dtype == other.dtype
        torch.testing.assert_close(result, other, rtol=0, atol=0)


@CAUSAL
@pytest.mark.parametrize("lse", [False, True], ids=["output", "and lse"])
@pytest.mark.parametrize("scale", [None, 0.7, -1.5, 1e-42, 0.0])
def test_gradients_reach_who_asked_for_them(scale, lse, is_causal, portable):
    tensors, options = small(), {"scale": scale, "is_causal": is_causal, "lse": lse}
    agree(results_of(hopper_attention, tensors, **options), results_of(flash_attention, tensors, **options))
    assert portable == [False]


def test_the_operator_gives_the_same_as_the_way_past_it(portable, monkeypatch):
    tensors, options = small(), {"is_causal": True, "scale": -0.3}
    expected = results_of(hopper_attention, tensors, **options)
    for module in (forward_module, backward_module):
        monkeypatch.setattr(module, "entry_for", lambda *x: None)
    agree(results_of(hopper_attention, tensors, **options), expected)


@pytest.mark.parametrize("number", range(3), ids=["query", "key", "value"])
def test_one_of_the_three_alone(number, portable):
    tensors = small()
    every = results_of(hopper_attention, tensors)[2:]
    tensors[number] = tensors[number].clone().requires_grad_()
    out, lse = hopper_attention(*tensors, enable_gqa=True, return_lse=True)
    value = out.float().sin().sum() + lse.sin().sum()
    assert torch.autograd.grad(value, tensors[number])[0].equal(every[number])


def test_the_order_is_the_one_that_torch_was_told(portable):
    tensors = small()
    before = torch.are_deterministic_algorithms_enabled()
    torch.use_deterministic_algorithms(True)
    try:
        results_of(hopper_attention, tensors)
    finally:
        torch.use_deterministic_algorithms(before)
    assert portable == [True]


def test_gradients_have_none(portable):
    leaves = [x.requires_grad_() for x in small(key_heads=4)]
    out = hopper_attention(*leaves).float().sum()
    (dq, *_) = torch.autograd.grad(out, leaves, create_graph=True)
    with pytest.raises(RuntimeError, match="hopper_backward"):
        dq.float().sum().backward()


def test_where_no_gradient_is_recorded_no_lse_is_written(monkeypatch):
    seen = []
    monkeypatch.setattr(forward_module, "check_hopper", lambda *x: None)
    monkeypatch.setattr(forward_module, "launch", lambda q, k, v, out, lse, *x: seen.append(lse))
    leaves = [x.requires_grad_() for x in small(key_heads=4)]
    with torch.no_grad():
        assert not hopper_attention(*leaves).requires_grad
    hopper_attention(*leaves)
    assert seen[0] is None and seen[1].shape == leaves[0].shape[:-1]


def test_the_operator_without_lse_has_no_gradient(portable):
    leaves = [x.requires_grad_() for x in small(key_heads=4)]
    with pytest.raises(RuntimeError, match="with_lse is False"):
        forward_module.hopper_forward(*leaves, False, 0.3, False, [int(x) for x in PLANS[64, False]])


@pytest.mark.parametrize("scale", [None, -0.3])
def test_torch_compile_traces_both_passes_whole(scale, portable):
    tensors = small(key_heads=4)

    def f(q, k, v):
        out, lse = hopper_attention(2 * q, k, v, is_causal=True, scale=scale, return_lse=True)
        return out.float().sin().sum() + lse.sum()

    results = []
    for function in (f, torch.compile(f, fullgraph=True, backend="aot_eager")):
        leaves = [x.detach().requires_grad_() for x in tensors]
        value = function(*leaves)
        results.append((value, *torch.autograd.grad(value, leaves)))
    for eager, compiled in zip(*results, strict=True):
        torch.testing.assert_close(compiled, eager, rtol=1e-3, atol=1e-3)


def test_torch_s_own_checks_of_both_operators(portable):
    q, k, v = (x.requires_grad_() for x in small(key_heads=4))
    plan = [int(x) for x in PLANS[64, True]]
    torch.library.opcheck(forward_module.hopper_forward, (q, k, v, True, 0.3, True, plan))
    out, lse = (x.detach() for x in forward_module.hopper_forward(q, k, v, True, 0.3, True, plan))
    q, k, v = (x.detach() for x in (q, k, v))
    for dlse in (None, torch.randn_like(lse)):
        arguments = (q, k, v, True, 0.3, out, lse, torch.randn_like(out), dlse, False)
        torch.library.opcheck(backward_module.hopper_backward_operator, arguments)


def test_vmap_takes_one_after_the_other(portable):
    q, k, v = (torch.stack([x, -x]) for x in small(key_heads=4))
    mapped = vmap(partial(hopper_attention, return_lse=True))(q, k, v)[0]
    expected = torch.stack([hopper_attention(*x, return_lse=True)[0] for x in zip(q, k, v, strict=True)])
    assert mapped.equal(expected)


def test_an_empty_call_has_gradients_of_zero(portable):
    q, k = torch.randn(1, 2, 5, 16).half().requires_grad_(), torch.randn(1, 2, 0, 16).half().requires_grad_()
    out, lse = hopper_attention(q, k, k, return_lse=True)
    out.sum().backward()
    assert not out.any() and lse.eq(-torch.inf).all()
    assert not q.grad.any() and k.grad.shape == k.shape


# On a Hopper GPU, with its own kernels.


def on_hopper(test):
    return pytest.mark.gpu(pytest.mark.usefixtures("hopper_gpu")(test))


@on_hopper
@CAUSAL
@HEAD_DIMS
def test_gradients_are_within_the_budget(head_dim, is_causal, device):
    q, k, v = inputs(device, BF16, 150, 200, head_dim, heads=4, key_heads=2)
    fractions_used = gradient_budget_used(hopper_attention, q, k, v, is_causal=is_causal, enable_gqa=True)
    assert max(fractions_used.values()) <= 1


@on_hopper
@HEAD_DIMS
def test_on_the_gpu_too_the_operator_gives_the_same(head_dim, device, monkeypatch):
    tensors = inputs(device, BF16, 150, 200, head_dim, heads=4, key_heads=4)
    torch.use_deterministic_algorithms(True)
    try:
        expected = [results_of(hopper_attention, tensors, is_causal=True) for _ in range(3)]  # cached, from the second
        for module in (forward_module, backward_module):
            monkeypatch.setattr(module, "entry_for", lambda *x: None)
        expected.append(results_of(hopper_attention, tensors, is_causal=True))
    finally:
        torch.use_deterministic_algorithms(False)
    for results in expected[1:]:
        agree(results, expected[0])


@on_hopper
def test_on_the_gpu_both_operators_are_as_torch_has_them(device):
    q, k, v = (x.requires_grad_() for x in inputs(device, BF16, 70, 90, 64))
    plan = [int(x) for x in PLANS[64, True]]
    torch.library.opcheck(forward_module.hopper_forward, (q, k, v, True, 0.3, True, plan))


@on_hopper
def test_cached_launches_follow_tensors_streams_and_graphs(device, monkeypatch):
    """Other tensors of the same form, another stream, and a graph that is replayed."""
    batches = [inputs(device, BF16, 150, 200, 128) for _ in range(4)]
    attention = partial(hopper_attention, is_causal=True)
    with monkeypatch.context() as uncached:
        uncached.setattr(forward_module, "entry_for", lambda *x: None)
        expected = [attention(*x) for x in batches]
    for tensors, out in zip(batches, expected, strict=True):
        assert attention(*tensors).equal(out)
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        out = attention(*batches[1])
    stream.synchronize()
    assert out.equal(expected[1])
    graph, (q, k, v) = torch.cuda.CUDAGraph(), [x.clone() for x in batches[0]]
    with torch.cuda.graph(graph):
        out = attention(q, k, v)
    for tensors, other in zip(batches, expected, strict=True):
        for x, new in zip((q, k, v), tensors, strict=True):
            x.copy_(new)
        graph.replay()
        assert out.equal(other)
