"""The backward pass for Hopper has the gradients of attention, within the error budget; bad input is named."""

import re
import subprocess
import sys
from contextlib import contextmanager
from functools import partial
from itertools import product

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from triton import knobs
from triton.experimental import gluon
from triton.experimental.gluon import language as gl

from kernels.bench.profiling.launches import launches
from kernels.flash.attention import flash_backward
from kernels.hopper import attention as forward
from kernels.hopper.attention import hopper_attention
from kernels.hopper.backward import gradients as backward_module
from kernels.hopper.backward.gradients import hopper_backward
from tests.kernels.error_budget import gradient_budget_used
from tests.kernels.flash.harness import CAUSAL, UGLY, VALUES, columns_first, every_other, inputs, sequence_first
from tests.kernels.hopper.harness import BF16, DTYPES, FP16, HEAD_DIMS, Unlaunched, compiling, equal_bits, sms
from tests.kernels.prefilled import prefilled_with_nan

KERNELS = ("backward_preprocess_kernel", "hopper_backward_kernel", "backward_postprocess_kernel")
KERNELS += ("hopper_dkdv_kernel", "hopper_dq_kernel")
ORDERS = pytest.mark.parametrize("deterministic", [False, True], ids=["any order", "deterministic"])


@contextmanager
def compiling_both():
    """Launches of either pass only compile, all at the same time, until the end of the block."""
    with pytest.MonkeyPatch.context() as patch, compiling(forward):
        for name in KERNELS:
            patch.setattr(backward_module, name, Unlaunched(getattr(backward_module, name)))
        yield


@pytest.fixture(scope="module")
def compiled_backward(hopper_gpu):
    """What these tests launch often, side by side: the forward pass, too."""
    few, many = 1, sms(hopper_gpu) + 1  # pairs of batch and head; causal, many make pairs of blocks
    with compiling_both():
        for head_dim, is_causal in product((64, 128, 256), (False, True)):
            q = torch.zeros(1, many, 1, head_dim, device=hopper_gpu, dtype=BF16)
            for x in (q, q[:, :few], q[:, :few].half()):
                hopper_attention(x, x, x, is_causal=is_causal, return_lse=True)
            run = partial(hopper_backward, is_causal=is_causal, enable_gqa=True)
            lse = q[..., 0].float()
            run(q.half(), q.half(), q.half(), q.half(), lse, q.half())
            run(q, q, q, q, lse, q)
            run(q, q, q, q, lse, q, deterministic=True)
            run(q, q[:, :few], q[:, :few], q, lse, q)


def on_hopper(test):
    """Marks what only a Hopper GPU can run."""
    return pytest.mark.gpu(pytest.mark.usefixtures("compiled_backward")(test))


class Attention(torch.autograd.Function):
    """``hopper_attention``, whose gradients are those of ``hopper_backward``."""

    @staticmethod
    def forward(ctx, q, k, v, options, deterministic):
        out, lse = hopper_attention(q, k, v, return_lse=True, **options)
        ctx.save_for_backward(q, k, v, out, lse)
        ctx.options = options | {"deterministic": deterministic}
        return out

    @staticmethod
    def backward(ctx, dout):
        with prefilled_with_nan():
            gradients = hopper_backward(*ctx.saved_tensors, dout, **ctx.options)
        return *gradients, None, None


def attention(q, k, v, *, deterministic=False, **options):
    return Attention.apply(q, k, v, options, deterministic)


def largest_budget_used(*tensors, deterministic=False, **options):
    """The largest share of the budget of a gradient."""
    function = partial(attention, deterministic=deterministic)
    return max(gradient_budget_used(function, *tensors, **options).values())


@gluon.jit
def fill_shared_memory_with_nan():
    """Nearly all that an SM has."""
    LAYOUT: gl.constexpr = gl.BlockedLayout([4], [32], [4], [0])
    place = gl.allocate_shared_memory(gl.float32, [28, 2048], gl.SwizzledSharedLayout(1, 1, 1, [0]))
    for i in gl.static_range(28):
        place.index(i).store(gl.full([2048], float("nan"), gl.float32, LAYOUT))


