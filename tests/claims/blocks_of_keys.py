"""What chapter 6 and its sheet claim in words.  Of the compiled kernels it needs torch and Triton."""

from itertools import pairwise

from tests.claims.compiled import rungs
from tests.claims.rows import close, row, rows

LENGTHS = (256, 512, 1024, 2048, 4096, 8192)
HEADS = (64, 128, 256)


def _median(form, head_dim):
    wanted = {"form": form, "direction": "forward", "head_dim": head_dim, "n": 512, "causal": False}
    return row("prefill_speed", f"forward_{head_dim}", **wanted)["median"]


def _meeting(form):
    """n -> what one meeting of a query with a key costs."""
    return {n: row("key_blocks", "times", form=f"{form}_attention", n=n)["one_meeting"] for n in LENGTHS}


def _whole(form):
    return row("hbm_traffic", "whole", form=form)


def bytes_of_a_load(chapter, narrow, wide):
    """Compiled at d = 128, one_key loads 2 bytes a thread; key_blocks takes 8 loads of 16, after the query.

    In words: every.
    """
    assert chapter == 5
    widths = {rung: rungs()["widths"][rung] for rung in ("one_key", "key_blocks")}
    assert widths == {"one_key": [narrow] * 3, "key_blocks": [narrow, *[wide] * 8]}


def widest_load(size):
    """The widest load that one_key and key_blocks are compiled to brings a thread so many bytes."""
    assert size == max(max(widths) for widths in rungs()["widths"].values())


def two_keys_a_warp():
    """Compiled, 16 threads with 8 numbers each hold a key: a warp of 32 has two keys. In words: half."""
    wanted = "sizePerThread = [1, 8], threadsPerWarp = [2, 16], warpsPerCTA = [4, 1]"
    assert any(wanted in layout for layout in rungs()["layouts"])


def longest_row_of_key_blocks(scores):
    """The kernel's LONGEST_ROW is this many scores."""
    from kernels.first.key_blocks import LONGEST_ROW

    assert scores == LONGEST_ROW


def the_row_fits_beside_the_tile(registers):
    """Compiled for the longest row, a thread takes so many registers at most and moves none out to memory."""
    for head_dim in (64, 128):
        used, spilled = rungs()["registers"]["key_blocks", 16384, head_dim]
        assert used <= registers == 2**8 - 1 and spilled == 0  # an instruction has eight bits to name a register


def a_third_more_registers():
    """Compiled, a thread takes a third more registers at 8192 than at 4096, to 5 %. In words: third, more."""
    at_4096, at_8192 = (rungs()["registers"]["key_blocks", n, 64][0] for n in (4096, 8192))
    assert close(at_8192, 4 / 3 * at_4096, 0.05)


def both_programs_err_less():
    """Both programs pass, and use less than half as much of the budget as the three lines. In words: both, less."""
    used = {found["form"]: found["of_budget"] for found in rows("key_blocks", "errors")}
    assert {found["verdict"] for found in rows("key_blocks", "errors")} == {"passes"}
    assert used["attention"] > 2 * max(used["one_key_attention"], used["key_blocks_attention"])


def blocks_take_less_than_half():
    """At d = 128 blocks of keys take less than half of the time of one key at a time. In words: less, half."""
    assert 2 * _median("key_blocks_attention", 128) < _median("one_key_attention", 128)


def rungs_with_the_square_are_faster():
    """At each d one key, key blocks, three kernels, three lines and cuDNN rise in speed, three kernels by 10 times.

    In words: fast; slowest; faster.
    """
    for head_dim in HEADS:
        fused = min(_median(f"sdpa_{backend}", head_dim) for backend in ("flash", "cudnn", "efficient", "math"))
        rungs = ("one_key_attention", "key_blocks_attention", "three_kernel_attention", "attention")
        ladder = [*(_median(rung, head_dim) for rung in rungs), fused]
        assert ladder == sorted(ladder, reverse=True) and ladder[1] > 10 * ladder[2]
        assert fused == _median("sdpa_cudnn", head_dim)


