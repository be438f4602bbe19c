"""The key of its worksheet: scores, blocks and bytes are those of the library."""

import pytest
import torch

from kernels.bench.cost import requested_bytes
from kernels.bench.hardware import H100
from kernels.reference import attention
from kernels.softmax import safe_softmax
from scripts.chapters import worksheets
from tests.chapters.worksheet_numbers import SEEDS, blend_by_hand, numbers, pairs, parse_bytes


@pytest.mark.parametrize("seed", SEEDS)
def test_the_key_agrees_with_the_library(seed):
    sheet = worksheets.make("blocks-of-keys", seed)
    rows = torch.tensor(pairs(sheet.given[0]), dtype=torch.float64)
    q, k, v = rows[:1], rows[1:4], rows[4:]
    scores, padded = (q @ k.T / 2**0.5)[0], torch.zeros(4, dtype=torch.float64)
    padded[:3] = scores
    for row, key, value, score, weight in zip(sheet.rows[:3], k, v, scores, safe_softmax(scores), strict=True):
        assert pairs(row[1])[0] == (q[0] * key).tolist() and float(row[2]) == pytest.approx(score.item(), abs=0.005)
        assert float(row[3]) == pytest.approx(score.exp().item(), abs=0.006)
        assert numbers(row[4]) == pytest.approx([100 * weight.item()], abs=0.6)
        assert numbers(row[5]) == pytest.approx(blend_by_hand(row[4], [str(value.tolist())]))
    assert sheet.rows[3][1:] == ["none", "-∞", "0", "0 %", "[0, 0]"]
    block_outputs, padding, steps, traffic, registers = sheet.questions
    first, second, output = torch.tensor(pairs(block_outputs[1]))
    weighted_values = torch.tensor([pairs(row[5])[0] for row in sheet.rows])
    torch.testing.assert_close(
        torch.stack([weighted_values[:2].sum(0), weighted_values[2:].sum(0)]), torch.stack([first, second])
    )
    torch.testing.assert_close(first + second, output)
    assert output.tolist() == pytest.approx(attention(q, k, v)[0].tolist(), abs=0.06) and output.sum() == 10
    total, weight = numbers(padding[1])
    assert total == pytest.approx(padded.exp().sum().item(), abs=0.02)
    assert weight == (100 * safe_softmax(padded)[3]).round().item()
    n, block = (int(number) for number in numbers(steps[0]))
    score_row = torch.empty(n, device="meta").view(-1, block)  # the row as the kernel holds it
    assert numbers(steps[1]) == [len(score_row), len(score_row), n, len(score_row) * score_row.numel()]
    n, d, bits, queries = (int(number) for number in numbers(traffic[0]))
    keys_and_values, *requested = map(parse_bytes, traffic[1].split("; "))
    assert bits == 16 and keys_and_values == 2 * torch.empty(n, d, dtype=torch.float16, device="meta").nbytes
    assert requested == [
        requested_bytes(n, d, 2, size) - keys_and_values for size in (1, queries)
    ]  # without Q and the output
    row, rows_that_fit = registers[1].split("; ")
    assert parse_bytes(row) == torch.empty(n, device="meta").nbytes
    assert int(rows_that_fit) == H100["registers per SM"].value // parse_bytes(row)
