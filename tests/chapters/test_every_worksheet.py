"""Worksheets: numbers that come out evenly, the same for a seed, others for another; what the library makes of them."""

import pytest

from scripts import write_worksheet as command
from scripts.chapters import worksheets

CHAPTERS = worksheets.chapters()


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_versions_differ_and_a_seed_gives_the_same_again(chapter):
    keys = [
        worksheets.make(chapter, seed).html(seed, key=True).replace(f"worksheet {seed}", "")
        for seed in worksheets.VERSIONS
    ]
    assert len(set(keys)) == len(keys)
    assert worksheets.make(chapter, "A").html("A", key=True) == worksheets.make(chapter, "A").html("A", key=True)


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_a_worksheet_has_no_key_and_the_key_has_every_answer(chapter):
    sheet = worksheets.make(chapter, "A")
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
