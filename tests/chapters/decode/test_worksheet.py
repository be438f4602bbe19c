"""The key of its worksheet: the parts of a cache and what they merge to are those of the library."""

import pytest
import torch

from kernels.reference import attention
from scripts.chapters import worksheets
from tests.chapters.worksheet_numbers import LN_2, SEEDS, numbers, pairs


@pytest.mark.parametrize("seed", SEEDS)
def test_the_key_agrees_with_the_library(seed):
    sheet = worksheets.make("decode", seed)
    scores = torch.tensor(numbers(sheet.given[0].partition("values")[0]), dtype=torch.float64)
    values = torch.tensor(pairs(sheet.given[0]), dtype=torch.float64)
    query, keys = torch.ones(1, 1, dtype=torch.float64), scores[:, None]
    output = attention(query, keys, values, scale=LN_2)[0].tolist()
    for row, tokens in zip(sheet.rows, (slice(2), slice(2, 4)), strict=True):
        maximum = scores[tokens].max()
        assert [float(row[1]), float(row[2])] == [maximum.item(), (2 ** (scores[tokens] - maximum)).sum().item()]
        assert numbers(row[3]) == pytest.approx(attention(query, keys[tokens], values[tokens], scale=LN_2)[0].tolist())
    total, merged = numbers(sheet.questions[0][1]), numbers(sheet.questions[2][1])
    assert total[0] == (2**scores).sum().item() and total[1:] == merged == pytest.approx(output)
    sums = [(2 ** (scores[tokens] - scores.max())).sum().item() for tokens in (slice(2), slice(2, 4))]
    assert numbers(sheet.questions[1][1]) == pytest.approx(sums)
