"""The chapter's example, once: 32 sentences of 4096 words; and PyTorch's rule for cutting keys into parts."""

from __future__ import annotations

from math import ceil

WORDS, HEAD_DIM, BYTES = 4096, 64, 4  # one head, in FP32
SENTENCES, HEADS = 32, 32
CURVE_WORDS = [65_536, 131_072]  # of the curves, one head of 128 numbers in BF16

SPLIT_LENGTHS = [1024, 2048, 4096, 8192, 16384]  # words, one head of 128 numbers
BLOCK_QUERIES, BLOCK_KEYS = 64, 128  # of a block of PyTorch's flash backend, head_dim 128


def split_count(words: int, sms: int) -> int:
    """Returns how many parts PyTorch's flash backend cuts the keys of one head into.

    It takes the smallest number of parts that fills the GPU nearly as well as the best does: ``num_splits_heuristic``
    in PyTorch's flash_api.cpp, which reckons with two blocks of queries on an SM.
    """
    query_blocks, slots = ceil(words / BLOCK_QUERIES), 2 * sms
    if query_blocks >= 0.8 * slots:
        return 1
    key_blocks = ceil(words / BLOCK_KEYS)
    efficiency = {}
    for count in range(1, min(128, slots, key_blocks) + 1):
        if count == 1 or ceil(key_blocks / count) != ceil(key_blocks / (count - 1)):
            waves = query_blocks * count / slots
            efficiency[count] = waves / ceil(waves)
    return min(count for count, each in efficiency.items() if each >= 0.85 * max(efficiency.values()))


def split_bytes(words: int, sms: int) -> int:
    """Returns the bytes that the parts keep: each an output of 128 numbers and one log-sum-exp a query, in FP32."""
    count = split_count(words, sms)
    return count * words * (128 + 1) * 4 if count > 1 else 0
