"""Whatever the stride, every number is read exactly once, by the program that should read it."""

import pytest
import torch

from kernels.bench.microbenchmarks import strided_read as module
from kernels.bench.microbenchmarks.strided_read import strided_read


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, pytest.param(torch.bfloat16, marks=pytest.mark.gpu)])
@pytest.mark.parametrize("size, stride", [(2880, 1), (2880, 3), (2880, 32), (64, 64), (1, 1)])
def test_each_program_reads_its_rows_of_one_column(size, stride, dtype, device, monkeypatch):
    monkeypatch.setattr(module, "BLOCK", 256)
    x = torch.randint(-100, 100, (size,), device=device).to(dtype)  # whole numbers: their sums are exact
    columns = x.float().view(size // stride, stride).T
    expected = torch.cat([column.split(256)[block].sum()[None]
                          for column in columns for block in range(len(column.split(256)))])  # fmt: skip
    assert strided_read(x, stride).equal(expected)


@pytest.mark.parametrize("stride", [1, 2, 5, 16])
def test_every_number_is_read_once(stride, device):
    """The total is Σ count · x; x at random says that each count is 1."""
    for _ in range(5):
        x = torch.randint(-100, 100, (4000,), device=device)
        assert strided_read(x.float(), stride).sum() == x.sum()


def test_nothing_to_read_gives_no_sums(device):
    assert strided_read(torch.empty(0, device=device), 4).shape == (0,)


@pytest.mark.parametrize(
    "x, stride, error, words",
    [
        ([1.0], 1, TypeError, "x is list"),
        (torch.zeros(2, 3), 1, ValueError, "x has 2 dimensions"),
        (torch.zeros(8)[::2], 1, ValueError, "x has stride 2, a contiguous tensor"),
        (torch.zeros(8).int(), 1, TypeError, r"x is torch\.int32"),
        (torch.zeros(8), 2.0, TypeError, "stride is float"),
        (torch.zeros(8), 0, ValueError, "stride is 0"),
        (torch.zeros(8), 3, ValueError, "stride is 3, a divisor of x's size 8"),
    ],
)
def test_bad_input_is_named(x, stride, error, words, device):
    with pytest.raises(error, match=words):
        strided_read(x.to(device) if isinstance(x, torch.Tensor) and x.is_contiguous() else x, stride)


@pytest.mark.large
@pytest.mark.gpu
def test_numbers_beyond_2_to_the_31(device):
    x = torch.zeros(2**31 + 2**20, device=device, dtype=torch.float16)
    x[-8:] = 1
    assert strided_read(x, 32).sum() == 8


@pytest.mark.gpu
def test_one_compilation_serves_all_strides(device):
    x = torch.ones(2**12, device=device)
    strided_read(x, 4)
    caches = module.strided_read_kernel.device_caches
    before = len(caches[x.device.index or 0][0])
    for stride in (1, 2, 16, 32):
        strided_read(x, stride)
    assert len(caches[x.device.index or 0][0]) == before
