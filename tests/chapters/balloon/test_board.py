"""Sheet 3: the board's sizes are those of tensors, its lengths those of the record."""

import re

import torch

from kernels.bench.cost import eager_peak_bytes, fused_peak_bytes
from kernels.reference import attention
from scripts import records
from scripts.chapters.balloon import board as drawn

BOARD = drawn.board()
Q = torch.empty(drawn.SENTENCES, drawn.HEADS, drawn.WORDS, drawn.HEAD_DIM, device="meta")
SCORES = Q @ Q.transpose(-2, -1)
SLICES = drawn.SENTENCES * drawn.HEADS


def said(step: int) -> str:
    return " | ".join(BOARD.read(step))


def test_the_sizes_are_those_of_tensors():
    assert Q.element_size() == drawn.BYTES and attention(Q, Q, Q).shape == Q.shape
    for tensor in (Q, SCORES):
        one = tensor.nbytes // SLICES
        assert f"= 2^{{{one.bit_length() - 1}}} = {one / 2**20:g} MiB" in said(3) and one.bit_count() == 1
    assert f"{Q.nbytes / 2**30:g} GiB  →  {SCORES.nbytes / 2**30:g} GiB" in said(3)


def test_the_ratio_is_that_of_the_bytes():
    assert f"= {SCORES.nbytes / Q.nbytes:g}" in said(4)


def test_the_peak_is_what_the_library_counts():
    count = [count for count, _ in drawn.LIVES.values()]
    one = [tensor.nbytes // SLICES / 2**20 for tensor in (SCORES, Q)]
    peak = max(count) * one[0] + one[1]
    assert f"2 · {one[0]:g} + {one[1]:g} = {peak:g} MiB" in said(5) and count == [1, 2, 2, 2]
    assert peak * 2**20 == eager_peak_bytes(drawn.WORDS, drawn.HEAD_DIM, drawn.BYTES)


def test_the_curves_go_through_what_was_measured():
    for n in drawn.POINTS:
        assert f"{n:,}" in said(6)
        assert f"{eager_peak_bytes(n, 128, 2) / 2**20:,.0f}" in said(6)
    few, many = (fused_peak_bytes(n, 128, 2) / 2**20 for n in drawn.POINTS)
    assert f"{few:.2f} → {many:.1f} MiB" in said(6)
    tried = records.table("balloon", "limit")
    failed = [row["n"] for row in tried if not row["peak"]]
    gpu = next(word for word in BOARD.read(6) if word in records.read("balloon").provenance["gpu"])
    assert f"{min(failed):,}" in said(6) and re.search(r"\d", gpu) and max(drawn.POINTS) < tried[-1]["longest"]
    measured = {
        row["n"]: row["peak"] for row in records.table("prefill_memory", "forward") if row["form"] == "attention"
    }
    assert [measured[n] for n in drawn.POINTS] == [eager_peak_bytes(n, 128, 2) / 2**20 for n in drawn.POINTS]


def test_the_demo_prints_what_is_ticked_off():
    for row in records.table("balloon", "cards"):
        if row["heads"] == 1:
            assert f"{row['card']} GB" in BOARD.read(7) and f"{row['longest']:,}" in BOARD.read(7)
