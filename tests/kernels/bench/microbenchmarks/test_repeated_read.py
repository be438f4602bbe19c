"""Every program reads every number once, wherever it starts."""

import pytest
import torch

from kernels.bench.microbenchmarks.repeated_read import repeated_read


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, pytest.param(torch.bfloat16, marks=pytest.mark.gpu)])
@pytest.mark.parametrize("blocks, programs", [(1, 1), (1, 3), (2, 2), (8, 7)])
def test_each_program_gives_the_sum_of_all(blocks, programs, dtype, device):
    """Blocks of different values: one read twice and another never would show."""
    x = torch.randint(-9, 9, (blocks, 4096), device=device) + 16 * torch.arange(blocks, device=device)[:, None]
    sums = repeated_read(x.flatten().to(dtype), programs)
    assert sums.equal(x.sum().float().expand(programs))  # whole numbers below 2²⁴: their sums are exact


@pytest.mark.parametrize(
    "x, programs, error, words",
    [
        ([1.0], 1, TypeError, "x is list"),
        (torch.zeros(2, 4096), 1, ValueError, r"x is \[2, 4096\]"),
        (torch.zeros(8192)[::2], 1, ValueError, r"x is \[4096\], contiguous"),
        (torch.zeros(0), 1, ValueError, r"x is \[0\]"),
        (torch.zeros(2048), 1, ValueError, r"x is \[2048\]"),
        (torch.zeros(12288), 1, ValueError, r"x is \[12288\]"),
        (torch.zeros(4096).int(), 1, TypeError, r"x is torch\.int32"),
        (torch.zeros(4096), 0, ValueError, "programs is 0"),
    ],
)
def test_bad_input_is_named(x, programs, error, words, device):
    with pytest.raises(error, match=words):
        repeated_read(x.to(device) if isinstance(x, torch.Tensor) and x.is_contiguous() else x, programs)
