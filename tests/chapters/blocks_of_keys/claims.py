"""What chapter 6 and its sheet claim in words.  Of the compiled kernels it needs torch and Triton."""

from itertools import pairwise

from kernels.bench.cost import attention_flops, qkvo_bytes, requested_bytes
from kernels.first.key_blocks import BLOCK_K
from scripts import records
from tests.chapters.first_kernel.claims import H100_RUN
from tests.claims.compiled import THREADS, rungs
from tests.claims.rows import chip, chip_of, close, rounded, row, rows

N, WORDS, WIDTH = 512, 16384, 2048  # of the ladder's run: words in all sentences, numbers a word in all heads
LENGTHS = (256, 512, 1024, 2048, 4096, 8192)
HEADS = (64, 128, 256)
CLOCK = 1.98e9  # 1/s, of the SMs as they were counted: see clock_of_the_count


def _median(form, head_dim):
    wanted = {"form": form, "direction": "forward", "head_dim": head_dim, "n": N, "causal": False}
    return row("prefill_speed", f"forward_{head_dim}", **wanted)["median"]


def _meeting(form):
    """n -> what one meeting of a query with a key costs."""
    return {n: row("key_blocks", "times", form=f"{form}_attention", n=n)["one_meeting"] for n in LENGTHS}


def _whole(form):
    return row("hbm_traffic", "whole", form=form)


def _busy(rung, head_dim, n=N):
    """What the profiler counted."""
    return row("what_is_busy", "busy", form=rung, n=n, head_dim=head_dim)


def _clocks(rung, head_dim, n=N):
    """Clocks of an SM that one turn of a program's loops took under the profiler, its softmax shared out over them."""
    turns = WORDS * WIDTH // head_dim * {"one_key": n, "key_blocks": n // BLOCK_K}[rung]
    return _busy(rung, head_dim, n)["time"] * 1e-3 * CLOCK * chip("sms") / turns


def _of_the_unit(rung, head_dim):
    """Clocks for which a turn of a program's loops keeps the load-store unit busy, as the compiled code has it."""
    _, shuffles, loads = rungs()["of the unit"][rung, N, head_dim]
    return sum(map(sum, rungs()["shared memory"][rung, N, head_dim])) + shuffles + loads


