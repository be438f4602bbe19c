"""The keys of the worksheets against the library: attention, its states, its bytes."""

import re

import pytest
import torch

from kernels.bench.cost import eager_traffic, qkvo_bytes, square_bytes
from kernels.reference import attention
from scripts.boards import worksheets

SEEDS = [*worksheets.VERSIONS, "7", "8", "9", "10"]
LN_2 = torch.log(torch.tensor(2.0, dtype=torch.float64)).item()
UNITS = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}


def numbers(text: str) -> list[float]:
    return [float(number.replace(",", "")) for number in re.findall(r"-?\d[\d,]*(?:\.\d+)?", text)]


def matrices(sheet) -> list[torch.Tensor]:
    """Q, K and V as the worksheet gives them."""
    parts = sheet.given[0].split(" · ")
    return [torch.tensor(pairs(part), dtype=torch.float64) for part in parts[:3]]


def pairs(text: str) -> list[list[float]]:
    return [[float(a), float(b)] for a, b in re.findall(r"\[([\d.]+), ([\d.]+)\]", text)]


def in_bytes(text: str) -> float:
    number, unit = text.split()
    return float(number.replace(",", "")) * UNITS[unit]


@pytest.mark.parametrize("seed", SEEDS)
def test_three_matmuls(seed):
    sheet = worksheets.made("three-matmuls", seed)
    q, k, v = matrices(sheet)
    shares = (q @ k.T / 2**0.5).softmax(-1)
    outputs = attention(q, k, v)
    for row, dots, share, output in zip(sheet.rows, q @ k.T, shares, outputs, strict=True):
        assert numbers(row[1]) == dots.tolist()
        assert float(row[2]) == pytest.approx((dots / 2**0.5).exp().sum().item(), abs=0.02)
        assert numbers(row[3]) == pytest.approx((100 * share).tolist(), abs=0.6)
        assert numbers(row[4]) == pytest.approx(output.tolist(), abs=0.06) and sum(numbers(row[4])) == 10


@pytest.mark.parametrize("seed", SEEDS)
def test_flash_attention(seed):
    sheet = worksheets.made("flash-attention", seed)
    q, k, v = matrices(sheet)
    whole = attention(q, k, v, scale=LN_2)  # powers of 2
    for row, query, output in zip(sheet.rows, q, whole, strict=True):
        dots = k @ query
        assert numbers(row[1]) == dots.tolist() and numbers(row[4]) == pytest.approx(output.tolist())
        for cell, seen in ((row[2], 2), (row[3], 3)):
            top = dots[:seen].max()
            total = (2 ** (dots[:seen] - top)).sum()
            blend = total * attention(query[None], k[:seen], v[:seen], scale=LN_2)[0]
            assert numbers(cell) == pytest.approx([top.item(), total.item(), *blend.tolist()])


@pytest.mark.parametrize("seed", SEEDS)
def test_decode(seed):
    sheet = worksheets.made("decode", seed)
    scores = torch.tensor(numbers(sheet.given[0].partition("values")[0]), dtype=torch.float64)
    values = torch.tensor(pairs(sheet.given[0]), dtype=torch.float64)
    query, keys = torch.ones(1, 1, dtype=torch.float64), scores[:, None]
    whole = attention(query, keys, values, scale=LN_2)[0].tolist()
    for row, at in zip(sheet.rows, (slice(2), slice(2, 4)), strict=True):
        top = scores[at].max()
        assert [float(row[1]), float(row[2])] == [top.item(), (2 ** (scores[at] - top)).sum().item()]
        assert numbers(row[3]) == pytest.approx(attention(query, keys[at], values[at], scale=LN_2)[0].tolist())
    total, merged = numbers(sheet.questions[0][1]), numbers(sheet.questions[2][1])
    assert total[0] == (2**scores).sum().item() and total[1:] == merged == pytest.approx(whole)
    sums = [(2 ** (scores[at] - scores.max())).sum().item() for at in (slice(2), slice(2, 4))]
    assert numbers(sheet.questions[1][1]) == pytest.approx(sums)


@pytest.mark.parametrize("seed", SEEDS)
def test_balloon(seed):
    sheet = worksheets.made("balloon", seed)
    n, d, _, _, heads, *_ = numbers(sheet.given[0])
    kind = {"FP32": torch.float32, "FP16": torch.float16}[re.search(r"FP\d\d", sheet.given[0])[0]]
    shapes = [(int(n), int(d)), (int(n), int(n))]
    for row, shape in zip(sheet.rows, shapes, strict=True):
        held = torch.empty(shape, dtype=kind, device="meta").nbytes
        assert 2 ** numbers(row[1])[1] == in_bytes(row[2]) == held and in_bytes(row[3]) == held * heads
    assert numbers(sheet.questions[0][1])[0] == n / d
    assert in_bytes(sheet.questions[1][1]) == 2 * torch.empty(shapes[1], dtype=kind, device="meta").nbytes


@pytest.mark.parametrize("seed", SEEDS)
def test_traffic(seed):
    sheet = worksheets.made("traffic", seed)
    n, d = (int(number) for number in numbers(sheet.given[0])[:2])
    square, least = square_bytes(n, 2), qkvo_bytes(n, d, 2)
    assert [in_bytes(row[1]) for row in sheet.rows] == [square, 4 * square, least]
    assert numbers(sheet.questions[0][1])[0] == 4 * square / least
    scores = eager_traffic(n, d, 2)[0]
    reckoned = 2 * n * n * d / (scores.read + scores.written)
    assert numbers(sheet.questions[1][1])[-1] == round(reckoned)
    assert sheet.questions[2][1] == ("bytes" if reckoned < 295 else "arithmetic")
