"""What the tests of the Hopper kernel share: what to compile, how to launch, what to compare."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import NamedTuple

import pytest
import torch
from triton import AsyncCompileMode

from kernels.hopper.attention import hopper_attention
from kernels.hopper.plan import PLANS, Plan
from tests.kernels.error_budget import attention_budget_used, lse_budget_used
from tests.kernels.prefilled import prefilled_with_nan

FP16, BF16 = torch.float16, torch.bfloat16
DTYPES = pytest.mark.parametrize("dtype", [FP16, BF16], ids=["fp16", "bf16"])
HEAD_DIMS = pytest.mark.parametrize("head_dim", [64, 128, 256])  # what the kernel is compiled for


# Plans that are not the default one of head_dim 64, but can be asked for.
OTHER_PLANS = {
    "two consumers": (False, Plan(2, 128, 2, 3, 240)),
    "three consumers, causal": (True, Plan(3, 128, 2, 3, 160)),
    "ping-pong": (True, Plan(2, 128, 2, 3, 240, ping_pong=True)),
    "no ping-pong": (False, PLANS[64, False]._replace(ping_pong=False)),
    "ping-pong of three, causal": (True, PLANS[64, False]),
    "no overlap of softmax": (True, Plan(2, 128, 2, 3, 240, overlap_softmax=False)),
    "few keys a tile": (True, Plan(2, 64, 2, 3, 240)),
    "three consumers, few keys a tile": (True, Plan(3, 64, 2, 3, 160, overlap_epilogue=True, half_last_block=True)),
    "nothing fetched ahead": (True, Plan(2, 128, 1, 1, 240)),
    "no pairs": (True, PLANS[64, True]._replace(pair_blocks=False)),
    "no tail of single blocks": (True, PLANS[64, True]._replace(longest_first_tail=False)),
    "conditional rescaling": (True, PLANS[64, True]._replace(conditional_rescale=True)),
    "queries in registers": (True, PLANS[64, True]._replace(queries_in_registers=True)),
    "queries in shared memory": (False, PLANS[128, False]._replace(queries_in_registers=False)),
    "no overlap of the epilogue": (False, PLANS[64, False]._replace(overlap_epilogue=False)),
    "overlapped epilogue, three stages of queries": (False, Plan(2, 128, 3, 2, 240, overlap_epilogue=True)),
    "overlapped epilogue, half of the last block, queries in registers": (
        True,
        PLANS[128, True]._replace(overlap_epilogue=True, half_last_block=True),
    ),
    "all of the last block": (True, PLANS[64, True]._replace(half_last_block=False)),
    "ping-pong, nothing fetched ahead": (False, Plan(2, 128, 1, 1, 240, ping_pong=True)),
    "conditional rescaling, ping-pong": (False, PLANS[64, False]._replace(conditional_rescale=True)),
    "not persistent": (True, PLANS[64, True]._replace(persistent=False)),
    "not persistent, not causal": (False, PLANS[64, False]._replace(persistent=False)),
}


# The GPU, and what is compiled for it.


def on_hopper(test):
    """Marks what only a Hopper GPU can run."""
    return pytest.mark.gpu(pytest.mark.usefixtures("compiled")(test))


def sms(device):
    return torch.cuda.get_device_properties(device).multi_processor_count


class Unlaunched(NamedTuple):
    """A kernel that is compiled where it would be launched."""

    kernel: object

    def __getitem__(self, grid):
        return partial(self.kernel.warmup, grid=grid)


@contextmanager
def compiling(*modules):
    """Launches of these modules' hopper_kernel only compile it, all at the same time, until the end of the block.

    What cannot be compiled is an error of the test that launches it.
    """
    with (
        pytest.MonkeyPatch.context() as patch,
        ThreadPoolExecutor() as pool,
        AsyncCompileMode(pool, ignore_errors=True),
    ):
        for module in modules:
            patch.setattr(module, "hopper_kernel", Unlaunched(module.hopper_kernel))
        yield


# The budget.


def largest_budget_used(attention, q, k, v, **options):
    """How much of the budget is used, by the output or by the log-sum-exp.  What is not written is NaN."""

    def both(*tensors, return_lse=True, **options):
        with prefilled_with_nan():
            return attention(*tensors, return_lse=True, **options)

    def output(*tensors, **options):
        return both(*tensors, **options)[0]

    of_output = attention_budget_used(output, q, k, v, **options)
    return max(of_output, lse_budget_used(both, q, k, v, **options))


def equal_bits(results, expected):
    """Bit for bit."""
    return all(x.equal(y) for x, y in zip(results, expected, strict=True))


with_lse = partial(hopper_attention, return_lse=True)
