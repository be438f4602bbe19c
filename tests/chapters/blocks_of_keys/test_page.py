"""Chapter 6's strip is to scale, and what it says is asked for is what the library counts."""

import re

import pytest

from kernels.bench.cost import qkvo_bytes, requested_bytes
from tests.chapters.rows import h100
from tests.docs.page_text import DRAWINGS

N, D, QUERIES = 8192, 128, 64


@pytest.mark.parametrize("queries, times", [(1, N), (QUERIES, N // QUERIES)])
def test_keys_and_values_are_asked_for_once_for_each_block_of_queries(queries, times):
    keys_and_values = qkvo_bytes(N, D, 2) // 2
    assert requested_bytes(N, D, 2, queries) == times * keys_and_values + keys_and_values


def test_the_strip_is_drawn_to_scale():
    text = (DRAWINGS / "blocks-of-keys-score-strip.svg").read_text(encoding="utf-8")
    whole, registers, row = (float(height) for height in re.findall(r'<rect[^>]*height="([\d.]+)"', text))
    assert whole / registers == QUERIES * N * 4 / h100("registers per SM")
    assert whole / row == QUERIES
