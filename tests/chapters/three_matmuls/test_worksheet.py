"""The key of its worksheet: scores, weights and outputs are those of the library."""

import pytest

from kernels.reference import attention
from scripts.chapters import worksheets
from tests.chapters.worksheet_numbers import SEEDS, matrices, numbers


@pytest.mark.parametrize("seed", SEEDS)
def test_the_key_agrees_with_the_library(seed):
    sheet = worksheets.make("three-matmuls", seed)
    q, k, v = matrices(sheet)
    weights = (q @ k.T / 2**0.5).softmax(-1)
    outputs = attention(q, k, v)
    for row, dots, weight, output in zip(sheet.rows, q @ k.T, weights, outputs, strict=True):
        assert numbers(row[1]) == dots.tolist()
        assert float(row[2]) == pytest.approx((dots / 2**0.5).exp().sum().item(), abs=0.02)
        assert numbers(row[3]) == pytest.approx((100 * weight).tolist(), abs=0.6)
        assert numbers(row[4]) == pytest.approx(output.tolist(), abs=0.06) and sum(numbers(row[4])) == 10
