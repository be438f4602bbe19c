"""The key of its worksheet: clocks, barriers and work are those of the schedule and of the kernel's own functions."""

import re
from types import SimpleNamespace
from unittest.mock import MagicMock

import pytest

from kernels.hopper import ring, schedule
from kernels.hopper.arguments import Sizes
from scripts.chapters import worksheets
from scripts.chapters.hopper.figures import hopper_timeline
from tests.chapters.worksheet_numbers import SEEDS, numbers

IN_PYTHON = SimpleNamespace(
    minimum=min, cdiv=lambda x, y: -(-x // y), where=lambda condition, x, y: x if condition else y
)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_clocks_are_those_of_the_schedule(seed, monkeypatch):
    sheet = worksheets.make("hopper", seed)
    tensor, exp2, queries, keys, scores = map(int, re.findall(r"\b\d+\b", sheet.given[0].replace(",", ""))[:5])
    chip = {"bf16 tensor core": tensor, "exp2": exp2}
    monkeypatch.setattr(hopper_timeline, "H100", {name: SimpleNamespace(value=value) for name, value in chip.items()})
    assert queries == hopper_timeline.ROWS and scores == queries * keys
    for d, *cells in sheet.rows:
        bars, _ = hopper_timeline.schedule(hopper_timeline.Choice("one", int(d), 1, keys, 2))
        (product,) = {bar.clocks for bar in bars if bar.line == "tensor cores"}
        first, second, *_ = (bar for bar in bars if bar.line == "consumer 0")
        both, powers, numerator, denominator, spare = (
            int(number.replace(",", "")) for number in re.findall(r"[\d,]+", " ".join(cells))
        )
        assert (both, powers, spare) == (2 * product, first.clocks, 2 * product - first.clocks)
        assert numerator / denominator == pytest.approx(2 * product / (second.start - first.start))


@pytest.mark.parametrize("seed", SEEDS)
def test_each_side_of_the_ring_waits_for_the_library_s_bit(seed, monkeypatch):
    """The kernel's own functions, run in Python with barriers that note who waits for what."""
    questions = worksheets.make("hopper", seed).questions
    stages, first, last = (int(number) for number in numbers(questions[0][0]))
    waits = MagicMock()
    monkeypatch.setattr(ring, "mbarrier", waits)
    monkeypatch.setattr(ring, "tma", MagicMock())
    rings = MagicMock()
    rings.tiles.shape = [stages, 1, 1, 128, 128]
    rings.empty.index.side_effect = rings.full.index.side_effect = lambda stage: stage
    for use in range(first, last + 1):
        ring.wait_for_tile.fn(rings, use)
        ring.fetch.fn(MagicMock(), rings, use, 0, 0, 0)
    full, empty = ([call.args for call in waits.wait.call_args_list[side::2]] for side in (0, 1))
    places, consumer, producer = (numbers(answer) for _, answer in questions[:3])
    assert places == [place for place, _ in full] == [place for place, _ in empty]
    assert consumer == [bit for _, bit in full] and producer == [bit for _, bit in empty]


@pytest.mark.parametrize("seed", SEEDS)
def test_program_0_gets_the_blocks_that_the_kernel_gives_it(seed, monkeypatch):
    monkeypatch.setattr(schedule, "gl", IN_PYTHON)
    (question, one_by_one), (_, mean), (_, paired) = worksheets.make("hopper", seed).questions[5:]
    heads, words, block_q, block_k, sms = (int(number) for number in numbers(question)[:5])

    sizes = Sizes(None, None, heads, 0, None, None, words, words)

    def lengths(work_item, pair):
        return [
            schedule.block_of.fn(work_item, member, sizes, block_q, block_k, True, pair)[2]
            for member in range(1 + pair)
        ]

    blocks = heads * words // block_q
    own_lengths = [length for item in range(0, blocks, sms) for length in lengths(item, False)]
    total = sum(sum(lengths(item, False)) for item in range(blocks))
    own_pairs = [sum(lengths(item, True)) for item in range(0, blocks // 2, sms)]
    assert numbers(one_by_one) == [*own_lengths, sum(own_lengths)]
    assert numbers(mean) == [total, sms, total / sms]
    assert numbers(paired) == [len(own_pairs), own_pairs[0], sum(own_pairs)]
