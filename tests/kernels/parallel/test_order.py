"""Every token lies on one GPU, and every pair that may meet meets once, in equal shares."""

import pytest
import torch

from kernels.parallel.order import chunks_of, shard, unshard, visible_block

ORDERS = ["zigzag", "contiguous"]
RANKS = [1, 2, 3, 4, 8]


def pairs(rank, ranks, tokens, is_causal, order):
    """The square of one GPU's queries: how often each meets each key of the whole sequence."""
    own_tokens = shard(torch.arange(ranks * tokens), rank, ranks, order=order, dim=0)
    visits = torch.zeros(tokens, ranks * tokens, dtype=torch.int)
    own_square = torch.ones(tokens, tokens, dtype=torch.int)
    visits[:, own_tokens] += own_square.tril() if is_causal else own_square
    for owner in set(range(ranks)) - {rank}:
        other_tokens = shard(torch.arange(ranks * tokens), owner, ranks, order=order, dim=0)
        rows, keys = visible_block(rank, owner, ranks, tokens, is_causal=is_causal, order=order)
        square = torch.zeros(tokens, tokens, dtype=torch.int)
        square[rows, keys] = 1
        visits[:, other_tokens] += square
    return own_tokens, visits


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("is_causal", [False, True])
def test_each_query_meets_each_key_that_it_sees_once(ranks, order, is_causal):
    tokens = 4
    every_pair = torch.ones(ranks * tokens, ranks * tokens, dtype=torch.int)
    for rank in range(ranks):
        own_tokens, visits = pairs(rank, ranks, tokens, is_causal, order)
        assert torch.equal(visits, (every_pair.tril() if is_causal else every_pair)[own_tokens])


@pytest.mark.parametrize("ranks", RANKS)
def test_in_zigzag_order_all_gpus_have_as_much_to_do_in_each_step(ranks):
    steps = [
        {
            (block.queries.stop - block.queries.start) * block.num_keys
            for rank in range(ranks)
            for block in [visible_block(rank, (rank - step) % ranks, ranks, 8, is_causal=True, order="zigzag")]
        }
        for step in range(1, ranks)
    ]
    assert steps == [{8 * 8 // 2}] * (ranks - 1)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("dim", [-2, 0])
def test_parts_make_the_whole(ranks, order, dim):
    x = torch.randn(16 * ranks, 16 * ranks, 2)
    parts = [shard(x, rank, ranks, order=order, dim=dim) for rank in range(ranks)]
    assert {part.shape[dim] for part in parts} == {16}
    assert torch.equal(unshard(parts, order=order, dim=dim), x)


def test_four_gpus_in_zigzag_order():
    assert [chunks_of(rank, 4, "zigzag") for rank in range(4)] == [(0, 7), (1, 6), (2, 5), (3, 4)]


@pytest.mark.parametrize(
    "tokens, ranks, order, wanted",
    [
        (24, 8, "zigzag", "the sequence has 24 tokens, a multiple of 16 is wanted for 8 GPUs in zigzag order"),
        (12, 8, "contiguous", "the sequence has 12 tokens, a multiple of 8 is wanted for 8 GPUs"),
        (16, 8, "striped", "order is 'striped', one of zigzag, contiguous is wanted"),
    ],
)
def test_what_cannot_be_dealt_out_is_refused(tokens, ranks, order, wanted):
    with pytest.raises(ValueError, match=wanted):
        shard(torch.zeros(tokens, 2), 0, ranks, order=order)