def _of_arithmetic(head_dim):
    """On plain lanes."""
    flops = attention_flops(N, head_dim, WIDTH // head_dim, WORDS // N)
    return 1e3 * flops / (chip("sms") * chip("fp32 lanes") * CLOCK)


def _of_requests(head_dim):
    """What all that one query a program asks for takes at the speed of L2."""
    asked = WIDTH // head_dim * WORDS // N * requested_bytes(N, head_dim, 2, 1)
    return 1e-9 * asked / row("l2_speed", "sizes", size=16)["speed"]


def bytes_of_a_load(chapter, narrow, wide):
    """Compiled at d = 128, one_key loads 2 bytes a thread; key_blocks takes 8 loads of 16, after the query."""
    assert chapter == 5
    widths = {rung: rungs()["widths"][rung] for rung in ("one_key", "key_blocks")}
    assert widths == {"one_key": [narrow] * 3, "key_blocks": [narrow, *[wide] * 8]}


def timed_with_triton(version):
    """The ladder's run was made with this version of Triton, to its second place."""
    assert records.read("prefill_speed").provenance["triton"].rpartition(".")[0] == str(version)


def widest_load(size):
    """The widest load that one_key and key_blocks are compiled to brings a thread so many bytes."""
    assert size == max(max(widths) for widths in rungs()["widths"].values())


def two_keys_a_warp():
    """Compiled, 16 threads with 8 numbers each hold a key: a warp of 32 has two keys. In words: half."""
    wanted = "sizePerThread = [1, 8], threadsPerWarp = [2, 16], warpsPerCTA = [4, 1]"
    assert any(wanted in layout for layout in rungs()["layouts"])


def longest_row_of_key_blocks(scores):
    """The kernel's LONGEST_ROW is this many scores."""
    from kernels.first.check import LONGEST_ROW

    assert scores == LONGEST_ROW


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


def blocks_take_times_the_three_lines(times):
    """At d = 128 blocks of keys take this many times as long as the three lines. In words: long."""
    assert times == rounded(_median("key_blocks_attention", 128) / _median("attention", 128), times)


def blocks_gained_nothing():
    """At each d blocks of keys take what they took on an H100, to 1 %. In words: same."""
    for head_dim, then in zip(HEADS, H100_RUN["key_blocks_attention"], strict=True):
        assert close(_median("key_blocks_attention", head_dim), then, 0.01)


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


def _a_key(rung, head_dim, n=N):
    """Instructions that a thread starts for a key, as counted."""
    keys = {"one_key": 1, "key_blocks": BLOCK_K}[rung]
    return _busy(rung, head_dim, n)["instructions"] / 100 * 4 * _clocks(rung, head_dim, n) / (THREADS // 32) / keys


def fewer_instructions_a_key():
    """In blocks a key takes 1/10, 1/7 and 1/4 as many instructions at d = 64, 128 and 256, to 6 %, as counted.

    In words: tenth, quarter, many.
    """
    times = [_a_key("one_key", head_dim) / _a_key("key_blocks", head_dim) for head_dim in HEADS]
    assert all(close(found, said, 0.06) for found, said in zip(times, (10, 7, 4), strict=True))


def _by_length():
    """n -> instructions that one key takes in both loops, heads of 64."""
    return {n: sum(rungs()["instructions"]["one_key", n, 64]) for n in (256, 512)}


def fewer_instructions_no_less_time():
    """With heads of 64 a key takes 1/7 fewer instructions at 256 words than at 512, to 0.02, and at least the clocks.

    The share of these for which the unit is busy is the same, to 1 %. In words: fewer, no, less.
    """
    fewer = 1 - _a_key("one_key", 64, 256) / _a_key("one_key", 64)
    assert abs(fewer - 1 / 7) < 0.02 and _clocks("one_key", 64, 256) >= _clocks("one_key", 64)
    assert close(_busy("one_key", 64, 256)["unit"], _busy("one_key", 64)["unit"], 0.01)


def arithmetic_is_less_than_a_twentieth():
    """At each d plain lanes would do the arithmetic in less than a twentieth of the blocks' time.

    In words: less, twentieth.
    """
    assert all(_of_arithmetic(d) < _median("key_blocks_attention", d) / 20 for d in HEADS)


def requests_are_less_than_two_fifths():
    """At each d L2 would bring all that is asked for in 0.3 to 0.4 (2/5) of the blocks' time. In words: less."""
    assert all(0.3 < _of_requests(d) / _median("key_blocks_attention", d) < 0.4 for d in HEADS)


def clock_of_the_count(ghz):
    """While they were counted, the SMs had so many GHz, in all rows."""
    assert {ghz} == {rounded(found["clock"], ghz) for found in rows("what_is_busy", "busy")}
    assert float(ghz) == CLOCK / 1e9


def times_of_the_count(percent):
    """At each d both took the times of the ladder's run, to so many per cent and not to one per cent less."""
    apart = []
    for rung in ("one_key", "key_blocks"):
        for head_dim in HEADS:
            found, ladder = _busy(rung, head_dim)["time"], _median(f"{rung}_attention", head_dim)
            apart.append(100 * abs(found / ladder - 1))
    assert percent - 1 < max(apart) <= percent


def busy_under_one_key(unit, starts, instructions):
    """At d = 128 the unit is busy in so many % of all clocks, takes an instruction in so many, schedulers so many %."""
    found = _busy("one_key", 128)
    for typed, column in ((unit, "unit"), (starts, "starts"), (instructions, "instructions")):
        assert typed == rounded(found[column], typed)


def _barriers(rung, head_dim, n=N):
    """Of a turn of both loops, compiled."""
    return rungs()["named"][rung, n, head_dim]["BAR"]


def _over_the_starts(head_dim, n=N):
    """Clocks of a meeting for which the unit is busy under one key, beyond one for each instruction that it takes."""
    found = _busy("one_key", head_dim, n)
    return (found["unit"] - found["starts"]) / 100 * _clocks("one_key", head_dim, n)


def barriers_take_the_rest(percent, barriers, clocks):
    """At d = 128 the unit is busy in so many % more of all clocks than it takes instructions in, as printed.

    At each d, and at 256 words, that is what so many barriers a key, at so many clocks, make of a meeting, to half a
    clock.  In words: each.
    """
    found = _busy("one_key", 128)
    assert float(percent) == round(found["unit"]) - round(found["starts"])
    for head_dim, n in [(64, 256), *((head_dim, N) for head_dim in HEADS)]:
        assert _barriers("one_key", head_dim, n) == barriers
        assert abs(_over_the_starts(head_dim, n) - float(barriers * clocks)) < 0.5


def clocks_over_the_starts(narrow, middle, wide, over):
    """Under one key the unit is busy so many clocks of a meeting at d = 64, 128, 256, so many over its instructions.

    To half a clock.  In words: more.
    """
    for typed, head_dim in zip((narrow, middle, wide), HEADS, strict=True):
        assert typed == rounded(_busy("one_key", head_dim)["unit"] / 100 * _clocks("one_key", head_dim), typed)
        assert abs(_over_the_starts(head_dim) - float(over)) < 0.5


def barriers_of_a_block(barriers):
    """Compiled, a block has so many barriers in both loops, at each d."""
    assert {_barriers("key_blocks", head_dim) for head_dim in HEADS} == {barriers}


def half_compare_choose_and_add():
    """At each d, of one key's instructions 0.45 to 0.55 compare, choose or add numbers in FP32. In words: half."""
    for head_dim in HEADS:
        counts = rungs()["named"]["one_key", N, head_dim]
        simple = sum(counts.get(name, 0) for name in ("ISETP", "UISETP", "PLOP3", "FSEL", "SEL", "FADD"))
        assert 0.45 < simple / sum(counts.values()) < 0.55


def halves_add_first(shuffles, writers):
    """At d = 128 the loop over values has so many shuffles by 16 lanes; then so many of a warp's 32 threads write.

    In words: halves, first.
    """
    shuffled, by_some = rungs()["across halves"]
    assert shuffled == shuffles <= by_some and writers == 32 // 2


def unit_under_blocks(narrow, middle, wide):
    """Under the blocks the unit is busy in so many % of all clocks at d = 64, 128, 256."""
    for typed, head_dim in zip((narrow, middle, wide), HEADS, strict=True):
        assert typed == rounded(_busy("key_blocks", head_dim)["unit"], typed)


def shared_under_blocks(least, most):
    """At each d so many to so many % of all clocks are those of shared memory, to half of one."""
    shares = [_busy("key_blocks", head_dim)["shared"] for head_dim in HEADS]
    assert abs(min(shares) - float(least)) <= 0.5 and abs(max(shares) - float(most)) <= 0.5


def instructions_under_blocks(least, most):
    """At each d the schedulers start so many to so many % of what they can."""
    shares = [_busy("key_blocks", head_dim)["instructions"] for head_dim in HEADS]
    assert [rounded(min(shares), least), rounded(max(shares), most)] == [least, most]


def unit_under_blocks_at_128():
    """At d = 128 the unit is busy in 19 of 20 clocks, to 1 %."""
    assert close(_busy("key_blocks", 128)["unit"] / 100, 19 / 20, 0.01)


def a_line_of_sixteen(accesses, line):
    """At d = 128 the loop over values has so many accesses that take a warp so many clocks; no other takes over 4."""
    warps = THREADS // 32
    clocks = rungs()["shared memory"]["key_blocks", N, 128][1]
    assert [one for one in clocks if one > 4 * warps] == [line * warps] * int(accesses)


def clocks_of_a_block(narrow, middle, wide):
    """In both loops a block keeps shared memory busy for so many clocks at d = 64, 128, 256."""
    found = [sum(map(sum, rungs()["shared memory"]["key_blocks", N, d])) for d in HEADS]
    assert found == [narrow, middle, wide]


def clocks_of_the_unit(narrow, middle, wide):
    """With shuffles and loads a block keeps the unit busy for so many clocks at d = 64, 128, 256."""
    assert [_of_the_unit("key_blocks", d) for d in HEADS] == [narrow, middle, wide]


def by_hand_as_counted(percent):
    """At each d that is less than the profiler counted: at one of them by so many per cent, and nowhere by more.

    In words: less, not.
    """
    short = []
    for head_dim in HEADS:
        counted = _busy("key_blocks", head_dim)["unit"] / 100 * _clocks("key_blocks", head_dim)
        short.append(100 * (1 - _of_the_unit("key_blocks", head_dim) / counted))
    assert min(short) >= 0 and rounded(max(short), percent) == percent


def instructions_of_the_unit(narrow, middle, wide):
    """Compiled, a meeting takes a warp so many of the unit's instructions; four times these are counted, to 1 %."""
    for typed, head_dim in zip((narrow, middle, wide), HEADS, strict=True):
        assert rungs()["of the unit"]["one_key", N, head_dim][0] == typed
        counted = _busy("one_key", head_dim)["starts"] / 100 * _clocks("one_key", head_dim)
        assert close(counted, 4 * float(typed), 0.01)


def shuffles_count_as_shared(clocks, accesses, shuffles, warps, together, rest):
    """At d = 128 the profiler has so many clocks of a meeting as shared memory's; its code has so many of each.

    Of a warp, of which a program has so many; together so many, and the rest is the number of barriers.
    In words: each, all, many.
    """
    assert warps == THREADS // 32 and together == warps * (accesses + shuffles)
    assert clocks - together == rest == _barriers("one_key", 128)
    counted = _busy("one_key", 128)["shared"] / 100 * _clocks("one_key", 128)
    assert clocks == rounded(counted, clocks)
    in_unit, shuffled, _ = rungs()["of the unit"]["one_key", N, 128]
    assert shuffled == 4 * shuffles and in_unit - shuffles - 2 == accesses  # and two loads


def clocks_of_the_sum_down(clocks):
    """At d = 128 so many of them are for values."""
    assert sum(rungs()["shared memory"]["key_blocks", N, 128][1]) == clocks


def parts_of_the_limit(blocks, one_key):
    """At d = 128 blocks of keys and one key at a time reach so many per cent of the limit."""
    flops, least = attention_flops(N, 128, 16, WORDS // N), qkvo_bytes(N, 128, 2, 16, WORDS // N)
    peak, bandwidth = (chip_of("prefill_speed", name) for name in ("bf16 peak", "hbm bandwidth"))
    limit = 1e3 * max(flops / peak, least / bandwidth)
    for form, typed in (("key_blocks_attention", blocks), ("one_key_attention", one_key)):
        assert typed == rounded(100 * limit / _median(form, 128), typed)


def one_key_is_level_up_to_512(fewer):
    """At 512 words a meeting one key at a time costs no more than at 256. In words: no, more."""
    costs = _meeting("one_key")
    assert costs[512] <= costs[int(fewer)]


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


def l2_would_take_less_than_a_third():
    """At the speed of L2 all that is asked for takes 0.3 to 1/3 of the kernel's time, flushed and kept.

    In words: less, third.
    """
    from_l2 = 1e-3 * _whole("key_blocks_attention")["requested"] / row("l2_speed", "sizes", size=16)["speed"]  # ms
    for found in rows("hbm_traffic", "counted", form="key_blocks_attention"):
        assert 0.3 < from_l2 / found["time"] < 1 / 3


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