def arguments(q, k, v, **options):
    """What the backward pass takes: with what the forward pass makes, and a gradient of its output."""
    out, lse = hopper_attention(q, k, v, return_lse=True, **options)
    return q, k, v, out, lse, torch.randn_like(q)


# Shapes, values and options.


@on_hopper
@ORDERS
@CAUSAL
@HEAD_DIMS
@pytest.mark.parametrize("seq_q, seq_k", [*UGLY, (65, 127), (129, 193), (256, 384), (1023, 1025)])
def test_any_lengths(seq_q, seq_k, head_dim, is_causal, deterministic, device):
    q, k, v = inputs(device, BF16, seq_q, seq_k, head_dim)
    assert largest_budget_used(q, k, v, is_causal=is_causal, deterministic=deterministic) <= 1


@on_hopper
@CAUSAL
@DTYPES
@pytest.mark.parametrize("head_dim", [8, 24, 64, 72, 128, 136, 248])
def test_any_head_dim(head_dim, dtype, is_causal, device):
    q, k, v = inputs(device, dtype, 113, 203, head_dim)
    assert largest_budget_used(q, k, v, is_causal=is_causal) <= 1


@on_hopper
@ORDERS
@CAUSAL
@HEAD_DIMS
@pytest.mark.parametrize("key_heads", [1, 2, 3, 6])
def test_grouped_queries(key_heads, head_dim, is_causal, deterministic, device):
    """In a batch of 3; so few key heads that their query heads are shared out."""
    q, k, v = inputs(device, BF16, 150, 200, head_dim, batch=3, heads=6, key_heads=key_heads)
    assert backward_module.splits_of(q, k, 128) == 6 // key_heads
    assert largest_budget_used(q, k, v, is_causal=is_causal, enable_gqa=True, deterministic=deterministic) <= 1


