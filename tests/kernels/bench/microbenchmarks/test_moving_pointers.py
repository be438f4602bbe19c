"""With pointers that move on, the first kernel gives the same answer by fewer comparisons."""

import pytest
import torch

from kernels.bench.microbenchmarks.moving_pointers import BY_WARPS, moving_pointers_with
from kernels.first.one_key import one_key_attention


@pytest.mark.parametrize("warps", BY_WARPS)
@pytest.mark.parametrize("head_dim", [12, 16])
def test_the_answer_is_that_of_the_first_kernel(warps, head_dim, device):
    q = torch.randn(2, 2, 3, head_dim, device=device)
    k, v = torch.randn(2, 2, 2, 5, head_dim, device=device)
    torch.testing.assert_close(BY_WARPS[warps](q, k, v), one_key_attention(q, k, v))


def test_what_the_kernel_refuses_is_refused(device):
    q, k, v = torch.randn(3, 2, 2, 5, 12, device=device)
    with pytest.raises(ValueError, match="key"):
        moving_pointers_with(q, k[:, :1], v, 1)
    assert moving_pointers_with(q[:, :, :0], k, v, 1).shape == (2, 2, 0, 12)