def blocks_are_slower_than_three_kernels():
    """At each d key blocks take more than 10 times as long as three kernels. In words: far, slower; slower."""
    assert all(_median("key_blocks_attention", d) > 10 * _median("three_kernel_attention", d) for d in HEADS)


def one_key_pays_by_the_step():
    """One key at a time, the time goes with the number of scores: time by d is level to 6 %.

    In words: half, many, half.
    """
    steps = [_median("one_key_attention", head_dim) * head_dim for head_dim in HEADS]
    assert max(steps) < 1.06 * min(steps)


def blocks_pay_by_the_number():
    """In blocks the time is the same at each d, to 15 %. In words: level."""
    times = [_median("key_blocks_attention", head_dim) for head_dim in HEADS]
    assert max(times) < 1.15 * min(times)


def a_block_helps_short_keys():
    """What a block gains falls from d = 64 over 128 to 256, and stays above 1. In words: most, short."""
    gains = [_median("one_key_attention", d) / _median("key_blocks_attention", d) for d in HEADS]
    assert gains == sorted(gains, reverse=True) and gains[-1] > 1


def blocks_level_up_to_4096(length):
    """Up to this length a meeting in blocks costs at most 15 % more than the cheapest. In words: level."""
    costs = _meeting("key_blocks")
    assert length in costs and max(cost for n, cost in costs.items() if n <= length) < 1.15 * min(costs.values())


def blocks_rise_by_two_thirds():
    """A meeting in blocks costs two thirds more, to 0.03, at 8192 than at 4096: thrice what 512 to 4096 added.

    In words: rises, thirds, more, twice.
    """
    costs = _meeting("key_blocks")
    assert close(costs[8192], 5 / 3 * costs[4096], 0.03)
    assert costs[8192] - costs[4096] > 3 * (costs[4096] - costs[512])


def the_longer_the_better_for_blocks():
    """From 512 to 8192 a meeting in blocks costs less than twice as much; its lead goes from above 4 to above 20.

    In words: not, double, longer, more.
    """
    one_key, blocks = _meeting("one_key"), _meeting("key_blocks")
    leads = [one_key[n] / blocks[n] for n in LENGTHS]
    assert blocks[8192] < 2 * blocks[512]
    assert leads[0] > 4 and leads[-1] > 20 and max(leads) == leads[-1]
    assert all(after > 0.95 * before for before, after in pairwise(leads))


def blocks_ask_for_as_much():
    """Both rungs ask for the same bytes: more than 500 times what HBM delivers in blocks."""
    counted = _whole("key_blocks_attention")
    assert counted["requested"] == _whole("one_key_attention")["requested"] > 500 * counted["flushed"]


def blocks_take_q_k_and_v_once():
    """HBM delivers 3/4 of Q, K, V and the output, to 5 %."""
    assert close(_whole("key_blocks_attention")["times_the_least"], 0.75, 0.05)


def l2_would_take_a_third():
    """At the speed of L2 all that is asked for takes a third of the kernel's time, to 5 %, flushed and kept.

    In words: third.
    """
    from_l2 = 1e-3 * _whole("key_blocks_attention")["requested"] / row("l2_speed", "sizes", size=16)["speed"]  # ms
    for found in rows("hbm_traffic", "counted", form="key_blocks_attention"):
        assert close(from_l2 / found["time"], 1 / 3, 0.05)


def squares_move_many_times_the_least():
    """The three lines and three kernels move more than 50 times the least, and key blocks less than it.

    In words: many, least; less, hbm.
    """
    assert all(_whole(form)["times_the_least"] > 50 for form in ("attention", "three_kernel_attention"))
    assert _whole("key_blocks_attention")["times_the_least"] < 1


def tiles_of_three_kernels(queries, keys):
    """The blocks of the three kernels' matmuls have so many queries and so many keys."""
    from kernels.first import three_kernels

    assert (queries, keys) == (three_kernels.BLOCK_Q, three_kernels.BLOCK_K)
