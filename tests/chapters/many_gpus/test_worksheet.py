"""The key of its worksheet: the parts of two GPUs, what they merge to, and the gradients are those of the library."""

import re
from math import log

import pytest
import torch

from kernels.flash.partial import merge
from kernels.parallel.local import attend
from kernels.reference import attention
from scripts.chapters import worksheets
from tests.chapters.worksheet_numbers import SEEDS, numbers


@pytest.mark.parametrize("seed", SEEDS)
def test_the_key_is_right(seed):
    sheet = worksheets.make("many-gpus", seed)
    rows = torch.tensor([list(map(float, row.split(", "))) for row in re.findall(r"\[([-\d, ]+)\]", sheet.given[0])])
    q, k, v = rows.double().view(3, 1, 1, 4, 2)
    v.requires_grad_()
    parts = [attend(q, k[:, :, own], v[:, :, own], is_causal=False, scale=log(2)) for own in (slice(2), slice(2, 4))]
    merged = merge(*parts[0], *parts[1])[0][0, 0]
    for word, (_, *cells) in enumerate(sheet.rows):
        for (out, lse), (total, output) in zip(parts, (cells[:2], cells[2:4]), strict=True):
            assert float(total) == pytest.approx(lse[0, 0, word].exp().item())
            assert numbers(output) == pytest.approx(out[0, 0, word].tolist())
        assert numbers(cells[4]) == pytest.approx(merged[word].tolist())
        assert sum(numbers(cells[4])) == pytest.approx(numbers(sheet.given[1])[-1])
    whole = attention(q, k, v, scale=log(2))[0, 0]
    given = [torch.autograd.grad(whole[own, 0].sum(), v, retain_graph=True)[0] for own in (slice(2), slice(2, 4))]
    one, other = (each[0, 0, 0, 0].item() for each in given)
    assert numbers(sheet.questions[0][1]) == pytest.approx([one, other, one + other], abs=5.1e-4)
    shares = [f"{1 / (float(row[1]) + float(row[3])):.3f}" for row in sheet.rows]  # a hand that rounds each
    first, second = (sum(map(float, shares[own])) for own in (slice(2), slice(2, 4)))
    assert numbers(sheet.questions[0][1]) == pytest.approx([first, second, first + second])
