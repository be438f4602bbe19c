"""The keys of the worksheets against the library: attention and its states, but no product of two given numbers."""

import re

import pytest
import torch

from kernels.bench.cost import requested_bytes
from kernels.bench.hardware import H100
from kernels.multihead import LoopedMultiHeadAttention, MultiHeadAttention
from kernels.reference import attention
from kernels.softmax import safe_softmax
from scripts.chapters import worksheet as worksheets

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


def words_of(sheet) -> torch.Tensor:
    """The rows of numbers in the first paragraph."""
    rows = re.findall(r"\[([-\d, ]+)\]", sheet.given[0])
    return torch.tensor([list(map(float, row.split(", "))) for row in rows], dtype=torch.float64)


def by_hand(shares: str, values: list[str]) -> list[float]:
    """The blend that comes out of shares and values as they are printed."""
    found = zip(numbers(shares), (pairs(value)[0] for value in values), strict=True)
    return torch.tensor([[share * each / 100 for each in value] for share, value in found]).sum(0).tolist()


@pytest.mark.parametrize("seed", SEEDS)
def test_many_heads(seed):
    sheet = worksheets.made("many-heads", seed)
    x = words_of(sheet)
    places = [int(place) - 1 for place in re.findall(r"the (\d)\w\w", sheet.given[0])[:4]]
    asks, offers = torch.eye(4)[places[:2]], torch.eye(4)[places[2:]]
    hands_over = torch.tensor([[0.0, 0, 0, 5], [5, 5, 5, -5]])
    loop = LoopedMultiHeadAttention(4, 2).double()
    with torch.no_grad():
        for parameter in loop.parameters():
            parameter.zero_()
        loop.output.weight.copy_(torch.eye(4))
        for head, rows in zip(loop.heads, [(asks, offers, hands_over), (offers, asks, hands_over)], strict=True):
            for name, weight in zip(("query", "key", "value"), rows, strict=True):
                getattr(head, name).weight.copy_(weight)
        at_once = MultiHeadAttention.from_loop(loop)
        head, second = loop.heads
        views = torch.stack([head.query(x), head.key(x), head.value(x)], 1)
        dots, outputs = second.query(x) @ second.key(x).T, at_once(x[None])[0, :, 2:]
        causal, queries = at_once(x[None], is_causal=True)[0, 1, 2:], at_once.query(x)
    for row, view, dot, output in zip(sheet.rows, views, dots, outputs, strict=True):
        assert [pairs(cell)[0] for cell in row[1:4]] == view.tolist() and numbers(row[4]) == dot.tolist()
        assert numbers(row[5]) == pytest.approx((100 * (dot / 2**0.5).softmax(-1)).tolist(), abs=0.6)
        assert numbers(row[6]) == pytest.approx(output.tolist(), abs=0.06) and sum(numbers(row[6])) == 10
        assert numbers(row[6]) == pytest.approx(by_hand(row[5], [row[3] for row in sheet.rows]))
    (_, hidden), (one, side_by_side), (layout, cells), _ = sheet.questions
    assert numbers(hidden) == pytest.approx(causal.tolist(), abs=0.06)
    assert numbers(side_by_side) == queries[int(numbers(one)[-1]) - 1].tolist()
    words, word = int(numbers(layout)[0]), int(numbers(layout)[-1])
    lie = torch.arange(2 * words * 2).view(2, words, 2).transpose(0, 1).reshape(words, 4)[word - 1]
    assert numbers(cells) == [*lie.tolist(), *lie.diff().tolist()]


