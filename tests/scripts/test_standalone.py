"""Each kernel to take away runs alone, without our package, and its check rejects a wrong one."""

import os
import re
import subprocess
import sys

import pytest

from scripts.records import ROOT
from scripts.standalone import standalone_source
from scripts.standalone.self_check import KERNELS
from tests.kernels.interpreter import needs_interpreter

WRONG = {  # what each kernel says once, and a mistake
    "add": ("tl.load(x + offsets, mask) +", "tl.load(x + offsets, mask) -"),
    "softmax": ("tl.exp(block - safe_max) / safe_sum", "tl.exp(block - safe_max)"),
    "one_head_attention": ("weights = exponentials / tl.sum(exponentials)", "weights = exponentials"),
    "one_key_attention": ("program % seq_q + 1", "program % seq_q + 2"),
    "key_blocks_attention": (
        "block = tl.where(key_mask, block, -float",
        "block = tl.where(key_mask, block, 0 * -float",
    ),
    "three_kernel_attention": ("scores *= scale", "scores *= 1"),
    "flash_attention": ("dscores = (weights * (dweights - row_delta[None, :]))", "dscores = (weights * dweights)"),
}


def run(text, folder):
    """The file, run as a reader without a GPU would, far from our package."""
    (folder / "kernel.py").write_text(text, encoding="utf-8")
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "", "TRITON_INTERPRET": "1"}
    command = [sys.executable, "-P", "kernel.py"]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


def text_of(kernel):
    text = standalone_source(kernel, ROOT, "this handbook")
    assert not re.search(r"^\s*(from|import) kernels", text, flags=re.MULTILINE)
    return text


@needs_interpreter
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.function)
def test_it_runs_alone_and_is_right(kernel, tmp_path):
    done = run(text_of(kernel), tmp_path)
    assert done.returncode == 0, done.stderr
    assert "largest error" in done.stdout


@needs_interpreter
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.function)
def test_a_mistake_is_rejected(kernel, tmp_path):
    text, (right, wrong) = text_of(kernel), WRONG[kernel.function]
    assert text.count(right) == 1
    done = run(text.replace(right, wrong), tmp_path)
    assert done.returncode != 0 and "AssertionError" in done.stderr, done.stdout + done.stderr
