"""The keys of the worksheets of the primer and of chapters 9, 10 and 12 against the library: chips, codes, boards."""

import re
from math import log
from types import SimpleNamespace
from unittest.mock import MagicMock

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from kernels.flash.partial import merge
from kernels.formats.block import NVFP4, dequantize, quantize
from kernels.formats.value import E2M1, E4M3, decode, encode, fields, unpack_e2m1
from kernels.hopper import ring, schedule
from kernels.hopper.arguments import Sizes
from kernels.parallel.local import attend
from kernels.reference import attention
from scripts.chapters import worksheet as worksheets
from scripts.chapters.hopper.figures import hopper_timeline
from tests.chapters.test_fresh_numbers import SEEDS, in_bytes, numbers

IN_PYTHON = SimpleNamespace(
    minimum=min, cdiv=lambda x, y: -(-x // y), where=lambda condition, x, y: x if condition else y
)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_primer_s_tiles(seed):
    """Each tile fetches its rows and columns, and the product is that of the whole tables."""
    sheet = worksheets.made("primer", seed)
    n = int(re.search(r"of (\d+) by", sheet.given[0])[1])
    one, other = torch.randn(2, n, n, dtype=torch.float64)
    for row in sheet.rows:
        edge, *expected = (int(cell.replace(",", "")) for cell in row)
        rows, columns = one.split(edge), other.split(edge, 1)
        fetched = [[a.numel() + b.numel() for b in columns] for a in rows]
        with FlopCounterMode(display=False) as counter:
            product = torch.cat([torch.cat([a @ b for b in columns], 1) for a in rows])
        torch.testing.assert_close(product, one @ other)
        everything = sum(map(sum, fetched))
        found = [len(rows) * len(columns), fetched[0][0], everything, counter.get_total_flops() / everything]
        assert found == expected


@pytest.mark.parametrize("seed", SEEDS)
def test_the_clocks_are_those_of_the_schedule(seed, monkeypatch):
    sheet = worksheets.made("hopper", seed)
    tensor, exp2, queries, keys, scores = map(int, re.findall(r"\b\d+\b", sheet.given[0].replace(",", ""))[:5])
    chip = {"bf16 tensor core": tensor, "exp2": exp2}
    monkeypatch.setattr(hopper_timeline, "H100", {name: SimpleNamespace(value=value) for name, value in chip.items()})
    assert queries == hopper_timeline.ROWS and scores == queries * keys
    for d, *cells in sheet.rows:
        bars, _ = hopper_timeline.schedule(hopper_timeline.Choice("one", int(d), 1, keys, 2))
        (product,) = {bar.clocks for bar in bars if bar.line == "tensor cores"}
        first, second, *_ = (bar for bar in bars if bar.line == "consumer 0")
        both, powers, part, of, spare = (
            int(number.replace(",", "")) for number in re.findall(r"[\d,]+", " ".join(cells))
        )
        assert (both, powers, spare) == (2 * product, first.clocks, 2 * product - first.clocks)
        assert part / of == pytest.approx(2 * product / (second.start - first.start))


@pytest.mark.parametrize("seed", SEEDS)
def test_each_side_of_the_ring_waits_for_the_library_s_bit(seed, monkeypatch):
    """The kernel's own functions, run in Python with barriers that note who waits for what."""
    questions = worksheets.made("hopper", seed).questions
    stages, first, last = (int(number) for number in numbers(questions[0][0]))
    waits = MagicMock()
    monkeypatch.setattr(ring, "mbarrier", waits)
    monkeypatch.setattr(ring, "tma", MagicMock())
    rings = MagicMock()
    rings.tiles.shape = [stages, 1, 1, 128, 128]
    rings.free.index.side_effect = rings.full.index.side_effect = lambda stage: stage
    for use in range(first, last + 1):
        ring.wait_for_tile.fn(rings, use)
        ring.fetch.fn(MagicMock(), rings, use, 0, 0, 0)
    full, free = ([call.args for call in waits.wait.call_args_list[side::2]] for side in (0, 1))
    places, consumer, producer = (numbers(answer) for _, answer in questions[:3])
    assert places == [place for place, _ in full] == [place for place, _ in free]
    assert consumer == [bit for _, bit in full] and producer == [bit for _, bit in free]


@pytest.mark.parametrize("seed", SEEDS)
def test_program_0_gets_the_blocks_that_the_kernel_gives_it(seed, monkeypatch):
    monkeypatch.setattr(schedule, "gl", IN_PYTHON)
    (asked, in_turn), (_, mean), (_, paired) = worksheets.made("hopper", seed).questions[5:]
    heads, words, block_q, block_k, sms = (int(number) for number in numbers(asked)[:5])
    sizes = Sizes(None, None, heads, 0, None, None, words, words)

    def lengths(unit, pair):
        return [schedule.block_of.fn(unit, which, sizes, block_q, block_k, True, pair)[2] for which in range(1 + pair)]

    blocks = heads * words // block_q
    mine = [length for unit in range(0, blocks, sms) for length in lengths(unit, False)]
    everything = sum(sum(lengths(unit, False)) for unit in range(blocks))
    pairs_of_mine = [sum(lengths(unit, True)) for unit in range(0, blocks // 2, sms)]
    assert numbers(in_turn) == [*mine, sum(mine)]
    assert numbers(mean) == [everything, sms, everything / sms]
    assert numbers(paired) == [len(pairs_of_mine), pairs_of_mine[0], sum(pairs_of_mine)]


@pytest.mark.parametrize("seed", [*SEEDS, *map(str, range(11, 61))])
def test_number_formats(seed):
    sheet = worksheets.made("number-formats", seed)
    block, tensor_scale = numbers(sheet.given[0].partition("NVFP4:")[2])[:8], numbers(sheet.given[0])[-1]
    stored = quantize(torch.tensor(block + 8 * [0.0]), NVFP4, tensor_scale=tensor_scale)
    codes = unpack_e2m1(stored.codes)[:8]
    worth = decode(stored.scales, E4M3).item()
    for row, number, code, taken in zip(sheet.rows, block, codes, decode(codes, E2M1).tolist(), strict=True):
        bits = fields(code, E2M1)
        assert [float(cell) for cell in row[:3]] == [number, pytest.approx(number / worth / tensor_scale), taken]
        assert row[2].startswith("-") == (number < 0)
        assert row[3:] == [f"{bits.sign} {bits.exponent:02b} {bits.mantissa}", f"{code.item():X}"]
    scale, unit, packed, lost, (asked, alone), (wide, narrow) = sheet.questions
    byte = stored.scales.item()
    assert scale[1] == f"{worth:g}, {byte >> 7} {byte >> 3 & 15:04b} {byte & 7:03b}, {byte:02X}"
    assert numbers(unit[1]) == [worth, tensor_scale, worth * tensor_scale]
    assert packed[1] == bytes(stored.codes[:4].tolist()).hex(" ").upper()
    off = (dequantize(stored)[:8] - torch.tensor(block)).abs()
    assert numbers(lost[1]) == [block[off.argmax()], pytest.approx(off.max().item(), rel=1e-5)]
    number = numbers(asked)[0]
    code = encode(torch.tensor(number), E4M3)
    steps, bits, stands_for = alone.split("; ")
    assert int(bits.replace(" ", ""), 2) == code.item() and float(stands_for) == decode(code, E4M3).item()
    below = 2.0 ** (fields(code, E4M3).exponent.item() - E4M3.bias)
    assert numbers(steps)[0] == pytest.approx(8 * (number / below - 1))
    small = quantize(torch.zeros(1024), NVFP4)
    each = (small.codes.nbytes + small.scales.nbytes) / 1024
    assert in_bytes(narrow.split("= ")[1]) == in_bytes(" ".join(wide.split()[3:5])) / 2 * each


@pytest.mark.parametrize("seed", SEEDS)
def test_four_words_on_two_boards(seed):
    sheet = worksheets.made("many-gpus", seed)
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
