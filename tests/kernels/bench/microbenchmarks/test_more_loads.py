"""With loads that nobody needs the first kernel gives the same answer, and makes them."""

import pytest
import torch

from kernels.bench.microbenchmarks.more_loads import BY_LOADS, more_loads_kernel, more_loads_with
from kernels.bench.profiling.sass import loops, opcodes
from kernels.first.one_key import one_key_attention


@pytest.mark.parametrize("more", BY_LOADS)
@pytest.mark.parametrize("head_dim", [12, 64])
def test_the_answer_is_that_of_the_first_kernel(more, head_dim, device):
    q = torch.randn(2, 2, 3, head_dim, device=device)
    k, v = torch.randn(2, 2, 2, 5, head_dim, device=device)
    torch.testing.assert_close(BY_LOADS[more](q, k, v), one_key_attention(q, k, v))


def test_what_the_kernel_refuses_is_refused(device):
    q, k, v = torch.randn(3, 2, 2, 5, 12, device=device)
    with pytest.raises(ValueError, match="key"):
        more_loads_with(q, k[:, :1], v, 1)
    assert more_loads_with(q[:, :, :0], k, v, 1).shape == (2, 2, 0, 12)


@pytest.mark.gpu
@pytest.mark.parametrize("more", BY_LOADS)
def test_the_compiler_keeps_the_loads(monkeypatch, more):
    compiled = []
    launch = type(more_loads_kernel).run
    monkeypatch.setattr(
        type(more_loads_kernel), "run", lambda *a, **b: compiled.append(launch(*a, **b)) or compiled[-1]
    )
    BY_LOADS[more](*torch.randn(3, 1, 1, 64, 128, device="cuda").half())
    assert [opcodes(loop)["LDG"] for loop in loops(compiled[0].asm["sass"])] == [1 + more] * 2
