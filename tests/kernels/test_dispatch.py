"""The dispatcher takes the fastest of our rungs that can do what is asked; its answer is within the error budget."""

import os
import subprocess
import sys
from functools import partial
from types import SimpleNamespace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn.functional import scaled_dot_product_attention
from torch.overrides import TorchFunctionMode

from kernels import dispatch, reference
from kernels.bench.profiling.launches import launches
from kernels.bench.profiling.memory import peak_memory
from kernels.dispatch import attention, fastest_rung, reference_attention
from kernels.flash.attention import flash_attention
from kernels.hopper.attention import hopper_attention
from tests.kernels.error_budget import attention_budget_used, gradient_budget_used

pytestmark = pytest.mark.filterwarnings("ignore:(overflow|invalid value) encountered:RuntimeWarning")

GPU = pytest.mark.gpu
FP64, FP32, FP16, BF16 = torch.float64, torch.float32, torch.float16, torch.bfloat16
HOPPER, AMPERE, VOLTA, BLACKWELL = (9, 0), (8, 0), (7, 0), (10, 0)
CAUSAL = pytest.mark.parametrize("is_causal", [False, True], ids=["full", "causal"])


def inputs(device, dtype, seq_q, seq_k, head_dim, *, batch=2, heads=2, key_heads=None, size=2.0):
    """Queries that make flat and sharp rows; heads of very different size."""
    q = size * torch.randn(batch, heads, seq_q, head_dim, device=device)
    q = q * torch.linspace(0.1, 2, seq_q, device=device)[:, None]
    k, v = torch.randn(2, batch, key_heads or heads, seq_k, head_dim, device=device)
    v = v * torch.logspace(-2, 2, v.shape[1], device=device)[:, None, None]
    return [x.to(dtype) for x in (q, k, v)]


# The choice, on any GPU: tensors that have a device, a dtype and a shape, and no numbers.


@pytest.fixture
def gpu(monkeypatch):
    """Makes tensors of these shapes on a GPU of this compute capability, which need not be there."""

    def tensors(capability, dtype, q, k=None, v=None, *, memory=80e9, requires_grad=None):
        pretend(monkeypatch, capability, memory)
        k = q if k is None else k
        with FakeTensorMode():
            made = [torch.empty(shape, device="cuda", dtype=dtype) for shape in (q, k, k if v is None else v)]
        if requires_grad is not None:
            made[requires_grad].requires_grad_()
        return made

    return tensors


def pretend(monkeypatch, capability, memory=80e9):
    if torch.cuda.is_available():
        torch.cuda.init()  # which asks the GPU that's really there for its name
    monkeypatch.setattr(dispatch, "COMPILES", True)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device=None: capability)
    properties = SimpleNamespace(total_memory=memory, multi_processor_count=132)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device=None: properties)


ONE_HEAD = (1, 1, 8192, 128)


@pytest.mark.parametrize(
    "rung, capability, dtype, shape",
    [
        (hopper_attention, HOPPER, BF16, ONE_HEAD),
        (hopper_attention, HOPPER, FP16, (12, 11, 1, 8)),
        (hopper_attention, HOPPER, BF16, (2, 3, 1, 256)),
        (hopper_attention, HOPPER, BF16, (0, 3, 7, 72)),
        (flash_attention, HOPPER, BF16, (2, 3, 1, 4)),  # no multiple of 16 bytes
        (flash_attention, HOPPER, FP16, (2, 3, 70, 100)),
        (flash_attention, AMPERE, FP16, ONE_HEAD),
        (flash_attention, BLACKWELL, BF16, ONE_HEAD),
        (reference_attention, VOLTA, FP16, ONE_HEAD),  # older than what Triton compiles for
        (reference_attention, HOPPER, BF16, (1, 1, 8192, 264)),
        (reference_attention, HOPPER, BF16, (1, 8192, 128)),  # no batch
        (reference_attention, HOPPER, BF16, (1, 1, 1, 70, 128)),
        (reference_attention, HOPPER, FP64, ONE_HEAD),
        (reference_attention, HOPPER, FP32, ONE_HEAD),
        (reference_attention, AMPERE, FP32, (2, 3, 1, 100)),
        (flash_attention, HOPPER, FP32, (1, 1, 65536, 128)),  # three squares are 52 GB
    ],
)
def test_the_choice(rung, capability, dtype, shape, gpu):
    tensors = gpu(capability, dtype, shape)
    assert fastest_rung(*tensors) is rung
    assert fastest_rung(*tensors, is_causal=True, scale=2.0, enable_gqa=True) is rung


