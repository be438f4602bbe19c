"""The call refuses what its kernel cannot do, copies only what TMA cannot read, and is an operator of torch."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from kernels.hopper import attention as forward_module
from kernels.hopper.attention import hopper_attention
from kernels.hopper.plan import PLANS
from tests.kernels.flash.harness import CAUSAL, columns_first, every_other, inputs, sequence_first
from tests.kernels.hopper.harness import BF16, FP16, equal_bits, on_hopper, with_lse

ROOT = Path(__file__).resolve().parents[3]


# Layouts: the same numbers, however they lie in memory.


def shifted(x):
    """TMA reads from multiples of 16 bytes; a view may start anywhere."""
    return torch.cat([x.new_zeros(1), x.flatten()])[1:].view_as(x)


def wider(x):
    """Rows with 4 numbers between them, 8 bytes: not where TMA reads from."""
    return torch.cat([x, x[..., :4]], -1)[..., : x.shape[-1]]


def apart(x):
    """Rows with 8 numbers between them."""
    return torch.cat([x, x[..., :8]], -1)[..., : x.shape[-1]]


READ_IN_PLACE, COPIED = (every_other, sequence_first, apart), (columns_first, shifted, wider)


@on_hopper
@CAUSAL
@pytest.mark.parametrize("layout", READ_IN_PLACE + COPIED)
def test_where_numbers_lie_changes_nothing(layout, is_causal, device):
    tensors = inputs(device, BF16, 137, 250, 72)
    expected = hopper_attention(*tensors, is_causal=is_causal)
    for number in range(3):
        laid_out = [layout(x) if i == number else x for i, x in enumerate(tensors)]
        assert hopper_attention(*laid_out, is_causal=is_causal).equal(expected)


@pytest.mark.parametrize("layout", READ_IN_PLACE + COPIED)
def test_only_what_tma_cannot_read_is_copied(layout):
    x = layout(torch.randn(2, 3, 20, 72).half())
    tensor = forward_module.make_descriptor(x, 64, 128)
    assert (tensor.base.data_ptr() == x.data_ptr()) == (layout in READ_IN_PLACE)
    assert tensor.base.equal(x) and tensor.base.data_ptr() % 16 == 0
    assert all(stride % 8 == 0 for stride in tensor.strides[:-1]) and tensor.strides[-1] == 1


@on_hopper
@pytest.mark.parametrize("axis", range(4), ids=["batch", "heads", "sequence", "head_dim"])
def test_stride_0_changes_nothing(axis, device):
    expanded = [x.narrow(axis, 0, 1).expand_as(x) for x in inputs(device, BF16, 150, 150, 72)]
    assert all(x.stride(axis) == 0 for x in expanded)
    copied = [x.clone(memory_format=torch.contiguous_format) for x in expanded]
    assert hopper_attention(*expanded, is_causal=True).equal(hopper_attention(*copied, is_causal=True))


@pytest.mark.large
@on_hopper
@pytest.mark.parametrize("large", ["queries", "keys"])
def test_offsets_beyond_2_to_the_31_elements(large, device):
    """2.18e9 elements, 4.4 GB."""
    long, short = (torch.empty(1, 520, n, 128, device=device, dtype=BF16).normal_() for n in (32768, 130))
    assert long.numel() > 2**31
    q, k = (long, short) if large == "queries" else (short, long)
    results = [x[:, -2:] for x in with_lse(q, k, k)]
    assert equal_bits(results, with_lse(q[:, -2:].clone(), *[k[:, -2:].clone()] * 2))


@pytest.mark.large
@on_hopper
def test_rows_further_apart_than_2_to_the_31_elements(device):
    rows = 20
    storage = torch.empty((rows - 1) * 2**27 + 64, device=device, dtype=BF16)
    x = storage.as_strided((1, 1, rows, 64), (0, 0, 2**27, 1))
    x.copy_(torch.randn(1, 1, rows, 64))
    assert (rows - 1) * x.stride(-2) > 2**31
    assert forward_module.make_descriptor(x, 64, 64).base.data_ptr() == x.data_ptr()
    assert hopper_attention(x, x, x).equal(hopper_attention(*[x.contiguous()] * 3))


# Bad input is named, and with it what does the same work.


def fake(*shape, dtype=FP16, device="cuda", **options):
    """A tensor that says that it is on a GPU, also where there is none, and has no numbers."""
    with FakeTensorMode():
        return torch.empty(*(shape or (2, 4, 8, 16)), dtype=dtype, device=device, **options)


INSTEAD = "use flash_attention$"
CHOOSE = "use kernels.dispatch.attention$"


@pytest.mark.parametrize(
    "change, error, words",
    [
        (dict.fromkeys("qkv", fake(device="cpu")), ValueError, f"query is on cpu, where .* cannot run: {CHOOSE}"),
        (dict.fromkeys("qkv", fake(dtype=torch.float32)), TypeError, f"query is torch.float32, float16 or .*{CHOOSE}"),
        (dict.fromkeys("qkv", fake(dtype=torch.float64)), TypeError, f"query is torch.float64, float16 or .*{CHOOSE}"),
        (dict.fromkeys("qkv", fake(2, 4, 8, 12)), ValueError, f"query has head_dim 12, a multiple of 8 .*{INSTEAD}"),
        (dict.fromkeys("qkv", fake(2, 4, 8, 264)), ValueError, "query has head_dim 264, at most 256 is wanted"),
        ({"k": fake(dtype=BF16)}, TypeError, "key is torch.bfloat16, query is torch.float16: they must match"),
        ({"v": fake(device="cpu")}, ValueError, "value is on cpu, query is on cuda:0: they must match"),
        ({"k": fake(2, 4, 8, 24)}, ValueError, "key has head_dim 24, query has 16: they must match"),
        (dict.fromkeys("kv", fake(2, 2, 8, 16)), ValueError, "key has 2 heads, query has 4: .* enable_gqa"),
        (dict.fromkeys("qkv", fake(4, 8, 16)), ValueError, "query has 3 dimensions"),
        ({"is_causal": 1}, TypeError, "is_causal is int, True or False is wanted"),
        ({"scale": "1"}, TypeError, "scale is str"),
        ({"plan": PLANS[64, True]._replace(consumers=1)}, ValueError, "plan has 1 consumers, 2 or 3 are wanted"),
        ({"plan": PLANS[64, True]._replace(consumers=4)}, ValueError, "plan has 4 consumers, 2 or 3 are wanted"),
        ({"plan": PLANS[64, True]._replace(q_stages=1)}, ValueError, "overlap_epilogue with q_stages 1, 2 or more are"),
    ],
)  # fmt: skip
def test_bad_input_is_named(change, error, words, monkeypatch):
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (9, 0))
    with pytest.raises(error, match=words):
        hopper_attention(**dict.fromkeys("qkv", fake()) | change)


@pytest.mark.parametrize("capability", [(8, 0), (8, 9), (9, 1), (10, 0), (12, 0)])
def test_another_gpu_is_refused(capability, monkeypatch):
    """By its name: a later one has no wgmma either."""
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: capability)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "NVIDIA Something")
    words = "query is on NVIDIA Something, and .* needs a Hopper GPU, of compute capability 9.0: use flash_attention$"
    with pytest.raises(RuntimeError, match=words):
        hopper_attention(*[fake()] * 3)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (9, 0))
    monkeypatch.setattr(torch.version, "hip", "6.4")  # AMD's numbers mean something else
    with pytest.raises(RuntimeError, match=words):
        hopper_attention(*[fake()] * 3)


WITHOUT_GLUON = """
import sys
sys.modules["triton.experimental.gluon"] = None
import kernels, kernels.flash.attention
assert kernels.flash_attention is kernels.flash.attention.flash_attention
kernels.hopper_attention
"""


def test_a_triton_without_gluon_is_told_what_to_do():
    run = subprocess.run([sys.executable, "-c", WITHOUT_GLUON], cwd=ROOT, capture_output=True, text=True)
    assert run.stderr.splitlines()[-1].startswith("ImportError: hopper_attention needs Gluon for Hopper, as triton ")
    assert run.stderr.endswith(": use flash_attention\n")


# What torch has to know of the kernel.


def test_tensors_without_numbers_give_shapes(monkeypatch):
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (9, 0))
    with FakeTensorMode():
        q, k = (torch.empty(2, 4, n, 16, dtype=BF16, device="cuda") for n in (8, 9))
        out, lse = hopper_attention(q, k, k, return_lse=True)
    assert out.shape == q.shape and out.dtype == BF16
    assert lse.shape == q.shape[:-1] and lse.dtype == torch.float32


@on_hopper
@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning", "ignore::FutureWarning")
def test_torch_compile_traces_it_whole(device):
    q, k, v = inputs(device, BF16, 137, 150, 64)

    def f(q, k, v):
        out, lse = hopper_attention(q, k, v, is_causal=True, scale=-0.3, return_lse=True)
        return 2 * out, lse + 1

    with torch.no_grad():
        for eager, compiled in zip(f(q, k, v), torch.compile(f, fullgraph=True)(q, k, v), strict=True):
            torch.testing.assert_close(compiled, eager)


@on_hopper
def test_it_is_an_operator_as_torch_has_them(device):
    q, k, v = inputs(device, BF16, 70, 90, 64)
    for lse_too in (False, True):
        plan = [int(x) for x in PLANS[64, True]]
        torch.library.opcheck(forward_module.hopper_forward, (q, k, v, True, 0.3, lse_too, plan))


@on_hopper
def test_neither_autocast_nor_a_graph_changes_a_bit(device):
    q, k, v = inputs(device, BF16, 137, 150, 64)
    expected = hopper_attention(q, k, v)
    with torch.autocast("cuda", dtype=FP16):
        assert hopper_attention(q, k, v).equal(expected)
    with torch.inference_mode():
        assert hopper_attention(q, k, v).equal(expected)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = hopper_attention(q, k, v)
    out.zero_()
    graph.replay()
    assert out.equal(expected)