@pytest.mark.parametrize("seed", SEEDS)
def test_first_kernel(seed):
    sheet = worksheets.made("first-kernel", seed)
    texts, heads, words = (int(number) for number in numbers(sheet.given[0])[:3])
    programs = torch.arange(texts * heads * words).view(texts, heads, words)
    for row in sheet.rows:
        program, word, head, text = map(int, row)
        assert programs[text, head, word] == program
    (ask, row), (given, shares), (_, padded), added, warp, (asked, bytes_), (_, ratio) = sheet.questions
    query, keys = ask.split("keys")
    q, k, v = (torch.tensor(pairs(text), dtype=torch.float64) for text in (query, keys, given))
    scores = (q @ k.T)[0]
    assert row == f"[{', '.join(f'{score:g}' for score in scores.tolist())}, -∞]"
    assert numbers(shares)[:4] == [*(100 * safe_softmax(scores)).round().tolist(), 0]
    assert numbers(shares)[4:] == pytest.approx(attention(q, k, v, scale=1.0)[0].tolist(), abs=0.06)
    wrong = (100 * safe_softmax(torch.cat([scores, scores.new_zeros(1)]))).round().tolist()
    assert numbers(padded) == [*wrong, wrong[-1]] and wrong[-1] > 0
    length, block = (int(number) for number in numbers(added[0]))
    blocks = torch.arange(length).split(block)
    assert numbers(added[1]) == [len(blocks), len(blocks[-1]), block - len(blocks[-1])]
    stride = int(re.search(r"(\d+) apart", warp[0])[1])
    touched = len({4 * stride * lane // 32 for lane in range(32)})
    assert numbers(warp[1]) == [touched, 1, 32 * touched / 128]
    n, d = (int(number) for number in numbers(asked)[:2])
    both, programs = (part for part in bytes_.split("; "))
    assert in_bytes(both) == 2 * torch.empty(n, d, dtype=torch.float16, device="meta").nbytes
    assert in_bytes(programs.split(", ")[1]) == requested_bytes(n, d, 2, block_q=1) - in_bytes(both)
    assert numbers(ratio)[-1] == n / d


@pytest.mark.parametrize("seed", SEEDS)
def test_blocks_of_keys(seed):
    sheet = worksheets.made("blocks-of-keys", seed)
    rows = torch.tensor(pairs(sheet.given[0]), dtype=torch.float64)
    q, k, v = rows[:1], rows[1:4], rows[4:]
    scores, padded = (q @ k.T / 2**0.5)[0], torch.zeros(4, dtype=torch.float64)
    padded[:3] = scores
    for row, key, value, score, share in zip(sheet.rows, k, v, scores, safe_softmax(scores), strict=False):
        assert pairs(row[1])[0] == (q[0] * key).tolist() and float(row[2]) == pytest.approx(score.item(), abs=0.005)
        assert float(row[3]) == pytest.approx(score.exp().item(), abs=0.006)
        assert numbers(row[4]) == pytest.approx([100 * share.item()], abs=0.6)
        assert numbers(row[5]) == pytest.approx(by_hand(row[4], [str(value.tolist())]))
    assert sheet.rows[3][1:] == ["none", "-∞", "0", "0 %", "[0, 0]"]
    bring, nobody, steps, asked, fits = sheet.questions
    first, second, output = torch.tensor(pairs(bring[1]))
    brought = torch.tensor([pairs(row[5])[0] for row in sheet.rows])
    torch.testing.assert_close(torch.stack([brought[:2].sum(0), brought[2:].sum(0)]), torch.stack([first, second]))
    torch.testing.assert_close(first + second, output)
    assert output.tolist() == pytest.approx(attention(q, k, v)[0].tolist(), abs=0.06) and output.sum() == 10
    total, share = numbers(nobody[1])
    assert total == pytest.approx(padded.exp().sum().item(), abs=0.02)
    assert share == (100 * safe_softmax(padded)[3]).round().item()
    n, block = (int(number) for number in numbers(steps[0]))
    line = torch.empty(n, device="meta").view(-1, block)  # the row as the kernel holds it
    assert numbers(steps[1]) == [len(line), len(line), n, len(line) * line.numel()]
    n, d, bits, queries = (int(number) for number in numbers(asked[0]))
    both, *asking = map(in_bytes, asked[1].split("; "))
    assert bits == 16 and both == 2 * torch.empty(n, d, dtype=torch.float16, device="meta").nbytes
    assert asking == [requested_bytes(n, d, 2, size) - both for size in (1, queries)]  # without Q and the output
    row, held = fits[1].split("; ")
    assert in_bytes(row) == torch.empty(n, device="meta").nbytes
    assert int(held) == H100["registers per SM"].value // in_bytes(row)