@pytest.mark.parametrize(
    "pairs, seq, head_dim, rung",
    [
        (2, 8192, 64, flash_attention),
        (32, 2048, 64, flash_attention),
        (32, 512, 64, flash_attention),
        (2, 2048, 64, reference_attention),
        (131, 64, 64, reference_attention),
        (66, 65, 64, flash_attention),  # two blocks of each
        (32, 2048, 128, reference_attention),
        (32, 2048, 72, reference_attention),
    ],
)
def test_in_fp32_small_causal_heads_go_to_blocks_that_are_skipped(pairs, seq, head_dim, rung, gpu):
    """As times of graphs on an H200 have it."""
    tensors = gpu(HOPPER, FP32, (1, pairs, seq, head_dim))
    assert fastest_rung(*tensors, is_causal=True) is rung
    assert fastest_rung(*tensors) is reference_attention
    tensors = gpu(HOPPER, FP32, (1, pairs, seq, head_dim), requires_grad=2)
    assert fastest_rung(*tensors, is_causal=True) is reference_attention


@pytest.mark.parametrize("dtype", [BF16, FP64])
@pytest.mark.parametrize("requires_grad, squares", [(None, 3), (1, 6)])
def test_what_no_kernel_takes_is_refused_where_its_squares_are_large(requires_grad, squares, dtype, gpu):
    """Keys of 192 numbers and values of 128, as in DeepSeek: three squares of 34 GB would come of it unasked."""
    q, k, v = (1, 128, 8192, 192), (1, 128, 8192, 192), (1, 128, 8192, 128)
    with pytest.raises(ValueError, match=r"query has shape \[1, 128, 8192, 192\], .* use torch.*scaled_dot"):
        fastest_rung(*gpu(HOPPER, dtype, q, k, v, memory=141e9))
    q, k, v = (1, 2, 100, 192), (1, 2, 70, 192), (1, 2, 70, 128)
    memory = 4 * squares * (2 * 100 * 70) * max(4, dtype.itemsize)
    tensors = gpu(HOPPER, dtype, q, k, v, memory=memory, requires_grad=requires_grad)
    assert fastest_rung(*tensors) is reference_attention
    with pytest.raises(ValueError, match="scores would fill a quarter"):
        attention(*gpu(HOPPER, dtype, q, k, v, memory=memory - 1, requires_grad=requires_grad))


def test_values_of_another_width_go_to_the_reference(gpu):
    tensors = gpu(HOPPER, BF16, (1, 1, 8, 64), (1, 1, 8, 64), (1, 1, 8, 128))
    assert fastest_rung(*tensors) is reference_attention


@pytest.mark.parametrize("number", range(3), ids=["query", "key", "value"])
def test_who_has_a_gradient_is_taken_for_it_too(number, gpu):
    tensors = gpu(HOPPER, BF16, ONE_HEAD, requires_grad=number)
    assert fastest_rung(*tensors) is hopper_attention
    with torch.no_grad():
        assert fastest_rung(*tensors) is hopper_attention


@pytest.mark.parametrize("requires_grad, squares", [(None, 3), (1, 6)])
def test_squares_may_take_a_quarter_of_the_memory(requires_grad, squares, gpu):
    q, k = (2, 3, 100, 16), (2, 3, 70, 16)
    memory = 4 * squares * (2 * 3 * 100 * 70) * 4
    for dtype, enough in ((FP32, reference_attention), (BF16, flash_attention)):
        for less, rung in ((0, enough), (1, flash_attention)):
            tensors = gpu(AMPERE, dtype, q, k, memory=memory - less, requires_grad=requires_grad)
            assert fastest_rung(*tensors) is rung


def test_without_gluon_hopper_takes_flash_and_without_a_compiler_the_reference(gpu, monkeypatch):
    tensors = gpu(HOPPER, BF16, ONE_HEAD)
    monkeypatch.setattr(dispatch, "GLUON", False)
    assert fastest_rung(*tensors) is flash_attention
    monkeypatch.setattr(dispatch, "GLUON", True)
    monkeypatch.setattr(dispatch, "COMPILES", False)
    assert fastest_rung(*tensors) is reference_attention


