"""A sum of two vectors is torch's to the bit."""

import pytest
import torch

from kernels.first.add import BLOCK, add
from tests.kernels.first.harness import tensors_on
from tests.kernels.prefilled import prefilled_with_nan

on_a_gpu = pytest.mark.gpu
LONGEST = 2**31  # numbers of a vector that add takes
TOO_LONG = torch.empty(LONGEST + 1, dtype=torch.float16, device="meta")


@pytest.mark.parametrize("length", [0, 1, 3, BLOCK - 1, BLOCK, BLOCK + 1, 2500])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, pytest.param(torch.bfloat16, marks=on_a_gpu)])
def test_a_sum_is_torch_s_to_the_bit(length, dtype, device):
    x, y = torch.randn(2, length, device=device).to(dtype)
    with prefilled_with_nan():
        assert add(x, y).equal(x + y)


@pytest.mark.filterwarnings("ignore:.*encountered in add")  # numpy's, in the interpreter
def test_a_sum_of_what_no_number_is(device):
    x = torch.tensor([torch.inf, torch.inf, torch.nan, -0.0, 3e38], device=device)
    y = torch.tensor([1, -torch.inf, 1, -0.0, 3e38], device=device)
    torch.testing.assert_close(add(x, y), x + y, rtol=0, atol=0, equal_nan=True)


@on_a_gpu
def test_the_longest_sum(device):
    if torch.cuda.mem_get_info()[0] < 3.2 * 2 * LONGEST:
        pytest.skip("needs 14 GB of free memory")
    x = torch.zeros(LONGEST, dtype=torch.float16, device=device)
    y = torch.zeros(LONGEST, dtype=torch.float16, device=device)
    y[-3:] = 1
    assert add(x, y)[-4:].tolist() == [0, 1, 1, 1]


@pytest.mark.parametrize(
    "arguments, error, words",
    [
        (([1.0], torch.ones(1)), TypeError, "x is list, a tensor is wanted"),
        ((torch.ones(2, 2), torch.ones(4)), ValueError, "x has 2 dimensions"),
        ((torch.ones(4), torch.ones(8)[::2]), ValueError, "y has stride 2, 1 is wanted"),
        ((TOO_LONG, TOO_LONG), ValueError, r"x has 2147483649 numbers, at most 2\*\*31"),
        ((torch.ones(4), torch.ones(5)), ValueError, "y has 5 numbers, x has 4"),
        ((torch.ones(4), torch.ones(4).half()), TypeError, r"y is torch\.float16, x is torch\.float32"),
        ((torch.ones(4), torch.ones(4, device="meta")), ValueError, "y is on meta, x is on {device}"),
        ((torch.ones(4, requires_grad=True), torch.ones(4)), ValueError, "x requires a gradient"),
        ((torch.ones(4).int(), torch.ones(4).int()), TypeError, r"x is torch\.int32"),
    ],
)
def test_a_sum_refuses(arguments, error, words, device):
    with pytest.raises(error, match=words.format(device=device.type)):
        add(*tensors_on(device, arguments))
