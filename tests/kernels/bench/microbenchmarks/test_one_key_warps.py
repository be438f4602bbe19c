"""With any number of warps the first kernel is the same kernel."""

import pytest
import torch

from kernels.bench.microbenchmarks.one_key_warps import BY_WARPS, one_key_with
from kernels.first.one_key import one_key_attention, one_key_kernel


@pytest.mark.parametrize("warps", BY_WARPS)
def test_the_answer_is_that_of_four_warps(warps, device):
    q, k, v = torch.randn(3, 2, 2, 5, 12, device=device)
    torch.testing.assert_close(BY_WARPS[warps](q, k, v), one_key_attention(q, k, v))


def test_what_the_kernel_refuses_is_refused(device):
    q, k, v = torch.randn(3, 2, 2, 5, 12, device=device)
    with pytest.raises(ValueError, match="key"):
        one_key_with(q, k[:, :1], v, 1)
    assert one_key_with(q[:, :, :0], k, v, 1).shape == (2, 2, 0, 12)


@pytest.mark.gpu
def test_each_is_compiled_for_its_warps(monkeypatch):
    compiled = []
    launch = type(one_key_kernel).run
    monkeypatch.setattr(type(one_key_kernel), "run", lambda *a, **b: compiled.append(launch(*a, **b)) or compiled[-1])
    q, k, v = torch.randn(3, 1, 1, 4, 16, device="cuda")
    for function in BY_WARPS.values():
        function(q, k, v)
    assert [kernel.metadata.num_warps for kernel in compiled] == [*BY_WARPS]