def test_each_rung_can_be_chosen_where_these_tests_run():
    assert dispatch.GLUON, "kernels.hopper.attention cannot be imported with this triton"
    assert torch.cuda.is_available() == dispatch.COMPILES


@pytest.mark.parametrize("dtype", [FP64, FP32, FP16, BF16])
def test_a_cpu_takes_the_reference(dtype):
    """In Triton's interpreter, too, where flash_attention would run, and slowly."""
    q = torch.zeros(1, 2, 8, 64, dtype=dtype)
    assert fastest_rung(q, q, q) is reference_attention
    assert fastest_rung(q.requires_grad_(), q, q) is reference_attention


@settings(deadline=None, derandomize=True, max_examples=80)
@given(st.data())
def test_what_is_chosen_takes_its_input(data):
    """Any shape on any GPU: the rung that is chosen runs to where its work starts, and refuses nothing."""
    size = partial(st.integers, 0)
    choose = st.sampled_from
    batch, key_heads, group = data.draw(size(3)), data.draw(st.integers(1, 3)), data.draw(st.integers(1, 3))
    seq_q, seq_k = data.draw(size(300)), data.draw(size(300))
    head_dim = data.draw(st.integers(1, 300) | choose([8, 64, 128, 256]))
    width = data.draw(st.just(head_dim) | st.integers(1, 300))
    before, capability = data.draw(choose([(), (batch,), (2, batch)])), data.draw(choose([HOPPER, AMPERE, VOLTA]))
    dtype = data.draw(choose([FP64, FP32, FP16, BF16]))
    with pytest.MonkeyPatch.context() as monkeypatch, FakeTensorMode():
        pretend(monkeypatch, capability)
        monkeypatch.setattr("kernels.hopper.attention.launch", lambda *x: None)
        monkeypatch.setattr(dispatch, "three_lines", lambda q, k, v, **_: torch.empty(*q.shape[:-1], v.shape[-1]).to(q))
        q = torch.empty(*before, key_heads * group, seq_q, head_dim, device="cuda", dtype=dtype)
        k, v = (torch.empty(*before, key_heads, seq_k, d, device="cuda", dtype=dtype) for d in (head_dim, width))
        out = attention(q, k, v, is_causal=data.draw(st.booleans()), enable_gqa=True)
    assert out.shape == (*q.shape[:-1], width) and (out.dtype, out.device) == (q.dtype, q.device)


# The answer is attention.  Here, on a CPU, that of one rung; on a GPU of all.


@CAUSAL
@pytest.mark.parametrize("dtype", [FP32, FP16, BF16])
@pytest.mark.parametrize("head_dim", [64, 40, 3, 264])
@pytest.mark.parametrize("seq_q, seq_k", [(1, 1), (1, 239), (113, 203), (203, 113)])
def test_the_answer_is_within_the_budget(seq_q, seq_k, head_dim, dtype, is_causal, device):
    q, k, v = inputs(device, dtype, seq_q, seq_k, head_dim, heads=4, key_heads=2)
    assert attention_budget_used(attention, q, k, v, is_causal=is_causal, enable_gqa=True) <= 1


@CAUSAL
@pytest.mark.parametrize("dtype", [FP32, FP16, BF16])
@pytest.mark.parametrize("head_dim", [64, 40])
def test_so_are_its_gradients(head_dim, dtype, is_causal, device):
    q, k, v = inputs(device, dtype, 50, 70, head_dim, heads=4, key_heads=2)
    fractions_used = gradient_budget_used(attention, q, k, v, is_causal=is_causal, enable_gqa=True)
    assert max(fractions_used.values()) <= 1


