"""What chapter 6 and its sheet claim in words.  Of the compiled kernels it needs torch and Triton."""

from itertools import pairwise

from kernels.bench.cost import attention_flops, qkvo_bytes, requested_bytes
from kernels.first.key_blocks import BLOCK_K
from tests.claims.compiled import THREADS, rungs
from tests.claims.rows import chip, close, rounded, row, rows

N, WORDS, WIDTH = 512, 16384, 2048  # of the ladder's run: words in all sentences, numbers a word in all heads
LENGTHS = (256, 512, 1024, 2048, 4096, 8192)
HEADS = (64, 128, 256)


def _median(form, head_dim):
    wanted = {"form": form, "direction": "forward", "head_dim": head_dim, "n": N, "causal": False}
    return row("prefill_speed", f"forward_{head_dim}", **wanted)["median"]


def _meeting(form):
    """n -> what one meeting of a query with a key costs."""
    return {n: row("key_blocks", "times", form=f"{form}_attention", n=n)["one_meeting"] for n in LENGTHS}


def _whole(form):
    return row("hbm_traffic", "whole", form=form)


def _turns(rung):
    """How often the loops of a program go round in the ladder's run."""
    return {"one_key": N, "key_blocks": N // BLOCK_K}[rung]


def _ms(rung, head_dim, turn, at_once):
    """Milliseconds that all programs of the ladder's run take, if a turn of both loops takes so many clocks of an SM.

    at_once: how many of these things an SM does in a clock
    """
    programs = WORDS * WIDTH // head_dim
    return 1e3 * programs * _turns(rung) * turn / (at_once * chip("sms") * chip("tensor core clock"))


def _of_instructions(rung, head_dim):
    """What the instructions of both loops take: an SM has four schedulers, each starts one for a warp in a clock."""
    return _ms(rung, head_dim, THREADS // 32 * sum(rungs()["instructions"][rung, N, head_dim]), at_once=4)


def _of_shared_memory(rung, head_dim):
    return _ms(rung, head_dim, sum(rungs()["shared memory"][rung, N, head_dim]), at_once=1)


def _of_arithmetic(head_dim):
    """On plain lanes."""
    flops = attention_flops(N, head_dim, WIDTH // head_dim, WORDS // N)
    return 1e3 * flops / (chip("sms") * chip("fp32 lanes") * chip("tensor core clock"))


def _of_requests(head_dim):
    """What all that one query a program asks for takes at the speed of L2."""
    asked = WIDTH // head_dim * WORDS // N * requested_bytes(N, head_dim, 2, 1)
    return 1e-9 * asked / row("l2_speed", "sizes", size=16)["speed"]


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


def one_key_takes_times_the_three_lines(times):
    """At d = 128 one key at a time takes more than this many times as long as the three lines, by at most 5 more.

    In words: more, long.
    """
    assert times < _median("one_key_attention", 128) / _median("attention", 128) < times + 5


def blocks_take_times_the_three_lines(times):
    """At d = 128 blocks of keys take this many times as long as the three lines. In words: long."""
    assert times == rounded(_median("key_blocks_attention", 128) / _median("attention", 128), times)


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


def instructions_of_a_key(narrow, middle, wide):
    """Compiled for N = 512, one key takes a thread so many instructions in both loops at d = 64, 128, 256, to 7 %."""
    found = [sum(rungs()["instructions"]["one_key", N, head_dim]) for head_dim in HEADS]
    assert all(close(of, typed, 0.07) for of, typed in zip(found, map(float, (narrow, middle, wide)), strict=True))


def instructions_of_a_block(narrow, middle, wide):
    """Compiled for N = 512, a block takes a thread so many instructions in both loops at d = 64, 128, 256, to 7 %."""
    found = [sum(rungs()["instructions"]["key_blocks", N, head_dim]) for head_dim in HEADS]
    assert all(close(of, typed, 0.07) for of, typed in zip(found, map(float, (narrow, middle, wide)), strict=True))


def fewer_instructions_a_key():
    """In blocks a key takes 1/11 and 1/7 as many instructions at d = 64 and 128, to 10 %, and at 256 1/5 to 1/4.

    In words: less, quarter, many.
    """
    one_key, blocks = (
        {d: sum(rungs()["instructions"][rung, N, d]) for d in HEADS} for rung in ("one_key", "key_blocks")
    )
    times = {d: one_key[d] / (blocks[d] / BLOCK_K) for d in HEADS}
    assert close(times[64], 11, 0.1) and close(times[128], 7, 0.1) and 4 < times[256] < 5


def _by_length():
    """n -> instructions that one key takes in both loops, heads of 64."""
    return {n: sum(rungs()["instructions"]["one_key", n, 64]) for n in (256, 512, 1024)}


def fewer_instructions_no_less_time():
    """With heads of 64 a key takes 1/6 fewer instructions, to 0.02, at 256 words than at 512, and at least the time.

    In words: sixth, fewer, no, less.
    """
    count, costs = _by_length(), _meeting("one_key")
    assert abs(1 - count[256] / count[512] - 1 / 6) < 0.02 and costs[256] >= costs[512]


def a_fifth_more_instructions():
    """With heads of 64 a key takes 1/5 more instructions, to 0.03, at 512 words than at 256, and at most the time.

    In words: fifth, more, no, more.
    """
    count, costs = _by_length(), _meeting("one_key")
    assert abs(count[512] / count[256] - 6 / 5) < 0.03 and costs[512] <= costs[256]


def instructions_at_three_lengths(*typed):
    """With heads of 64 one key takes so many instructions, to 7 %, at three lengths: so many % of the time, to 7 %."""
    counts, lengths, parts = typed[:3], typed[3:6], typed[6:]
    assert list(lengths) == list(_by_length())
    a_second = 4 / (THREADS // 32) * chip("sms") * chip("tensor core clock")  # an SM has four schedulers
    for n, count, part in zip(lengths, counts, parts, strict=True):
        found = _by_length()[n]
        assert close(found, float(count), 0.07)
        assert close(1e12 * found / a_second / _meeting("one_key")[n], float(part) / 100, 0.07)


def the_walk_is_a_third():
    """Of what one key takes at 512 words, its four places take 0.3 to 0.36, if four take twice what 256 to 512 adds.

    In words: third.
    """
    count = _by_length()
    assert 0.3 < 2 * (count[512] - count[256]) / count[512] < 0.36


def a_seventh_of_the_instructions():
    """At d = 128 a key takes a seventh as many instructions in blocks as one key at a time, to 10 %. In words: many."""
    one_key, blocks = (sum(rungs()["instructions"][rung, N, 128]) for rung in ("one_key", "key_blocks"))
    assert close(one_key / (blocks / BLOCK_K), 7, 0.1)


def instructions_fill_one_key():
    """At d = 128 its instructions take four fifths of one key's time, to 5 %; at each d 0.75 to 0.9 of it."""
    parts = [_of_instructions("one_key", head_dim) / _median("one_key_attention", head_dim) for head_dim in HEADS]
    assert close(parts[1], 4 / 5, 0.05) and all(0.75 <= part <= 0.9 for part in parts)


def the_largest_bills_fill_four_fifths():
    """At d = 128 one key's instructions and the blocks at shared memory each take 4/5 of the time, to 5 %."""
    instructions = _of_instructions("one_key", 128) / _median("one_key_attention", 128)
    stored = _of_shared_memory("key_blocks", 128) / _median("key_blocks_attention", 128)
    assert all(close(part, 4 / 5, 0.05) for part in (instructions, stored))


def arithmetic_is_less_than_a_twentieth():
    """At each d plain lanes would do the arithmetic in less than a twentieth of the blocks' time.

    In words: less, twentieth.
    """
    assert all(_of_arithmetic(d) < _median("key_blocks_attention", d) / 20 for d in HEADS)


def requests_are_less_than_two_fifths():
    """At each d L2 would bring all that is asked for in 0.3 to 0.4 (2/5) of the blocks' time. In words: less."""
    assert all(0.3 < _of_requests(d) / _median("key_blocks_attention", d) < 0.4 for d in HEADS)


def shared_memory_fills_the_blocks():
    """At each d shared memory is busy for four fifths of the blocks' time, to 5 %. In words: every."""
    parts = [_of_shared_memory("key_blocks", d) / _median("key_blocks_attention", d) for d in HEADS]
    assert all(close(part, 4 / 5, 0.05) for part in parts)


def clocks_of_a_block(narrow, middle, wide):
    """In both loops a block keeps shared memory busy for so many clocks at d = 64, 128, 256."""
    assert [sum(rungs()["shared memory"]["key_blocks", N, d]) for d in HEADS] == [narrow, middle, wide]


def clocks_of_the_sum_down(clocks):
    """At d = 128 so many of them are for values."""
    assert rungs()["shared memory"]["key_blocks", N, 128][1] == clocks


def ms_of_one_keys_instructions(ms):
    """At d = 128 the instructions of one key's loops take so many milliseconds, to 5 %."""
    assert close(_of_instructions("one_key", 128), float(ms), 0.05)


def ms_of_the_blocks_instructions(ms):
    """At d = 128 the instructions of the blocks' loops take so many milliseconds, to 5 %."""
    assert close(_of_instructions("key_blocks", 128), float(ms), 0.05)


def ms_of_one_key_at_shared_memory(ms):
    """At d = 128 one key's loops keep shared memory busy for so many milliseconds."""
    assert ms == rounded(_of_shared_memory("one_key", 128), ms)


def ms_of_the_blocks_at_shared_memory(ms):
    """At d = 128 the blocks' loops keep shared memory busy for so many milliseconds."""
    assert ms == rounded(_of_shared_memory("key_blocks", 128), ms)


def parts_of_the_limit(blocks, one_key):
    """At d = 128 blocks of keys and one key at a time reach so many per cent of the limit."""
    flops, least = attention_flops(N, 128, 16, WORDS // N), qkvo_bytes(N, 128, 2, 16, WORDS // N)
    limit = 1e3 * max(flops / chip("bf16 peak"), least / chip("hbm bandwidth"))
    for form, typed in (("key_blocks_attention", blocks), ("one_key_attention", one_key)):
        assert typed == rounded(100 * limit / _median(form, 128), typed)


def one_key_is_level_up_to_512(fewer):
    """At 512 words a meeting one key at a time costs no more than at 256. In words: no, more."""
    costs = _meeting("one_key")
    assert costs[512] <= costs[int(fewer)]


def both_took(one_key, blocks):
    """At d = 128 one key at a time and blocks of keys took so many milliseconds."""
    for form, typed in (("one_key_attention", one_key), ("key_blocks_attention", blocks)):
        assert close(_median(form, 128), float(typed), 0.003)


def three_lines_took(ms):
    """At d = 128 the three lines took so many milliseconds."""
    assert ms == rounded(_median("attention", 128), ms)


def three_lines_beat_both_floors():
    """At d = 128 the three lines take less than the lanes' arithmetic alone, and than L2 for what is asked for.

    In words: less.
    """
    assert _median("attention", 128) < min(_of_arithmetic(128), _of_requests(128))


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
