"""Worksheets: numbers that come out evenly, the same for a seed, others for another; what the library makes of them."""

import re

import pytest
import torch

from kernels.softmax import OnlineSoftmax, safe_softmax
from scripts import worksheet as command
from scripts.chapters import worksheet as worksheets

CHAPTERS, SEEDS = worksheets.chapters(), [*worksheets.VERSIONS, "7", "8", "9", "10"]


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_versions_differ_and_a_seed_gives_the_same_again(chapter):
    keys = [
        worksheets.made(chapter, seed).html(seed, key=True).replace(f"worksheet {seed}", "")
        for seed in worksheets.VERSIONS
    ]
    assert len(set(keys)) == len(keys)
    assert worksheets.made(chapter, "A").html("A", key=True) == worksheets.made(chapter, "A").html("A", key=True)


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_a_worksheet_has_no_key_and_the_key_has_every_answer(chapter):
    sheet = worksheets.made(chapter, "A")
    assert 'class="key"' not in sheet.html("A", key=False)
    assert sheet.html("A", key=True).count('class="key"') == len(sheet.answers()) >= 5


def test_an_unknown_chapter_is_named(capsys):
    with pytest.raises(SystemExit, match=r"CHAPTER=nothing: 'nothing' has no worksheet; there are: .*online-softmax"):
        command.main("nothing")


def test_the_command_writes_both(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(command, "ROOT", tmp_path)
    command.main("online-softmax", "7")
    assert capsys.readouterr().out.split() == [
        f"build/worksheets/online-softmax-7-{name}.html" for name in ("worksheet", "key")
    ]
    assert "Key to worksheet 7" in (tmp_path / "build/worksheets/online-softmax-7-key.html").read_text()


def numbers(text: str) -> list[float]:
    return [float(number) for number in re.findall(r"-?\d+(?:\.\d+)?", text)]


@pytest.mark.parametrize("seed", SEEDS)
def test_online_softmax(seed):
    sheet = worksheets.made("online-softmax", seed)
    given = numbers(sheet.given[0])
    scores = torch.tensor(given[:6], dtype=torch.float64)
    values = torch.tensor(given[6:18], dtype=torch.float64).view(6, 2)
    state = OnlineSoftmax.empty()
    for at, row in zip((0, 2, 4), sheet.rows, strict=True):
        before, state = state, state.update(scores[at : at + 2])
        seen = slice(0, at + 2)
        blend = safe_softmax(scores[seen]) @ values[seen] * state.running_sum
        assert [float(row[1]), float(row[3])] == [
            state.running_max.item(),
            pytest.approx(state.running_sum.item(), abs=6e-4),
        ]
        assert numbers(row[4]) == pytest.approx(blend.tolist(), abs=5e-3)
        if at:
            assert float(row[2]) == pytest.approx((before.running_max - state.running_max).exp().item(), abs=5e-4)
    output, times, wrong, readers = (numbers(answer) for _, answer in sheet.questions)
    assert output == pytest.approx((safe_softmax(scores) @ values).tolist(), abs=5e-3)
    assert times == [10] and values.sum(-1).tolist() == [10] * 6
    so_far = scores.view(3, 2).amax(-1).cummax(0).values  # each block is measured against it, and nothing shrinks
    marks = (scores - so_far.repeat_interleave(2)).exp()
    assert wrong[0] == pytest.approx(marks.sum().item(), abs=5e-4)
    assert wrong[1:] == pytest.approx((marks @ values / marks.sum()).tolist(), abs=5e-3)
    states = [OnlineSoftmax.empty().update(part) for part in (scores[:2], scores[2:], scores)]
    brought = [number.item() for state in states for number in (state.running_max, state.running_sum)]
    assert readers == pytest.approx(brought, abs=5e-4)
