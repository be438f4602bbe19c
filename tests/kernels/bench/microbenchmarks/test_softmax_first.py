"""A kernel with another function inside is the same kernel but for that, and is attention."""

import pytest
import torch

from kernels.bench.microbenchmarks.softmax_first import (
    copy_with_globals,
    kernel_with_globals,
    softmax_first_attention,
    softmax_first_kernel,
)
from kernels.hopper.consumer import consume, online_softmax, remaining_blocks, step
from kernels.hopper.kernel import hopper_kernel
from kernels.reference import oracle


def three():
    return 3


def doubled(x: int = 1, *, more: int = 0) -> int:
    """Twice that and three."""
    return 2 * x + three() + more


def test_another_function_reads_another_name_and_leaves_the_first_alone():
    changed = copy_with_globals(doubled, three=lambda: 30)
    assert (changed(), changed(2, more=5), doubled()) == (32, 39, 5)
    assert (changed.__name__, changed.__annotations__) == ("doubled", doubled.__annotations__)
    assert changed.__module__ == doubled.__module__


def test_only_the_step_weighs_first():
    inner = softmax_first_kernel().fn.__globals__["consume"]
    blocks = inner.fn.__globals__["remaining_blocks"]
    assert "online_softmax_first" in blocks.fn.__globals__["step"].fn.__globals__["online_softmax"].fn.__qualname__
    # The first block of keys of a consumer has no product with values to overlap with.
    assert (
        inner.fn.__globals__["online_softmax"]
        is consume.fn.__globals__["online_softmax"]
        is step.fn.__globals__["online_softmax"]
        is online_softmax
    )
    assert hopper_kernel.fn.__globals__["consume"] is consume
    assert consume.fn.__globals__["remaining_blocks"] is remaining_blocks
    assert remaining_blocks.fn.__globals__["step"] is step


def test_arguments_are_those_of_the_kernel():
    changed = kernel_with_globals(hopper_kernel)
    assert changed.do_not_specialize == hopper_kernel.do_not_specialize
    one, two = ([(x.name, x.is_constexpr, x.do_not_specialize) for x in y.params] for y in (changed, hopper_kernel))
    assert one == two


def test_it_refuses_a_gradient():
    q = torch.zeros(1, 1, 64, 64, dtype=torch.bfloat16, requires_grad=True)
    with pytest.raises(ValueError, match=r"query requires a gradient.*hopper_attention"):
        softmax_first_attention(q, q, q)


@pytest.mark.gpu
@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("head_dim", [64, 128, 256])
def test_it_is_attention(head_dim, is_causal):
    if torch.cuda.get_device_capability() != (9, 0):
        pytest.skip("needs a Hopper GPU")
    q, k, v = torch.randn(3, 2, 3, 1000, head_dim, device="cuda", dtype=torch.bfloat16)
    truth = oracle(q, k, v, is_causal=is_causal)
    error = softmax_first_attention(q, k, v, is_causal=is_causal) - truth
    assert error.norm() < 0.005 * truth.norm()
