"""A peer is PyTorch's attention by the backend that its name says, and no other."""

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

from kernels.bench.peers import SDPA
from kernels.reference import attention


@pytest.fixture
def qkv(device):
    dtype = torch.float16 if device.type == "cuda" else torch.float32
    return torch.randn(3, 1, 2, 64, 64, device=device, dtype=dtype)


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("name", SDPA)
def test_a_peer_is_attention(name, is_causal, qkv):
    if qkv.device.type == "cpu" and name in ("sdpa_cudnn", "sdpa_efficient"):
        with pytest.raises(RuntimeError):
            SDPA[name](*qkv)
        return
    out = SDPA[name](*qkv, is_causal=is_causal)
    torch.testing.assert_close(out, attention(*qkv, is_causal=is_causal), atol=2e-3, rtol=2e-3)


def operators(function):
    """The names of PyTorch's operators that a call runs."""
    seen = []

    class Watch(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, operator, types, args=(), kwargs=None):
            seen.append(str(operator))
            return operator(*args, **(kwargs or {}))

    with Watch():
        function()
    return seen


def test_the_math_backend_is_asked_for_and_the_flash_backend_is(qkv):
    assert not any("flash" in name for name in operators(lambda: SDPA["sdpa_math"](*qkv)))
    assert any("flash" in name for name in operators(lambda: SDPA["sdpa_flash"](*qkv)))


@pytest.mark.gpu
@pytest.mark.parametrize("name", SDPA)
def test_on_a_gpu_each_name_runs_its_backend(name, qkv):
    backend = name.removeprefix("sdpa_")
    others = {"flash", "cudnn", "efficient"} - {backend}
    ran = operators(lambda: SDPA[name](*qkv))
    assert backend == "math" or any(backend in operator for operator in ran)
    assert not any(other in operator for operator in ran for other in others)


def test_a_peer_leaves_the_choice_of_others_alone(qkv):
    before = operators(lambda: scaled_dot_product_attention(*qkv))
    SDPA["sdpa_math"](*qkv)
    assert operators(lambda: scaled_dot_product_attention(*qkv)) == before
