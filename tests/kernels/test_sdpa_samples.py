"""PyTorch's own sample inputs for ``scaled_dot_product_attention``: few keys, and scores so large that one wins.

Beside SDPA's math backend, which keeps weights and outputs in FP32, gradients in 16 bits look several times too far
off.  They are no further off than those of SDPA's flash backend, for the same two roundings: ``delta`` is made of the
output as it was stored, and weights and the gradients of scores are rounded before a tensor core multiplies them.
"""

import pytest
import torch
from torch.testing import make_tensor

from kernels import dispatch
from kernels.first.key_blocks import key_blocks_attention
from kernels.first.one_key import one_key_attention
from kernels.first.three_kernels import three_kernel_attention
from kernels.flash.attention import flash_attention
from kernels.hopper.attention import hopper_attention
from tests.kernels.error_budget import attention_budget_used, gradient_budget_used

pytestmark = pytest.mark.filterwarnings("ignore:(overflow|invalid value) encountered:RuntimeWarning")

FP32, FP16, BF16 = torch.float32, torch.float16, torch.bfloat16
DTYPES = pytest.mark.parametrize("dtype", [FP32, FP16, pytest.param(BF16, marks=pytest.mark.gpu)])
CAUSAL = pytest.mark.parametrize("is_causal", [False, True], ids=["full", "causal"])

# Shapes of q, and of k and v.  PyTorch's with a dimension less have got the batch or the head that it broadcasts to.
SHAPES = {"batch": [(4, 1, 3, 8), (4, 1, 6, 8)], "heads": [(4, 4, 3, 8), (4, 4, 6, 8)]}
SHAPES["one query for all"] = [(1, 4, 3, 8), (4, 4, 6, 8)]
SAMPLES = pytest.mark.parametrize("sample", SHAPES)


def inputs(sample, dtype, device):
    """As torch.testing._internal.common_methods_invocations makes them: evenly from -9 to 9."""
    torch.manual_seed(7)
    q_shape, kv_shape = SHAPES[sample]
    q, k, v = (make_tensor(shape, dtype=dtype, device="cpu") for shape in (q_shape, kv_shape, kv_shape))
    return [x.to(device) for x in (q.expand(len(k), -1, -1, -1).contiguous(), k, v)]


@CAUSAL
@DTYPES
@SAMPLES
@pytest.mark.parametrize("rung", [one_key_attention, key_blocks_attention, three_kernel_attention])
def test_the_first_rungs_keep_their_budget(rung, sample, dtype, is_causal, device):
    rounded = dtype if rung is three_kernel_attention else None
    q, k, v = inputs(sample, dtype, device)
    assert attention_budget_used(rung, q, k, v, rounded=rounded, is_causal=is_causal) <= 1


@CAUSAL
@DTYPES
@SAMPLES
@pytest.mark.parametrize(
    "rung", [flash_attention, pytest.param(hopper_attention, marks=pytest.mark.gpu), dispatch.attention]
)
def test_gradients_keep_their_budget(rung, sample, dtype, is_causal, device):
    q, k, v = inputs(sample, dtype, device)
    if rung is hopper_attention and not dispatch.hopper_supports(q, k, v):
        pytest.skip("hopper_attention takes FP16 and BF16 on a Hopper GPU")
    assert max(gradient_budget_used(rung, q, k, v, is_causal=is_causal).values()) <= 1
