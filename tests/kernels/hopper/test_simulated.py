"""The Hopper kernel is attention, in whatever order its warps and copies come: its own functions, run on a CPU."""

import pytest
import torch

from kernels.hopper import attention as forward_module
from kernels.hopper.plan import PLANS, plan_for
from tests.kernels.flash.harness import inputs
from tests.kernels.hopper import simulator
from tests.kernels.hopper.harness import BF16, FP16, OTHER_PLANS, largest_budget_used
from tests.kernels.hopper.simulator.program import Program
from tests.kernels.hopper.wrong import MISTAKES, NO_MISTAKE, Mistake, mutated_module

DEFAULT_PLANS = {f"{head_dim}{', causal' * causal}": (causal, plan) for (head_dim, causal), plan in PLANS.items()}


def attention(module, q, k, v, *, is_causal=False, plan=None, seed=0):
    """Output and lse by that module's kernel, on three SMs, so that each has several work items."""
    plan = plan or plan_for(q.shape[-1], is_causal, q.shape[-2])
    return simulator.forward(module, q, k, v, plan=plan, is_causal=is_causal, seed=seed)


def simulated_budget_used(module, q, k, v, *, is_causal=False, **options):
    """What fraction of the budget is used."""
    out_and_lse = attention(module, q, k, v, is_causal=is_causal, **options)
    return largest_budget_used(lambda *_, **__: out_and_lse, q, k, v, is_causal=is_causal, enable_gqa=True)


@pytest.mark.parametrize("seq_q, seq_k", [(1, 1), (64, 65), (200, 410), (577, 300)])
@pytest.mark.parametrize("plan", DEFAULT_PLANS)
def test_it_is_attention(plan, seq_q, seq_k):
    """Lengths that fill no tile, consumers without a query, and groups of two heads."""
    is_causal, plan = DEFAULT_PLANS[plan]
    head_dim = next(d for (d, _), each in PLANS.items() if each is plan)
    dtype = FP16 if seq_q == 64 else BF16
    q, k, v = inputs("cpu", dtype, seq_q, seq_k, head_dim, batch=1, heads=4, key_heads=2)
    assert simulated_budget_used(forward_module, q, k, v + 1, is_causal=is_causal, plan=plan) <= 1


@pytest.mark.parametrize("plan", OTHER_PLANS)
def test_other_plans(plan):
    is_causal, plan = OTHER_PLANS[plan]
    q, k, v = inputs("cpu", BF16, 385, 300, 64, batch=1, heads=4, key_heads=2)
    assert simulated_budget_used(forward_module, q, k, v + 1, is_causal=is_causal, plan=plan) <= 1


@pytest.mark.parametrize("plan", DEFAULT_PLANS | OTHER_PLANS)
def test_every_order_gives_the_same(plan):
    """Which warps go on and when a copy takes place changes no bit."""
    is_causal, plan = (DEFAULT_PLANS | OTHER_PLANS)[plan]
    head_dim = next((d for (d, _), each in PLANS.items() if each is plan), 64)
    q, k, v = inputs("cpu", BF16, 400, 333, head_dim, batch=1, heads=3)
    orders = [attention(forward_module, q, k, v, is_causal=is_causal, plan=plan, seed=x) for x in range(2)]
    assert all(torch.equal(*pair) for pair in zip(*orders, strict=True))


@pytest.mark.parametrize("half_last_block, halves", [(True, 6), (False, 0)])
def test_half_of_a_block_is_computed_where_no_more_is_seen(half_last_block, halves, monkeypatch):
    """Of two heads, by the consumers of queries 0, 128 and 256: those of 64 and 192 see the last block whole."""
    shapes, multiply = [], Program.multiply
    monkeypatch.setattr(Program, "multiply", lambda *x, **y: shapes.append(x[2].shape) or multiply(*x, **y))
    q, k, v = inputs("cpu", BF16, 300, 300, 64, batch=1, heads=2)
    attention(forward_module, q, k, v, is_causal=True, plan=PLANS[64, True]._replace(half_last_block=half_last_block))
    assert shapes.count([64, 64]) == halves


# Wrong versions.


def mistake_budget_used(module, mistake, seed=0):
    """What fraction of the budget a version of the kernel uses."""
    q, k, v = inputs("cpu", BF16, 300, 400, 64, heads=4, key_heads=2)
    return simulated_budget_used(module, q, k, v + 1, is_causal=mistake.is_causal, plan=mistake.plan, seed=seed)


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_wrong_version_is_rejected(mistake, tmp_path):
    folder = tmp_path / f"wrong_simulated_{list(MISTAKES).index(mistake)}"
    assert mistake_budget_used(mutated_module(MISTAKES[mistake], folder), MISTAKES[mistake]) > 1


@pytest.mark.parametrize("is_causal", [False, True], ids=["full", "causal"])
def test_the_right_one_is_accepted_in_its_place(is_causal, tmp_path):
    folder = tmp_path / f"right_simulated_{is_causal}"
    assert mistake_budget_used(mutated_module(NO_MISTAKE, folder), NO_MISTAKE._replace(is_causal=is_causal)) <= 1


