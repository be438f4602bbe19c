"""Peak memory is that of a call: its results and what it held meanwhile, and not its inputs."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch

from kernels.bench.profiling.memory import peak_memory

ROOT = Path(__file__).resolve().parents[4]


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_peak_memory_without_a_gpu_says_what_else_there_is():
    with pytest.raises(RuntimeError, match=r"kernels\.bench\.cost"):
        peak_memory(lambda: None)


@pytest.mark.gpu
def test_peak_memory_counts_results_and_not_inputs(device):
    x = torch.zeros(2**20, device=device)
    assert peak_memory(lambda: x + 1) == 4 * 2**20
    assert peak_memory(lambda: (x + 1) + 1) == 8 * 2**20
    assert peak_memory(lambda: None) == 0


@pytest.mark.gpu
def test_peak_memory_leaves_out_what_the_first_matmul_takes_for_good():
    code = "import torch; from kernels.bench.profiling.memory import peak_memory"
    code += "; a = torch.zeros(1024, 1024, device='cuda')"
    code += "; print(peak_memory(lambda: a @ a))"  # in a process of its own, for there it is the first
    printed = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert int(printed) == 4 * 2**20
