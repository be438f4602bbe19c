"""Every block of keys has its program, and programs that keep an order wait for none that is started after them.

The kernel's own functions, run in Python.
"""

from collections import defaultdict
from types import SimpleNamespace

import pytest
import torch

from kernels.hopper.backward import accumulate_dq, gradients, head_dim_256_dq, schedule
from kernels.hopper.backward.arguments import QuerySizes, Sizes

IN_PYTHON = SimpleNamespace(
    to_tensor=lambda x: x, minimum=min, cdiv=lambda x, y: -(-x // y),
    where=lambda condition, x, y: x if condition else y,
)  # fmt: skip
BATCH, KEY_HEADS, GROUP = 2, 3, 4


@pytest.fixture
def in_python(monkeypatch):
    """The kernel's functions, of one program after the other."""
    monkeypatch.setattr(schedule, "share_of", schedule.share_of.fn)
    monkeypatch.setattr(head_dim_256_dq, "share_of", schedule.share_of)
    monkeypatch.setattr(head_dim_256_dq, "WGMMA_M", 64)

    def programs(count):
        for program in range(count):
            gl = SimpleNamespace(**vars(IN_PYTHON), program_id=lambda axis, program=program: program)
            for module in (schedule, accumulate_dq, head_dim_256_dq):
                monkeypatch.setattr(module, "gl", gl)
            yield program

    return programs


@pytest.fixture
def works(in_python):
    """Of each program of a launch, in the order of their numbers: what it does."""

    def all_of(seq_q, seq_k, block_q, block_k, is_causal, ordered, splits, interleave):
        batch_heads = BATCH * KEY_HEADS * splits
        sizes = Sizes(
            None, KEY_HEADS * GROUP, GROUP, splits, batch_heads, min(interleave, batch_heads), seq_q, seq_k, None, None
        )
        for number in in_python(batch_heads * -(-seq_k // block_k)):
            yield schedule.work_of.fn(sizes._replace(number=number), block_q, block_k, is_causal, ordered)

    return all_of


SIZES = [(1, 1), (300, 1000), (1000, 300), (385, 385), (64, 512), (1025, 1024)]
LENGTHS = pytest.mark.parametrize("seq_q, seq_k", SIZES)
BLOCKS = pytest.mark.parametrize("block_q, block_k", gradients.BLOCKS.values())
CAUSAL = pytest.mark.parametrize("is_causal", [False, True], ids=["full", "causal"])
INTERLEAVE = pytest.mark.parametrize("interleave", [1, 4, 100])


@LENGTHS
@BLOCKS
@CAUSAL
@pytest.mark.parametrize("splits", [1, 2, 4])
@INTERLEAVE
def test_every_key_meets_every_query_that_sees_it_once(
    interleave, splits, is_causal, block_q, block_k, seq_q, seq_k, works
):
    pairs = defaultdict(int)
    for work in works(seq_q, seq_k, block_q, block_k, is_causal, False, splits, interleave):
        for head in range(work.first_head, work.end_head):
            assert head // GROUP == work.key_head
            for block in range(work.start, work.blocks):
                pairs[work.batch, head, work.first_key // block_k, block] += 1
    assert set(pairs.values()) == {1}
    visible = {
        (batch, head, key_block, block)
        for batch in range(BATCH)
        for head in range(KEY_HEADS * GROUP)
        for key_block in range(-(-seq_k // block_k))
        for block in range(-(-seq_q // block_q))
        if not is_causal or (block + 1) * block_q > key_block * block_k
    }
    assert visible <= set(pairs)
    invisible = set(pairs) - visible  # keys after the last query, which have its block
    assert all(is_causal and (block + 1) * block_q >= seq_q for *_, block in invisible)


@LENGTHS
@BLOCKS
@CAUSAL
@INTERLEAVE
def test_an_order_is_that_in_which_programs_are_started(interleave, is_causal, block_q, block_k, seq_q, seq_k, works):
    """So whoever waits waits for a program that runs already."""
    additions = defaultdict(int)
    for work in works(seq_q, seq_k, block_q, block_k, is_causal, True, 1, interleave):
        for head in range(work.first_head, work.end_head):
            for block in range(work.start, work.blocks):
                q_block = (work.batch * KEY_HEADS * GROUP + head) * work.blocks + block
                assert accumulate_dq.rank_in.fn(work, q_block, seq_k, block_q, block_k, is_causal) == additions[q_block]
                additions[q_block] += 1


@BLOCKS
def test_causal_nobody_waits_at_first(block_q, block_k, works):
    """A program begins with a block to which nobody has to add before it."""
    for work in works(4096, 4096, block_q, block_k, True, True, 1, 1):
        q_block = work.batch * KEY_HEADS * GROUP * work.blocks + work.start
        assert accumulate_dq.rank_in.fn(work, q_block, 4096, block_q, block_k, True) == 0


@LENGTHS
@CAUSAL
@INTERLEAVE
def test_every_query_meets_every_key_that_it_sees_once(interleave, is_causal, seq_q, seq_k, in_python):
    """At heads of 256."""
    batch_heads, blocks = 6, -(-seq_q // 128)
    sizes, blocks_done = QuerySizes(None, 3, None, batch_heads, min(interleave, batch_heads), seq_q, seq_k, None), set()
    for _ in in_python(batch_heads * blocks):
        batch, head, first_query, key_blocks = head_dim_256_dq.queries_of.fn(sizes, is_causal)
        blocks_done.add((batch, head, first_query))
        visible_keys = min(seq_k, first_query + 128) if is_causal else seq_k
        assert (key_blocks - 1) * 64 < visible_keys <= key_blocks * 64
    assert blocks_done == {
        (batch, head, 128 * block) for batch in range(2) for head in range(3) for block in range(blocks)
    }


@pytest.mark.parametrize(
    "heads, key_heads, keys, splits",
    [(8, 8, 128, 1), (8, 1, 128, 8), (8, 1, 8 * 128, 2), (12, 2, 4 * 128, 2), (8, 1, 16 * 128, 1)],
)
def test_query_heads_are_shared_out_while_sms_are_idle(heads, key_heads, keys, splits, monkeypatch):
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: SimpleNamespace(multi_processor_count=16))
    q, k = torch.empty(1, heads, 1, 64), torch.empty(1, key_heads, keys, 64)
    assert gradients.splits_of(q, k, 128) == splits
