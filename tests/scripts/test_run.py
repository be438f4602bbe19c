"""`make run` runs a snippet by its name, and says before it starts what to expect without a GPU."""

import os
import runpy
import subprocess
import sys

import pytest
import torch

from scripts import run
from scripts.records import ROOT


def test_every_snippet_is_found_and_another_name_lists_them():
    with pytest.raises(SystemExit, match="no snippet 'nothing'; there are: ablation, append_speed, balloon, "):
        run.main("nothing")
    with pytest.raises(SystemExit, match="no snippet ''"):
        run.main("")


@pytest.mark.parametrize("gpu, notice", [(True, ""), (False, "torch finds no GPU: Triton's interpreter runs")])
def test_a_snippet_is_run_and_its_reader_warned(monkeypatch, capsys, gpu, notice):
    calls = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: gpu)
    monkeypatch.setattr(run.sys, "path", ["", *run.sys.path])
    monkeypatch.setattr(runpy, "run_path", lambda path, run_name: calls.append((path, run_name, run.sys.path[0])))
    run.main("key_blocks")
    script = run.SNIPPETS["key_blocks"]
    assert calls == [(str(script), "__main__", str(script.parent))]
    out = capsys.readouterr().out
    assert out.startswith(notice) and bool(out) == bool(notice)


def test_what_only_a_gpu_measures_is_left_out(monkeypatch):
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    assert "is left out" in run.gpu_notice(run.SNIPPETS["prefill_speed"].read_text())


@pytest.mark.parametrize("value, notice", [(None, "is left out"), ("0", "is left out"), ("1", "interpreter runs")])
def test_a_snippet_that_leaves_the_interpreter_to_its_reader_runs_kernels_only_if_it_is_on(monkeypatch, value, notice):
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    if value:
        monkeypatch.setenv("TRITON_INTERPRET", value)
    assert notice in run.gpu_notice(run.SNIPPETS["nvfp4_block"].read_text())


TOY = """
import os
import torch
from kernels.bench.parallel.ranks import start

rank, ranks, device = start()
{cell}
total = torch.ones(1)
torch.distributed.all_reduce(total)
if rank == 0:
    print(ranks, device, int(total), torch.get_num_threads(), rank, start().rank)
"""
CELLS = {"well": "", "raises": "if rank: raise ValueError('not so')", "dies": "if rank: os.kill(os.getpid(), 9)"}
RUN = """
import sys
from pathlib import Path

from scripts.run import run_in_ranks

print([run_in_ranks(Path(path), gpus=1) for path in sys.argv[1:]])
"""
NOTICE = "Two processes, and not two GPUs for them: what only a GPU can measure is left out.\n\n"


def test_several_processes_work_together_and_the_one_that_fails_says_why(tmp_path):
    """All in one run, because torch takes its time to be imported."""
    for name, cell in CELLS.items():
        (tmp_path / f"{name}.py").write_text(TOY.format(cell=cell))
    command = [sys.executable, "-c", RUN, *(tmp_path / f"{name}.py" for name in CELLS)]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    result = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120)
    assert result.stdout == f"{NOTICE}2 cpu 2 1 0 0\n{NOTICE}{NOTICE}[0, 1, 137]\n"
    why, raises, dies = result.stderr.rsplit("\n", 3)[:3]
    assert why.endswith("ValueError: not so") and why.count("Traceback") == 1
    assert raises == "raises failed in the process of rank 1; the others were ended"
    assert dies == "dies failed in the process of rank 1; the others were ended"


def test_a_snippet_in_ranks_has_a_process_for_each_gpu_up_to_a_power_of_two(monkeypatch, tmp_path):
    (tmp_path / "toy.py").write_text(TOY)
    process_counts = []
    monkeypatch.setattr(run, "SNIPPETS", {"toy": tmp_path / "toy.py"})
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 6)
    monkeypatch.setattr("torch.distributed.run.run", lambda options: process_counts.append(options.nproc_per_node))
    monkeypatch.setattr(run, "stderr_of", lambda rank, folder: tmp_path / "stderr.log")
    monkeypatch.setattr(run.logging, "disable", lambda level: None)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    (tmp_path / "stderr.log").touch()
    with pytest.raises(SystemExit, match="0"):
        run.main("toy")
    assert process_counts == ["4"]
