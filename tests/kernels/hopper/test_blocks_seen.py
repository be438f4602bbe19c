"""A consumer computes those blocks of keys that its own queries see: the kernel's own function, run in Python."""

from types import SimpleNamespace

import pytest

from kernels.hopper import consumer

WGMMA_M = 64
IN_PYTHON = SimpleNamespace(
    minimum=min, cdiv=lambda x, y: -(-x // y), static_assert=lambda condition, _: None,
    where=lambda condition, x, y: x if condition else y,
)  # fmt: skip


@pytest.mark.parametrize("block_k", [64, 128])
@pytest.mark.parametrize("consumers", [2, 3])
@pytest.mark.parametrize("seq_q, seq_k", [(1, 1), (64, 65), (129, 1000), (1000, 129), (1000, 1000)])
def test_each_consumer_s_share(seq_q, seq_k, consumers, block_k, monkeypatch):
    """All keys that a query sees, of them one in the last block at least, and all of the blocks before."""
    monkeypatch.setattr(consumer, "gl", IN_PYTHON)
    monkeypatch.setattr(consumer, "WGMMA_M", WGMMA_M)
    for first in range(0, seq_q, consumers * WGMMA_M):
        for is_causal in (False, True):
            fetched = -(-(min(seq_k, first + consumers * WGMMA_M) if is_causal else seq_k) // block_k)
            for query in range(first, first + consumers * WGMMA_M, WGMMA_M):
                seen = consumer.blocks_seen.fn(query, fetched, seq_q, block_k, is_causal)
                assert 1 <= seen <= fetched
                if query >= seq_q:
                    assert seen == 1
                    continue
                last_key = min(seq_k - 1, query + WGMMA_M - 1) if is_causal else seq_k - 1
                assert (seen - 1) * block_k <= last_key < seen * block_k
                assert not is_causal or (seen - 1) * block_k <= query + 1  # the first query sees all before it
