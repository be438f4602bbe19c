"""FlashAttention on a GPU: long sequences, far offsets, TF32 where allowed, and the numbers of the interpreter."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

from kernels.flash.attention import flash_attention
from kernels.flash.tiles import Tiles
from tests.kernels.error_budget import attention_budget_used, gradient_budget_used
from tests.kernels.flash.harness import (
    CAUSAL,
    flash_budget_used,
    inputs,
    with_gradients,
)
from tests.kernels.interpreter import needs_interpreter
from tests.kernels.tf32 import tf32_allowed

ROOT = Path(__file__).resolve().parents[3]


# What only a GPU can run: other matmul hardware, sizes that an interpreter would never finish.


@pytest.mark.gpu
@CAUSAL
@pytest.mark.parametrize("head_dim", [64, 128, 256])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_long_sequences(dtype, head_dim, is_causal, device):
    q, k, v = torch.randn(3, 1, 1, 8192, head_dim, device=device, dtype=dtype)
    assert flash_budget_used(q, k, v, is_causal=is_causal) <= 1


@pytest.mark.gpu
@CAUSAL
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_two_runs_are_bitwise_equal(dtype, is_causal, device):
    tensors = torch.randn(4, 2, 8, 2000, 128, device=device).to(dtype)
    once, again = (with_gradients(*tensors, is_causal=is_causal) for _ in range(2))
    assert all(x.equal(y) for x, y in zip(once, again, strict=True))


@pytest.mark.large
@pytest.mark.gpu
@pytest.mark.parametrize("shape", [(1, 520, 32768, 128), (520, 1, 32768, 128)])  # 2.18e9 elements, 4.4 GB each
def test_offsets_beyond_2_to_the_31_elements(shape, device):
    tensors = [torch.empty(shape, device=device, dtype=torch.bfloat16).normal_() for _ in range(4)]
    assert tensors[0].numel() > 2**31
    results = [x[-2:, -2:].clone() for x in with_gradients(*tensors, is_causal=True)]
    expected = with_gradients(*(x[-2:, -2:].clone() for x in tensors), is_causal=True)
    assert all(x.equal(y) for x, y in zip(results, expected, strict=True))


@pytest.mark.large
@pytest.mark.gpu
def test_rows_further_apart_than_2_to_the_31_elements(device, monkeypatch):
    rows = 20
    storage = torch.empty((rows - 1) * 2**27 + 64, device=device, dtype=torch.float16)
    k = storage.as_strided((1, 1, rows, 64), (0, 0, 2**27, 1))
    k.copy_(torch.randn(1, 1, rows, 64))
    assert (rows - 1) * k.stride(-2) > 2**31
    # A second block of keys, which begins at 16 · 2**27 = 2**31.
    for module in ("forward", "backward"):
        monkeypatch.setattr(f"kernels.flash.{module}.tiles", lambda kernel, head_dim, dtype: Tiles(32, 16, 4, 1))
    results, expected = (with_gradients(x, x, x, x) for x in (k, k.contiguous()))
    assert all(x.equal(y) for x, y in zip(results, expected, strict=True))


@pytest.mark.large
@pytest.mark.gpu
def test_more_programs_than_a_grid_axis_of_65535(device):
    q, k, v = torch.randn(3, 35000, 2, 4, 16, device=device, dtype=torch.float16)
    assert flash_budget_used(q, k, v) <= 1


@pytest.mark.gpu
@pytest.mark.parametrize("setting, value", [("allow_tf32", True), ("fp32_precision", "tf32")])
def test_fp32_is_true_fp32_unless_tf32_is_allowed(setting, value, device):
    q, k, v = inputs(device, torch.float32, 200, 300, 64)
    exact = flash_attention(q, k, v)
    expected = attention_budget_used(flash_attention, q, k, v)
    with tf32_allowed(setting, value):
        rounded = flash_attention(q, k, v)
    assert expected <= 1 and not rounded.equal(exact)
    assert (rounded - exact).norm() < 0.02 * exact.norm()


@pytest.mark.gpu
@pytest.mark.parametrize("backend", [SDPBackend.FLASH_ATTENTION, SDPBackend.CUDNN_ATTENTION], ids=lambda x: x.name)
def test_a_negative_scale_overflows_in_two_backends_of_pytorch_and_not_here(backend, device):
    q, k, v = (x.requires_grad_() for x in inputs(device, torch.float16, 128, 128, 64))
    dout = torch.randn_like(q)
    out = flash_attention(q, k, v, scale=-0.3)
    assert all(x.isfinite().all() for x in (out, *torch.autograd.grad(out, (q, k, v), dout)))
    with sdpa_kernel(backend):
        out = scaled_dot_product_attention(q, k, v, scale=-0.3)
        assert not out.isfinite().all()
        assert any(x.isnan().any() for x in torch.autograd.grad(out, (q, k, v), dout))


@pytest.mark.gpu
def test_nothing_of_torch_s_own_runs(device):
    """One kernel forward, two backward: neither torch's attention nor its matmul, nor a copy."""
    tensors = [x.requires_grad_() for x in torch.randn(3, 1, 2, 300, 64, device=device, dtype=torch.bfloat16)]
    dout = torch.randn_like(tensors[0])
    torch.autograd.grad(flash_attention(*tensors), tensors, dout)
    with torch.profiler.profile() as profile:
        torch.autograd.grad(flash_attention(*tensors), tensors, dout)
        torch.cuda.synchronize()
    kernels = [e.name for e in profile.events() if e.device_type == torch.autograd.DeviceType.CUDA]
    assert kernels == ["flash_forward_kernel", "flash_dq_kernel", "flash_dkdv_kernel"]


BY_THE_INTERPRETER = """
import sys, torch
from tests.kernels.flash.harness import with_gradients
tensors, is_causal = torch.load(sys.argv[1])
torch.save(with_gradients(*tensors, is_causal=is_causal), sys.argv[2])
"""


@pytest.mark.gpu
@needs_interpreter
@CAUSAL
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_the_interpreter_and_the_gpu_agree(dtype, is_causal, device, tmp_path):
    """The same numbers through both: apart by no more than the budget allows each."""
    tensors = [*inputs(device, dtype, 113, 150, 40), torch.randn(2, 2, 113, 40, device=device).to(dtype)]
    torch.save(([x.cpu() for x in tensors], is_causal), tmp_path / "inputs")
    environment = os.environ | {"TRITON_INTERPRET": "1", "CUDA_VISIBLE_DEVICES": ""}
    command = [sys.executable, "-c", BY_THE_INTERPRETER, tmp_path / "inputs", tmp_path / "outputs"]
    subprocess.run(command, cwd=ROOT, env=environment, check=True)
    interpreted = [x.to(device) for x in torch.load(tmp_path / "outputs")]
    compiled = with_gradients(*tensors, is_causal=is_causal)
    q, k, v, dout = tensors
    for results in (interpreted, compiled):

        def recorded(*_, results=results, **__):
            return Replay.apply(*results, *_)

        assert attention_budget_used(recorded, q, k, v, is_causal=is_causal) <= 1
        assert max(gradient_budget_used(recorded, q, k, v, dout, is_causal=is_causal).values()) <= 1


class Replay(torch.autograd.Function):
    """An attention function that knows its results."""

    @staticmethod
    def forward(ctx, out, dq, dk, dv, q, k, v):
        ctx.save_for_backward(dq, dk, dv)
        return out.clone()

    @staticmethod
    def backward(ctx, _):
        return None, None, None, None, *ctx.saved_tensors
