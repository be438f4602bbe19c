"""The key of its worksheet: each tile fetches its rows and columns, and the product is that of the whole tables."""

import re

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from scripts.chapters import worksheets
from tests.chapters.worksheet_numbers import SEEDS


@pytest.mark.parametrize("seed", SEEDS)
def test_the_key_agrees_with_the_library(seed):
    """Each tile fetches its rows and columns, and the product is that of the whole tables."""
    sheet = worksheets.make("primer", seed)
    n = int(re.search(r"of (\d+) by", sheet.given[0])[1])
    first, second = torch.randn(2, n, n, dtype=torch.float64)
    for row in sheet.rows:
        edge, *expected = (int(cell.replace(",", "")) for cell in row)
        rows, columns = first.split(edge), second.split(edge, 1)
        fetched = [[a.numel() + b.numel() for b in columns] for a in rows]
        with FlopCounterMode(display=False) as counter:
            product = torch.cat([torch.cat([a @ b for b in columns], 1) for a in rows])
        torch.testing.assert_close(product, first @ second)
        everything = sum(map(sum, fetched))
        counted = [len(rows) * len(columns), fetched[0][0], everything, counter.get_total_flops() / everything]
        assert counted == expected
