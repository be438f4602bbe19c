"""What a sequence on many GPUs costs: pairs, bytes and times worked by hand."""

import pytest

from kernels.bench.parallel.cost import (
    Link,
    Part,
    decode_bytes,
    flops_of,
    ideal_seconds,
    load_imbalance,
    min_tokens_to_overlap,
    pairs,
    pairs_of,
    parts_held,
    predict_seconds,
    ring_seconds,
    sent_bytes,
)
from kernels.parallel.order import chunks_of, visible_block

PART = Part(tokens=8192, heads=16, kv_heads=16, head_dim=128)


def counted_pairs(rank, owner, gpus, tokens, order):
    """Pairs counted one by one, from the places of the tokens in the sequence."""
    size = tokens // len(chunks_of(0, gpus, order))
    places = [
        [chunk * size + i for chunk in chunks_of(each, gpus, order) for i in range(size)] for each in (rank, owner)
    ]
    return sum(key <= query for query in places[0] for key in places[1])


@pytest.mark.parametrize("order", ["zigzag", "contiguous"])
@pytest.mark.parametrize("gpus, tokens", [(1, 6), (2, 2), (2, 6), (4, 4), (5, 8)])
def test_pairs_are_those_that_one_counts(order, gpus, tokens):
    for rank in range(gpus):
        for owner in range(gpus):
            assert pairs(rank, owner, gpus, tokens, True, order) == counted_pairs(rank, owner, gpus, tokens, order)
            assert pairs(rank, owner, gpus, tokens, False, order) == tokens**2
    whole = gpus * tokens
    assert sum(pairs_of(rank, gpus, tokens, True, order) for rank in range(gpus)) == whole * (whole + 1) // 2


@pytest.mark.parametrize("order", ["zigzag", "contiguous"])
@pytest.mark.parametrize("causal", [True, False])
def test_pairs_with_another_gpu_are_what_the_ring_computes(order, causal):
    for rank in range(4):
        for owner in {0, 1, 2, 3} - {rank}:
            block = visible_block(rank, owner, 4, 8, is_causal=causal, order=order)
            queries = block.queries.stop - block.queries.start
            assert queries * block.num_keys == pairs(rank, owner, 4, 8, causal, order)


def test_four_words_on_two_boards():
    """Contiguous 3 and 7 of 10 pairs, zigzag 5 and 5."""
    assert [pairs_of(rank, 2, 2, True, "contiguous") for rank in range(2)] == [3, 7]
    assert [pairs_of(rank, 2, 2, True, "zigzag") for rank in range(2)] == [5, 5]


def test_the_last_gpu_of_four_computes_seven_times_what_the_first_does():
    each = [pairs_of(rank, 4, 1 << 20, True, "contiguous") for rank in range(4)]
    assert [round(one / each[0]) for one in each] == [1, 3, 5, 7]
    assert load_imbalance(4, 1 << 20, "contiguous") == pytest.approx(7 / 4)
    assert load_imbalance(2, 1 << 20, "contiguous") == pytest.approx(3 / 2)
    assert load_imbalance(4, 1 << 20, "zigzag") == 1


def test_bytes_of_the_worked_example():
    """16 heads of 128, 8192 tokens a GPU, BF16: 67.1 MB of K and V, 33.6 MB of Q."""
    assert PART.kv_bytes == 2 * 16 * 8192 * 128 * 2 == 67_108_864
    assert PART.q_bytes == 33_554_432
    sent = {gpus: [sent_bytes(scheme, gpus, PART) / 1e6 for scheme in ("ring", "all_gather", "all_to_all")]
            for gpus in (2, 8)}  # fmt: skip
    assert sent[2] == pytest.approx([67.1, 67.1, 67.1], abs=0.05)
    assert sent[8] == pytest.approx([469.8, 469.8, 117.4], abs=0.05)
    assert sent_bytes("ring", 1, PART) == sent_bytes("all_to_all", 1, PART) == 0


def test_backward_a_ring_sends_twice_as_much_and_a_gather_three_times():
    back = [sent_bytes(scheme, 4, PART, backward=True) / sent_bytes(scheme, 4, PART)
            for scheme in ("ring", "all_gather", "all_to_all")]  # fmt: skip
    assert back == [2, 3, 1]


def test_few_key_heads_make_a_ring_cheap():
    """2 of 16 key heads: an eighth of the ring's bytes, and of Q, K, V, O 18 of 32 heads' worth."""
    grouped = PART._replace(kv_heads=2)
    assert sent_bytes("ring", 4, grouped) / sent_bytes("ring", 4, PART) == 1 / 8
    assert sent_bytes("all_to_all", 4, grouped) / sent_bytes("all_to_all", 4, PART) == 36 / 64