@pytest.mark.parametrize("scale", [-1.5, 0.01, 0.0])
def test_any_scale(scale, device):
    q, k, v = inputs(device, FP16, 37, 41, 16)
    if scale:
        assert attention_budget_used(attention, q, k, v, scale=scale) <= 1
    else:  # torch's own CPU kernel gives NaN
        expected = v.float().mean(-2, keepdim=True).expand(q.shape)
        torch.testing.assert_close(attention(q, k, v, scale=0.0).float(), expected, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("shape", [(0, 2, 5, 5), (2, 0, 5, 5), (2, 2, 0, 5), (2, 2, 5, 0)])
@pytest.mark.parametrize("dtype", [FP32, BF16])
def test_empty_gives_zeros(dtype, shape, device):
    batch, heads, seq_q, seq_k = shape
    q = torch.randn(batch, heads, seq_q, 16, device=device).to(dtype)
    k, v = torch.randn(2, batch, heads, seq_k, 16, device=device).to(dtype)
    out = attention(q, k, v)
    assert out.shape == q.shape and out.dtype == dtype and out.eq(0).all()


def test_what_no_kernel_takes_is_computed_all_the_same(device):
    """No batch, values wider than keys; FP64 stays FP64, FP8 is only how numbers came and go."""
    q, k, v = torch.randn(5, 7, device=device), torch.randn(6, 7, device=device), torch.randn(6, 300, device=device)
    torch.testing.assert_close(attention(q, k, v, is_causal=True), reference.attention(q, k, v, is_causal=True))
    q, k, v = torch.randn(3, 1, 2, 5, 7, device=device, dtype=FP64)
    assert attention(q, k, v).equal(reference.oracle(q, k, v))
    q, k, v = (x.to(torch.float8_e5m2) for x in (q, k, v))
    out = attention(q, k, v)
    assert out.dtype == torch.float8_e5m2
    assert out.float().equal(reference.attention(q.float(), k.float(), v.float()).to(out.dtype).float())


@pytest.mark.parametrize("dtype", [FP16, BF16])
def test_the_reference_in_16_bits_would_be_rejected(dtype, device):
    """Which is why its numbers are widened first."""
    q, k, v = inputs(device, dtype, 113, 203, 64)
    assert attention_budget_used(reference.attention, q, k, v) > 1
    assert attention_budget_used(reference_attention, q, k, v) <= 1


def test_autocast_changes_nothing(device):
    q, k, v = inputs(device, FP32, 113, 203, 64)
    expected = attention(q, k, v)
    with torch.autocast(device.type, dtype=BF16):
        assert reference.attention(q, k, v).dtype == BF16  # where it does
        assert attention(q, k, v).equal(expected)


def test_a_device_without_autocast_is_no_error():
    q = torch.empty(1, 2, 3, 8, device="meta")
    assert attention(q, q, q).shape == q.shape


# Never by another library's attention.


class Refused(AssertionError):
    pass


class NoSDPA(TorchFunctionMode):
    def __torch_function__(self, function, types, args=(), kwargs=None):
        if "scaled_dot_product" in str(function):
            raise Refused(str(function))
        return function(*args, **(kwargs or {}))


@pytest.mark.parametrize("dtype", [FP64, FP32, FP16, BF16])
def test_no_fused_attention_of_torch_is_called(dtype, device):
    for head_dim in (64, 3, 264):
        q, k, v = inputs(device, dtype, 20, 30, head_dim)
        with NoSDPA():
            attention(q, k, v)
            attention(q.requires_grad_(), k, v, is_causal=True).float().sum().backward()


def test_it_would_be_seen(device):
    q, k, v = inputs(device, FP16, 20, 30, 64)
    with pytest.raises(Refused), NoSDPA():
        scaled_dot_product_attention(q, k, v)


# Bad input: the error is the rung's.


@pytest.mark.parametrize(
    "change, error, words",
    [
        ({"q": [[1.0]]}, TypeError, "query is list, a tensor is wanted"),
        ({"k": torch.zeros(2, 4, 8, 12)}, ValueError, "key has head_dim 12, query has 16"),
        ({"v": torch.zeros(2, 4, 9, 16)}, ValueError, "value has sequence length 9, key has 8"),
        ({"v": torch.zeros(2, 4, 8, 16).half()}, TypeError, r"value is torch\.float16, query is torch\.float32"),
        ({"k": torch.zeros(4, 8, 16)}, ValueError, "key has 3 dimensions, query has 4"),
        (dict.fromkeys("qkv", torch.zeros(2, 4, 8, 16).int()), TypeError, r"query is torch\.int32, a floating-point"),
        (dict.fromkeys("qkv", torch.zeros(16)), ValueError, "query has 1 dimensions"),
        (dict.fromkeys("kv", torch.zeros(2, 2, 8, 16)), ValueError, "key has 2 heads, query has 4: .* enable_gqa"),
        (dict.fromkeys("kv", torch.zeros(2, 3, 8, 16)) | {"enable_gqa": True}, ValueError, "a whole multiple"),
        ({"scale": "1"}, TypeError, "scale is str"),
    ],
)
def test_bad_input_is_named_as_the_rungs_do(change, error, words, device):
    arguments = {**dict.fromkeys("qkv", torch.zeros(2, 4, 8, 16)), **change}
    arguments = {name: x.to(device) if isinstance(x, torch.Tensor) else x for name, x in arguments.items()}
    messages = []
    for function in (attention, fastest_rung, reference_attention, flash_attention, hopper_attention):
        with pytest.raises(error, match=words) as raised:
            function(**arguments)
        messages.append(str(raised.value))
    assert len(set(messages)) == 1


@pytest.mark.parametrize("capability, shape", [(HOPPER, (1, 1, 8, 64)), (AMPERE, (1, 1, 8, 12))])
def test_what_only_a_kernel_refuses_is_no_reason_to_take_another(capability, shape, gpu):
    """is_causal is looked at by the rungs, and their error comes through."""
    with pytest.raises(TypeError, match="is_causal is int, True or False is wanted"):
        attention(*gpu(capability, BF16, shape), is_causal=1)


@pytest.mark.parametrize("mistake", [ValueError, RuntimeError, torch.OutOfMemoryError])
def test_an_error_of_a_rung_comes_through(mistake, monkeypatch, device):
    def fails(*arguments, **options):
        raise mistake("of the rung")

    monkeypatch.setattr(dispatch, "fastest_rung", lambda *x, **options: fails)
    with pytest.raises(mistake, match="of the rung"):
        attention(*torch.zeros(3, 1, 1, 8, 16, device=device))


def test_options_reach_the_rung(monkeypatch):
    seen = []
    monkeypatch.setattr(dispatch, "hopper_supports", lambda *x: True)
    monkeypatch.setattr(dispatch, "hopper_attention", lambda *x, **options: seen.append((x, options)))
    q, k = torch.zeros(1, 4, 8, 16), torch.zeros(1, 2, 8, 16)
    options = {"is_causal": True, "scale": 0.3, "enable_gqa": True}
    attention(q, k, k, **options)
    assert seen[0][1] == options and all(x is y for x, y in zip(seen[0][0], (q, k, k), strict=True))


# Where something is missing.


def run_without(*modules, script):
    """A Python in which these modules cannot be imported, on a CPU."""
    missing = "; ".join(f"sys.modules[{module!r}] = None" for module in modules)
    environment = os.environ | {"CUDA_VISIBLE_DEVICES": "", "TRITON_INTERPRET": "0"}
    command = [sys.executable, "-c", f"import sys; {missing}\n{script}"]
    run = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


THE_SAME = """
import torch
from kernels import dispatch, reference
q, k, v = torch.randn(3, 1, 2, 9, 64)
assert dispatch.attention(q, k, v, is_causal=True).equal(reference.attention(q, k, v, is_causal=True))
assert dispatch.attention(q.bfloat16(), k.bfloat16(), v.bfloat16()).dtype == torch.bfloat16
"""


def test_without_triton_it_works():
    nothing = "assert not (dispatch.COMPILES or dispatch.GLUON or 'kernels.flash.attention' in sys.modules)"
    run_without("triton", script=THE_SAME + nothing)


def test_without_gluon_it_works():
    run_without("triton.experimental.gluon", script=THE_SAME + "assert dispatch.COMPILES and not dispatch.GLUON")


# On a GPU.


@GPU
@pytest.mark.parametrize("dtype, gradient", [(FP32, False), (BF16, False), (BF16, True)])
def test_what_is_launched_is_the_rungs_own(dtype, gradient, device):
    q, k, v = (x.requires_grad_(gradient) for x in inputs(device, dtype, 300, 300, 64))
    rung = fastest_rung(q, k, v)
    launched = launches(lambda: attention(q, k, v))
    assert launched == launches(lambda: rung(q, k, v))
    own = {hopper_attention: "hopper_kernel", flash_attention: "flash_forward_kernel"}
    assert rung not in own or launched == [own[rung]]


@GPU
@CAUSAL
@pytest.mark.parametrize("gradient, squares", [(False, 3), (True, 6)])
def test_the_reference_holds_no_more_squares_than_it_is_charged_with(gradient, squares, is_causal, device):
    q, k, v = torch.randn(3, 1, 16, 2048, 64, device=device, requires_grad=gradient)

    def call():
        out = reference_attention(q, k, v, is_causal=is_causal)
        return torch.autograd.grad(out.sum(), (q, k, v)) if gradient else out

    one = 16 * 2048 * 2048 * 4
    assert peak_memory(call) < (squares + 0.3) * one  # and masks, of one head, and what is no square
