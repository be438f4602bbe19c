"""Fixtures of the Hopper tests: the GPU, and the kernels that are launched often."""

from itertools import product

import pytest
import torch

from kernels.hopper import attention as forward_module
from kernels.hopper.attention import hopper_attention
from tests.kernels.hopper.harness import BF16, OTHER_PLANS, compiling, sms


@pytest.fixture(scope="session")
def hopper_gpu():
    """The device, if it is a Hopper GPU."""
    if torch.cuda.get_device_capability() != (9, 0):
        pytest.skip(f"needs a Hopper GPU, here is {torch.cuda.get_device_name()}")
    return torch.device("cuda")


@pytest.fixture(scope="session")
def compiled(hopper_gpu):
    """Every kernel that these tests launch often, compiled side by side: one after the other would take minutes."""
    few, many = 1, sms(hopper_gpu) + 1  # pairs of batch and head; causal, many make pairs of blocks
    with compiling(forward_module):
        for head_dim, is_causal, pairs in product((64, 128, 256), (False, True), (few, many)):
            q = torch.zeros(1, pairs, 1, head_dim, device=hopper_gpu, dtype=BF16)
            hopper_attention(q, q, q, is_causal=is_causal)
            hopper_attention(q, q, q, is_causal=is_causal, return_lse=True)
            if pairs == few:
                hopper_attention(*[q.half()] * 3, is_causal=is_causal, return_lse=True)
        q = torch.zeros(1, many, 1, 64, device=hopper_gpu, dtype=BF16)
        for is_causal, plan in OTHER_PLANS.values():
            hopper_attention(q, q, q, is_causal=is_causal, plan=plan, return_lse=True)