NO_OVERLAP = PLANS[64, False]._replace(overlap_epilogue=False)
HANGING_MISTAKES = {
    "keys never given back": Mistake(
        "        pass_turn(tensors.ping_pong, CONSUMER, PLAN.consumers)\n    release(tensors.k_ring, tile_number)",
        "        pass_turn(tensors.ping_pong, CONSUMER, PLAN.consumers)",
    ),
    "queries never given back": Mistake("release(query_ring, q_tile_number)", "pass", plan=NO_OVERLAP),
    "queries never given back, overlapped epilogue": Mistake("release(query_ring, q_tile_number - 1)", "pass"),
    "overlapped epilogue with a single stage of queries": NO_MISTAKE._replace(
        plan=PLANS[64, False]._replace(q_stages=1)
    ),
    "turns not passed on": Mistake("mbarrier.arrive(ping_pong.index((CONSUMER + 1) % CONSUMERS), count=1)", "pass"),
    "every consumer begins": Mistake("1 if CONSUMER == 0 else 0", "0"),
    "a tile too few": Mistake("for i in range(blocks):", "for i in range(blocks - 1):"),
}


@pytest.mark.parametrize("mistake", HANGING_MISTAKES)
def test_one_that_waits_for_ever_says_so(mistake, tmp_path):
    """On a GPU it would hang."""
    folder = tmp_path / f"hanging_simulated_{list(HANGING_MISTAKES).index(mistake)}"
    with pytest.raises(simulator.Hangs, match=r"\d threads wait for ever"):
        mistake_budget_used(mutated_module(HANGING_MISTAKES[mistake], folder), HANGING_MISTAKES[mistake])


STORE_OUTPUT = """    own_tile.store((accumulator * factor[:, None]).to(own_tile.dtype))
    fence_async_shared()
"""
SEND_OUTPUT = """{before}    tma.async_copy_shared_to_global(tensors.out, [0, batch_head, first_query, 0], tile)
{after}"""
WAIT_UNTIL_SENT = "tma.store_wait(0)\n                "
WAIT_FOR_PRODUCT = "        accumulator = warpgroup_mma_wait(0, deps=(accumulator,))\n"
RELEASE_VALUES = "        release(tensors.v_ring, tile_number - 1)\n"
SYNC_MISTAKES = {
    "a tile read before it is there": Mistake(
        "mbarrier.wait(ring.full.index(stage), tile_number // STAGES & 1)", "pass"
    ),
    "a tile filled before it is free": Mistake(
        "mbarrier.wait(ring.empty.index(stage), (tile_number // STAGES & 1) ^ 1)", "pass"
    ),
    "queries not waited for": Mistake(
        "own_tile = wait_for_tile(query_ring, q_tile_number)",
        "x = query_ring.tiles\n            own_tile = x.index(q_tile_number % x.shape[0]).reshape([64, x.shape[4]])",
    ),
    "values given back before the product": Mistake(
        WAIT_FOR_PRODUCT + RELEASE_VALUES, RELEASE_VALUES + WAIT_FOR_PRODUCT
    ),
    "queries given back before the output is read": Mistake(
        WAIT_UNTIL_SENT + "release(query_ring, q_tile_number)", "release(query_ring, q_tile_number)", plan=NO_OVERLAP
    ),
    "queries given back before the output is read, overlapped epilogue": Mistake(
        WAIT_UNTIL_SENT + "release(query_ring, q_tile_number - 1)",
        "release(query_ring, q_tile_number - 1)",
        plan=PLANS[64, True],
    ),
    "a program that ends before its last output is read": Mistake(
        "    if PLAN.overlap_epilogue:\n        tma.store_wait(0)", "    if PLAN.overlap_epilogue:\n        pass"
    ),
    "output given before it is written": Mistake(
        SEND_OUTPUT.format(before=STORE_OUTPUT, after=""), SEND_OUTPUT.format(before="", after=STORE_OUTPUT)
    ),
    "output not fenced": Mistake("    fence_async_shared()\n    tma.async_copy_shared", "    tma.async_copy_shared"),
    "scores used before they are there": Mistake("scores = warpgroup_mma_wait(1, deps=(scores,))", "pass"),
}


@pytest.mark.parametrize("mistake", SYNC_MISTAKES)
def test_one_that_does_not_wait_is_found_out_in_some_order(mistake, tmp_path):
    """On a GPU it may come right a thousand times."""
    module = mutated_module(SYNC_MISTAKES[mistake], tmp_path / f"early_simulated_{list(SYNC_MISTAKES).index(mistake)}")

    def is_wrong(seed):
        try:
            return not mistake_budget_used(module, SYNC_MISTAKES[mistake], seed) <= 1
        except (simulator.Race, simulator.Hangs):  # phases that are confused may hang
            return True

    assert sum(is_wrong(seed) for seed in range(4)) > 1