@on_hopper
@ORDERS
@CAUSAL
@HEAD_DIMS
def test_more_programs_than_sms(head_dim, is_causal, deterministic, device):
    heads = 4 * (sms(device) // 8 + 1)
    q, k, v = inputs(device, BF16, 300, 400, head_dim, batch=3, heads=heads, key_heads=heads // 4)
    assert largest_budget_used(q, k, v, is_causal=is_causal, enable_gqa=True, deterministic=deterministic) <= 1


@on_hopper
@CAUSAL
@HEAD_DIMS
def test_long_sequences(head_dim, is_causal, device):
    q, k, v = torch.randn(3, 1, 1, 8192, head_dim, device=device, dtype=BF16)
    assert largest_budget_used(q, k, v, is_causal=is_causal) <= 1


@on_hopper
@CAUSAL
@HEAD_DIMS
@pytest.mark.parametrize("values", VALUES)
def test_adversarial_values(values, head_dim, is_causal, device):
    q, k, v = (x.float() for x in inputs(device, BF16, 50, 70, head_dim))
    assert largest_budget_used(*(x.to(BF16) for x in values(q, k, v)), is_causal=is_causal) <= 1


@on_hopper
@CAUSAL
@pytest.mark.parametrize("scale", [-1.5, 0.01, 0.3, 2])
def test_any_scale(scale, is_causal, device):
    q, k, v = inputs(device, BF16, 113, 203, 64)
    assert largest_budget_used(q, k, v, is_causal=is_causal, scale=scale) <= 1


@on_hopper
@CAUSAL
@pytest.mark.parametrize("scale", [0, 1e-46])  # which FP32 cannot tell apart
def test_a_scale_of_0(scale, is_causal, device):
    """Every key has the same share, whatever query and key are."""
    q, k, v = inputs(device, BF16, 113, 203, 64)
    tensors = arguments(q, k, v, is_causal=is_causal, scale=scale)
    dq, dk, dv = hopper_backward(*tensors, is_causal=is_causal, scale=scale)
    assert not dq.any() and not dk.any()
    flat = arguments(0 * q, k, v, is_causal=is_causal)[:-1]
    assert dv.equal(hopper_backward(*flat, tensors[-1], is_causal=is_causal)[2])


@on_hopper
@CAUSAL
@HEAD_DIMS
def test_the_log_sum_exp_has_a_gradient(head_dim, is_causal, device):
    """As in flash_attention, of the same scores."""
    options = {"is_causal": is_causal, "enable_gqa": True}
    tensors = arguments(*inputs(device, BF16, 113, 203, head_dim, heads=4, key_heads=2), **options)
    q, k, v, out, lse, dout = tensors
    dlse = 40 * torch.randn_like(lse)
    without_dlse, results = (hopper_backward(*tensors, **options, dlse=x) for x in (None, dlse))
    expected = flash_backward(q, k, v, None, is_causal, head_dim**-0.5, out, lse, dout, dlse)
    results, expected, without_dlse = (
        [x.float() for x in gradients] for gradients in (results, expected, without_dlse)
    )
    for result, wanted in zip(results, expected, strict=True):
        assert (result - wanted).norm() < 0.005 * wanted.norm()
    # Small beside dq, whose largest numbers come from the largest of dout; but far more than may be wrong.
    assert (results[0] - without_dlse[0]).norm() > 0.02 * results[0].norm()


@on_hopper
@CAUSAL
@HEAD_DIMS
def test_a_query_without_a_key_has_no_gradient_and_gives_none(head_dim, is_causal, device):
    q, k, v, out, lse, dout = arguments(*inputs(device, BF16, 150, 203, head_dim), is_causal=is_causal)
    lse[:, :, 7::50] = -torch.inf
    silent = dout.clone()
    silent[:, :, 7::50] = 0
    options = {"is_causal": is_causal, "deterministic": True}
    results = hopper_backward(q, k, v, out, lse, dout, **options)
    assert not results[0][:, :, 7::50].any()
    assert equal_bits(results, hopper_backward(q, k, v, out, lse, silent, **options))


# However numbers lie in memory.


def shifted(x):
    """TMA reads from multiples of 16 bytes; a view may start anywhere."""
    return torch.cat([x.new_zeros(1), x.flatten()])[1:].view_as(x)


@on_hopper
@CAUSAL
@HEAD_DIMS
@pytest.mark.parametrize("layout", [every_other, sequence_first, columns_first, shifted])
def test_where_numbers_lie_changes_nothing(layout, head_dim, is_causal, device):
    tensors = arguments(*inputs(device, BF16, 137, 250, head_dim), is_causal=is_causal)
    run = partial(hopper_backward, is_causal=is_causal, deterministic=True)
    expected = run(*tensors)
    for number in (0, 1, 2, 3, 5):
        laid_out = [layout(x) if i == number else x for i, x in enumerate(tensors)]
        assert equal_bits(run(*laid_out), expected)


@on_hopper
@HEAD_DIMS
def test_one_number_for_all(head_dim, device):
    """The gradient of a sum has stride 0 on every axis."""
    *tensors, dout = arguments(*inputs(device, BF16, 137, 250, head_dim))
    one = dout.new_ones(()).expand_as(dout)
    run = partial(hopper_backward, deterministic=True)
    assert equal_bits(run(*tensors, one), run(*tensors, one.contiguous()))


@pytest.mark.large
@on_hopper
@pytest.mark.parametrize("head_dim", [128, 256])
def test_offsets_beyond_2_to_the_31_elements(head_dim, device):
    """2.18e9 elements, 4.4 GB, and twice as much for the sums."""
    q = torch.empty(1, 520 * 128 // head_dim, 32768, head_dim, device=device, dtype=BF16).normal_()
    assert q.numel() > 2**31
    tensors = arguments(q, q, q, is_causal=True)
    run = partial(hopper_backward, is_causal=True, deterministic=True)
    results = [x[:, -2:].clone() for x in run(*tensors)]
    assert equal_bits(results, run(*(x[:, -2:].clone() for x in tensors)))


@pytest.mark.large
@on_hopper
def test_more_programs_than_a_grid_axis_of_65535(device):
    q, k, v = torch.randn(3, 35000, 2, 4, 64, device=device, dtype=BF16)
    tensors = arguments(q, k, v)
    results = [x[-100:] for x in hopper_backward(*tensors, deterministic=True)]
    assert equal_bits(results, hopper_backward(*(x[-100:] for x in tensors), deterministic=True))


# Again, and what runs.


@on_hopper
@CAUSAL
@HEAD_DIMS
@pytest.mark.parametrize("key_heads", [40, 4])
def test_the_same_again_bit_for_bit(key_heads, head_dim, is_causal, device):
    """Ten times: what is read too early, or added twice, differs now and then."""
    q, k, v = inputs(device, BF16, 1500, 2000, head_dim, heads=40, key_heads=key_heads)
    tensors = arguments(q, k, v, is_causal=is_causal, enable_gqa=True)
    run = partial(hopper_backward, *tensors, is_causal=is_causal, enable_gqa=True, deterministic=True)
    first = run()
    for _ in range(10):
        with prefilled_with_nan():
            assert equal_bits(run(), first)


@on_hopper
@ORDERS
@CAUSAL
@HEAD_DIMS
def test_what_was_in_shared_memory_is_of_no_account(head_dim, is_causal, deterministic, device):
    """Every byte of it is NaN before, on every SM."""
    tensors = arguments(*inputs(device, BF16, 1000, 1500, head_dim, heads=40), is_causal=is_causal)
    run = partial(hopper_backward, *tensors, is_causal=is_causal, deterministic=deterministic)
    expected = run()
    for _ in range(10):
        fill_shared_memory_with_nan[(16 * sms(device),)](num_warps=4)
        dq, *others = run()
        assert equal_bits(others, expected[1:])
        if deterministic or head_dim == 256:
            assert dq.equal(expected[0])
        else:
            assert (dq.float() - expected[0].float()).norm() < 1e-3 * expected[0].float().norm()


BUSY = """
import torch
x = torch.ones(4096, 4096, device="cuda")
print(flush=True)
while True:
    x @ x
    torch.cuda.synchronize()
"""


@on_hopper
@CAUSAL
@HEAD_DIMS
def test_the_same_while_the_gpu_changes_hands(head_dim, is_causal, device):
    """Hundreds of launches, while another process wants the GPU, too: what becomes wrong once in 10**5 programs shows,
    and what becomes wrong when an SM is taken away from a program and given back.
    """
    tensors = arguments(*inputs(device, BF16, 1500, 2000, head_dim, heads=40), is_causal=is_causal)
    run = partial(hopper_backward, *tensors, is_causal=is_causal, deterministic=True)
    expected = run()
    other = subprocess.Popen([sys.executable, "-c", BUSY], stdout=subprocess.PIPE)
    try:
        other.stdout.readline()  # it has begun
        wrong = sum(not equal_bits(run(), expected) for _ in range(300))
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()
    assert wrong == 0


@on_hopper
@CAUSAL
@HEAD_DIMS
def test_any_order_changes_dq_alone_and_it_little(head_dim, is_causal, device):
    tensors = arguments(*inputs(device, BF16, 2000, 2000, head_dim, heads=40), is_causal=is_causal)
    ordered = hopper_backward(*tensors, is_causal=is_causal, deterministic=True)
    for _ in range(5):
        dq, *others = hopper_backward(*tensors, is_causal=is_causal)
        assert equal_bits(others, ordered[1:])
        assert (dq.float() - ordered[0].float()).norm() < 1e-3 * dq.float().norm()
        assert head_dim < 256 or dq.equal(ordered[0])


@on_hopper
def test_a_graph_changes_nothing(device):
    tensors = arguments(*inputs(device, BF16, 300, 400, 64))
    expected = hopper_backward(*tensors, deterministic=True)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        results = hopper_backward(*tensors, deterministic=True)
    for _ in range(3):
        for x in results:
            x.zero_()
        graph.replay()
        assert equal_bits(results, expected)


@on_hopper
@HEAD_DIMS
def test_nothing_else_runs(head_dim, device):
    """Neither torch's attention nor a copy, where no sum of keys has to begin with 0."""
    tensors = arguments(*inputs(device, BF16, 300, 400, head_dim))
    names = KERNELS[:3] if head_dim < 256 else (KERNELS[0], *KERNELS[3:])
    assert launches(partial(hopper_backward, *tensors)) == list(names)


@on_hopper
@CAUSAL
@ORDERS
@HEAD_DIMS
def test_what_the_compiler_says(head_dim, deterministic, is_causal, device, monkeypatch, tmp_path):
    """It lets products overlap, and consumers have their registers."""
    compiled_kernels = []

    def kept(launch):
        return lambda *arguments: compiled_kernels.append(launch(*arguments))

    for name in ("launch_keys", "launch_queries"):
        monkeypatch.setattr(backward_module, name, kept(getattr(backward_module, name)))
    tensors = arguments(*inputs(device, BF16, 300, 400, head_dim), is_causal=is_causal)
    hopper_backward(*tensors, is_causal=is_causal, deterministic=deterministic)
    assert len(compiled_kernels) == (1 if head_dim < 256 else 2)
    for each in compiled_kernels:
        code = tmp_path / "kernel.ptx"
        code.write_text(each.asm["ptx"])
        command = [knobs.nvidia.ptxas.path, "--verbose", "--gpu-name=sm_90a", code, "--output-file", tmp_path / "cubin"]
        compiler_output = subprocess.run(command, check=True, capture_output=True, text=True).stderr
        assert "serialized" not in compiler_output
        assert re.search(rf"setmaxnreg\.inc\S+\s+{backward_module.REGISTERS};", each.asm["ptx"])


# Bad input is named.


def fake(*shape, dtype=FP16, device="cuda", **options):
    """A tensor that says that it is on a GPU, also where there is none, and has no numbers."""
    with FakeTensorMode():
        return torch.empty(*(shape or (2, 4, 8, 16)), dtype=dtype, device=device, **options)


LSE = {"dtype": torch.float32}


@pytest.mark.parametrize(
    "change, error, words",
    [
        (dict.fromkeys(("q", "k", "v"), fake(device="cpu")), ValueError, "query is on cpu, where .* cannot run"),
        (dict.fromkeys(("q", "k", "v"), fake(dtype=torch.float32)), TypeError, "query is torch.float32, float16 or"),
        (dict.fromkeys(("q", "k", "v"), fake(2, 4, 8, 12)), ValueError, "query has head_dim 12, a multiple of 8"),
        ({"q": fake(requires_grad=True)}, ValueError, "query requires a gradient, which this kernel does not"),
        ({"k": fake(2, 4, 8, 24)}, ValueError, "key has head_dim 24, query has 16: they must match"),
        ({"out": [1.0]}, TypeError, "out is list, a tensor is wanted"),
        ({"out": fake(2, 4, 9, 16)}, ValueError, r"out has shape \[2, 4, 9, 16\], \[2, 4, 8, 16\] is wanted"),
        ({"dout": fake(dtype=BF16)}, TypeError, "dout is torch.bfloat16, torch.float16 is wanted"),
        ({"dout": fake(device="cpu")}, ValueError, "dout is on cpu, query is on cuda:0: they must match"),
        ({"lse": fake(2, 4, 8)}, TypeError, "lse is torch.float16, torch.float32 is wanted"),
        ({"lse": fake(2, 4, 9, **LSE)}, ValueError, r"lse has shape \[2, 4, 9\], \[2, 4, 8\] is wanted"),
        ({"dlse": fake(2, 4, 8)}, TypeError, "dlse is torch.float16, torch.float32 is wanted"),
        ({"is_causal": 1}, TypeError, "is_causal is int, True or False is wanted"),
        ({"deterministic": 1}, TypeError, "deterministic is int, True or False is wanted"),
        ({"scale": "1"}, TypeError, "scale is str"),
    ],
)  # fmt: skip
def test_bad_input_is_named(change, error, words, monkeypatch):
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (9, 0))
    right = dict.fromkeys(("q", "k", "v", "out", "dout"), fake()) | {"lse": fake(2, 4, 8, **LSE)}
    with pytest.raises(error, match=words):
        hopper_backward(**right | change)


@pytest.mark.parametrize("shape", [(0, 2, 5, 5), (2, 0, 5, 5), (2, 2, 0, 5), (2, 2, 5, 0)])
def test_empty_gives_zeros(shape, monkeypatch):
    """Without a launch."""
    monkeypatch.setattr(backward_module, "check_hopper", lambda *x: None)
    batch, heads, seq_q, seq_k = shape
    q, k = torch.randn(batch, heads, seq_q, 16).half(), torch.randn(batch, heads, seq_k, 16).half()
    for result, x in zip(hopper_backward(q, k, k, q, q.sum(-1).float(), q), (q, k, k), strict=True):
        assert result.shape == x.shape and result.dtype == FP16 and not result.any()
