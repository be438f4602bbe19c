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

HALVES = slice(2), slice(2, 4)  # the words of each GPU


@pytest.mark.parametrize("seed", SEEDS)
def test_the_key_agrees_with_the_library(seed):
    sheet = worksheets.make("many-gpus", seed)
    rows = torch.tensor([list(map(float, row.split(", "))) for row in re.findall(r"\[([-\d, ]+)\]", sheet.given[0])])
    q, k, v = rows.double().view(3, 1, 1, 4, 2)
    v.requires_grad_()
    parts = [attend(q, k[:, :, half], v[:, :, half], is_causal=False, scale=log(2)) for half in HALVES]
    merged = merge(*parts[0], *parts[1])[0][0, 0]
    for word, (_, *cells) in enumerate(sheet.rows):
        for (out, lse), (total, output) in zip(parts, (cells[:2], cells[2:4]), strict=True):
            assert float(total) == pytest.approx(lse[0, 0, word].exp().item())
            assert numbers(output) == pytest.approx(out[0, 0, word].tolist())
        assert numbers(cells[4]) == pytest.approx(merged[word].tolist())
        assert sum(numbers(cells[4])) == pytest.approx(numbers(sheet.given[1])[-1])
    whole = attention(q, k, v, scale=log(2))[0, 0]
    gradients = [torch.autograd.grad(whole[half, 0].sum(), v, retain_graph=True)[0] for half in HALVES]
    first_gradient, second_gradient = (gradient[0, 0, 0, 0].item() for gradient in gradients)
    assert numbers(sheet.questions[0][1]) == pytest.approx(
        [first_gradient, second_gradient, first_gradient + second_gradient], abs=5.1e-4
    )
    weights = [f"{1 / (float(row[1]) + float(row[3])):.3f}" for row in sheet.rows]  # each rounded, as by hand
    first, second = (sum(map(float, weights[half])) for half in HALVES)
    assert numbers(sheet.questions[0][1]) == pytest.approx([first, second, first + second])