def test_a_ring_holds_its_own_part_one_in_use_and_one_that_comes():
    assert [parts_held("ring", gpus) for gpus in (1, 2, 3, 8)] == [1, 2, 3, 3]
    assert [parts_held(scheme, 8) for scheme in ("all_gather", "all_to_all")] == [8, 1]


def test_flop_of_a_full_block():
    """4 n² d heads: 8192² · 4 · 128 · 16 = 0.55 TFLOP; backward 2.5 times that."""
    assert flops_of(8192**2, PART) == 4 * 8192**2 * 128 * 16
    assert flops_of(8192**2, PART, backward=True) == 2.5 * flops_of(8192**2, PART)
    assert flops_of(1, Part(1, 1, 1, 1), backward=True) == 10


def test_sending_is_hidden_from_1778_tokens():
    assert min_tokens_to_overlap(PART, 640e12, 360e9) == pytest.approx(640e12 / 360e9)
    assert min_tokens_to_overlap(PART, 640e12, 360e9, causal=True) == pytest.approx(2 * 640e12 / 360e9)
    assert min_tokens_to_overlap(PART._replace(kv_heads=2), 640e12, 360e9) == pytest.approx(640e12 / 360e9 / 8)
    n = round(min_tokens_to_overlap(PART, 640e12, 360e9))
    block = PART._replace(tokens=n)
    assert flops_of(n**2, block) / 640e12 == pytest.approx(block.kv_bytes / 360e9, rel=1e-3)


def test_a_ring_by_hand():
    """Own 10, others 20; fetching 5 is hidden, fetching 25 is not."""
    assert ring_seconds(10, 20, [5, 5, 5], [], 0) == 10 + 3 * 20
    assert ring_seconds(10, 20, [25, 25, 25], [], 0) == 25 + 2 * 25 + 20
    assert ring_seconds(10, 20, [5, 5, 5], [], 1) == 10 + 3 * 21
    assert ring_seconds(10, 20, [], [], 1) == 10
    # Backward: step 1 fetches a part, step 2 a part and gradients, step 3 gradients, then the last ones.
    assert ring_seconds(10, 20, [5, 5, 5], [4, 4, 4], 0) == 10 + 3 * 20 + 4
    assert ring_seconds(10, 20, [15, 15, 15], [10, 10, 10], 0) == 15 + 20 + 25 + 20 + 10


def test_a_prediction_by_hand():
    """Two GPUs, 8192 tokens each, 640 TFLOP/s, 360 GB/s: 0.859 ms a full block, 0.186 ms a fetch."""
    block, fetch = 4 * 8192**2 * 128 * 16 / 640e12, 67_108_864 / 360e9
    assert (round(block * 1e3, 3), round(fetch * 1e3, 3)) == (0.859, 0.186)
    options = dict(speed=640e12, link=Link(360e9))
    assert predict_seconds(2, PART, causal=False, **options) == pytest.approx(2 * block)
    assert predict_seconds(2, PART, causal=True, **options) == pytest.approx(block, rel=1e-3)
    alone = predict_seconds(1, PART, causal=False, **options)
    assert alone == ideal_seconds(1, PART, speed=640e12, causal=False) == block
    back = predict_seconds(2, PART, causal=True, backward=True, **options)
    assert back == pytest.approx(2.5 * block + 0.75 * fetch, rel=1e-3)
    slow = predict_seconds(2, PART, causal=False, speed=640e12, link=Link(36e9, step=1e-5))
    assert slow == pytest.approx(10 * fetch + block + 1e-5)


def test_beyond_a_host_most_parts_come_through_the_slower_link():
    block, fetch = 4 * 8192**2 * 128 * 16 / 640e12, 67_108_864 / 50e9
    time = predict_seconds(
        16, PART, speed=640e12, link=Link(360e9), causal=False, gpus_per_host=8, inter_host_link=Link(50e9),
    )  # fmt: skip
    assert fetch > block
    # Eight parts come from the other host, the first under my own part; seven from mine.
    assert time == pytest.approx(8 * fetch + 8 * block)
    assert ideal_seconds(16, PART, speed=640e12, causal=False) == pytest.approx(16 * block)


def test_decode_sends_an_output_and_an_lse_a_head():
    assert decode_bytes(32, 128) == 32 * 129 * 4 == 16_512
