"""All of the work is shared out, and evenly: the kernel's own functions, run in Python."""

from collections import Counter
from itertools import chain, product
from types import SimpleNamespace

import pytest
import torch

from kernels.hopper import schedule
from kernels.hopper.arguments import Sizes
from kernels.hopper.plan import plan_for


def gl_of_program(program, programs):
    """What ``gl`` means to program number ``program`` of so many."""
    return SimpleNamespace(
        to_tensor=torch.tensor, int32=torch.int32, minimum=min, cdiv=lambda x, y: -(-x // y),
        where=lambda condition, x, y: x if condition else y,
        program_id=lambda _: program, num_programs=lambda _: programs,
    )  # fmt: skip


def schedule_work(
    heads, seq_q, seq_k, block_q, block_k, sms, monkeypatch,
    *, is_causal=True, pair_blocks=True, longest_first_tail=True,
):  # fmt: skip
    """What each program does, block after block: head, first query, blocks of keys, and blocks of its work item."""
    blocks = -(-seq_q // block_q)
    paired = is_causal and pair_blocks and heads * blocks > sms
    work_items, *counts = schedule.work_items_of(heads, blocks, sms, paired, longest_first_tail)
    sizes = Sizes(None, None, *counts, None, None, seq_q, seq_k)
    programs = min(work_items, sms)
    slots = -(-work_items // programs) * programs if paired else work_items
    work_by_program = []
    for program in range(programs):
        monkeypatch.setattr(schedule, "gl", gl_of_program(program, programs))
        own_work = []
        for slot in range(program, slots, programs):
            work_item = torch.tensor(schedule.serpentine.fn(slot, paired))
            count = int(schedule.blocks_in.fn(work_item, sizes, block_q, paired))
            for member in range(count):
                block = schedule.block_of.fn(
                    work_item, member, sizes, block_q, block_k, is_causal, paired
                )  # fmt: skip
                own_work.append((*map(int, block), count))
        work_by_program.append(own_work)
    return work_by_program


@pytest.mark.parametrize(
    "is_causal, pair_blocks, longest_first_tail",
    [(False, False, False), (True, False, False), (True, True, False), (True, True, True)],
    ids=["full", "in turn", "pairs", "pairs and single blocks"],
)
@pytest.mark.parametrize("block_q, block_k", [(128, 128), (128, 64), (192, 128)])
@pytest.mark.parametrize("seq_q", [1, 128, 129, 300, 385, 1000])
@pytest.mark.parametrize("heads, seq_k, sms", [(1, 1000, 3), (3, 1, 2), (3, 200, 4), (7, 1000, 5), (13, 1000, 132)])
def test_every_block_once(
    heads, seq_k, sms, seq_q, block_q, block_k, is_causal, pair_blocks, longest_first_tail, monkeypatch
):
    """Each block of queries of each head is done by one program, with all the keys that it sees and no block more."""
    options = {"is_causal": is_causal, "pair_blocks": pair_blocks, "longest_first_tail": longest_first_tail}
    work_by_program = schedule_work(heads, seq_q, seq_k, block_q, block_k, sms, monkeypatch, **options)
    assert all(work_by_program) and len(work_by_program) <= sms
    all_work = list(chain(*work_by_program))
    for _, first_query, length, _ in all_work:
        visible_keys = min(seq_k, first_query + block_q) if is_causal else seq_k
        assert (length - 1) * block_k < visible_keys <= length * block_k
    counts = Counter((head, first_query) for head, first_query, *_ in all_work)
    assert counts == Counter(product(range(heads), range(0, seq_q, block_q)))


@pytest.mark.parametrize("block_q, block_k", [(128, 128), (128, 64), (192, 128)])
@pytest.mark.parametrize("seq_q", [129, 300, 385, 1000])
def test_pairs_are_equally_long(seq_q, block_q, block_k, monkeypatch):
    blocks = -(-seq_q // block_q)
    work_by_program = schedule_work(7, seq_q, 1000, block_q, block_k, 3, monkeypatch, longest_first_tail=False)
    for own_work in work_by_program:
        pairs = [block for block in own_work if block[3] == 2]
        for long, short in zip(pairs[::2], pairs[1::2], strict=True):
            assert long[0] == short[0] and long[1] > short[1]
            assert abs(long[2] + short[2] - (blocks + 1) * block_q / block_k) < 2


@pytest.mark.parametrize("heads, seq_q", [(7, 1000), (16, 4096), (2, 9000)])
def test_single_blocks_come_last_and_the_longest_first(heads, seq_q, monkeypatch):
    """Those of the last heads: in each round, and from one round to the next."""
    sms = 12
    work_by_program = schedule_work(heads, seq_q, seq_q, 128, 128, sms, monkeypatch)
    blocks = -(-seq_q // 128)
    unpaired_heads = min(heads, -(-7 * sms // (4 * blocks)))
    singles = [[block for block in own_work if block[0] >= heads - unpaired_heads] for own_work in work_by_program]
    for own_work, single in zip(work_by_program, singles, strict=True):
        assert own_work[len(own_work) - len(single) :] == single
        lengths = [length for _, _, length, _ in single]
        assert lengths == sorted(lengths, reverse=True)
    assert sum(map(len, singles)) == unpaired_heads * blocks


def busiest_load(work_by_program, mean_load):
    """Blocks of keys of the busiest program, and one for each block of queries, by the mean of all SMs."""
    return max(sum(length + 1 for _, _, length, _ in own_work) for own_work in work_by_program) / mean_load


@pytest.mark.parametrize("head_dim, seq_q", [*product([64, 128, 256], [1024, 4096, 16384])])
def test_single_blocks_make_up_for_what_pairs_leave(head_dim, seq_q, monkeypatch):
    """Of 16384 tokens of 2048 numbers, on 132 SMs: pairs alone leave the busiest 3 to 6 % behind the others."""
    plan, sms, heads = plan_for(head_dim, True, seq_q), 132, 16384 // seq_q * 2048 // head_dim
    sizes = heads, seq_q, seq_q, plan.block_q, plan.block_k, sms, monkeypatch
    mean_load = sum(length + 1 for own_work in schedule_work(*sizes) for _, _, length, _ in own_work) / sms
    load_of_pairs = busiest_load(schedule_work(*sizes, longest_first_tail=False), mean_load)
    assert 1.03 < load_of_pairs < 1.06
    assert busiest_load(schedule_work(*sizes), mean_load) < 1.01
