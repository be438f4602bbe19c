"""Compares the chapter's sizes with tensors, and PyTorch's rule with what was measured."""

import torch

from kernels.bench.cost import fused_peak_bytes
from kernels.bench.hardware import H200
from scripts import records
from scripts.chapters.balloon import worked


def test_the_sizes_are_those_of_tensors():
    q = torch.empty(worked.SENTENCES, worked.HEADS, worked.WORDS, worked.HEAD_DIM, device="meta")
    assert q.element_size() == worked.BYTES
    assert q.nbytes == 2**30 and (q @ q.transpose(-2, -1)).nbytes == 2**36


def test_the_flash_backend_keeps_what_the_rule_says_and_one_kib():
    sms = int(H200["sms"].value)
    assert [worked.split_count(words, sms) for words in worked.SPLIT_LENGTHS] == [8, 8, 4, 2, 1]
    peaks = {row["n"]: row["peak"] for row in records.table("prefill_memory", "forward") if row["form"] == "sdpa_flash"}
    for words in worked.SPLIT_LENGTHS:
        peak_bytes = fused_peak_bytes(words, 128, 2) + worked.split_bytes(words, sms)
        assert round(peaks[words] * 2**20) == peak_bytes + 1024
