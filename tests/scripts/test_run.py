"""`make run` runs a snippet by its name, and says before it starts what to expect without a GPU."""

import runpy

import pytest
import torch

from scripts import run


def test_every_snippet_is_found_and_another_name_lists_them():
    with pytest.raises(SystemExit, match="no snippet 'nothing'; there are: append_speed, balloon, "):
        run.main("nothing")
    with pytest.raises(SystemExit, match="no snippet ''"):
        run.main("")


@pytest.mark.parametrize("gpu, said", [(True, ""), (False, "torch finds no GPU: Triton's interpreter runs")])
def test_a_snippet_is_run_and_its_reader_warned(monkeypatch, capsys, gpu, said):
    ran = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: gpu)
    monkeypatch.setattr(run.sys, "path", ["", *run.sys.path])
    monkeypatch.setattr(runpy, "run_path", lambda path, run_name: ran.append((path, run_name, run.sys.path[0])))
    run.main("key_blocks")
    script = run.SNIPPETS["key_blocks"]
    assert ran == [(str(script), "__main__", str(script.parent))]
    out = capsys.readouterr().out
    assert out.startswith(said) and bool(out) == bool(said)


def test_what_only_a_gpu_measures_is_left_out():
    assert "is left out" in run.without_gpu(run.SNIPPETS["prefill_speed"].read_text())
