"""What chapter 9, its sheet and its lab notes claim in words.  Of the compiled kernels it needs torch and Triton."""

import ast
from decimal import Decimal
from functools import cache
from math import ceil

from kernels.bench.cost import attention_flops, mib
from scripts.figures.hopper import hopper_rungs
from tests.claims.compiled import elsewhere
from tests.claims.rows import chip, close, rounded, row, rows

HEAD_DIMS = (64, 128, 256)
PEAK = chip("bf16 peak")
MATMULS = {d: attention_flops(1, d) / chip("bf16 tensor core") for d in HEAD_DIMS}  # clocks a score
EXP2 = 1 / chip("exp2")
IN_TURN = {d: PEAK * MATMULS[d] / (MATMULS[d] + EXP2) for d in HEAD_DIMS}  # FLOP/s, one after the other
STEP = 128 * 128 * MATMULS[128]  # clocks of 128 queries and 128 keys at d = 128
TILES = 2 * 128 * 128 * 2  # bytes of K and V in a step
WANTED = TILES / STEP * chip("sms") * chip("tensor core clock")  # B/s from L2, at the peak of the tensor cores


def _gains(head_dim, step, **wanted):
    """By how much the speed changed with a step, in each setting that has these values."""
    assert head_dim in HEAD_DIMS
    return [found["gain"] for found in rows("hopper_steps", f"steps_{head_dim}", step=step, **wanted)]


def _gain(head_dim, step, **wanted):
    (found,) = _gains(head_dim, step, **wanted)
    return found


def _speed(head_dim, form, **wanted):
    return row("hopper_speed", f"forward_{head_dim}", form=form, **wanted)["speed"]


def _reached(step):
    """The part of the limit in % that a step reaches at d = 128, N = 16,384, causal."""
    took = {rung.name: rung.time for rung in hopper_rungs.rungs(128)}
    return 100 * took["the limit"] / took[hopper_rungs.STEPS[step]]


def portable_takes_nearly_twice():
    """At d = 128, N = 16,384, causal the portable kernel takes 1.8 to 2 times the limit. In words: twice."""
    assert 1.8 < 100 / _reached("flash_attention") < 2


def portable_reaches(percent):
    """At d = 128, N = 16,384, causal the portable kernel reaches 55 % of the limit."""
    assert rounded(_reached("flash_attention"), percent) == percent


def portable_is_busy_for(stated, clock, percent):
    """At d = 128, N = 16,384, causal the portable kernel's clock is 1.73 GHz of 1.83, and its tensor cores are busy
    for 64 % of that.
    """
    found = _profile("flash_attention")[128, True]
    assert stated == rounded(chip("tensor core clock") / 1e9, stated)
    assert (rounded(found["clock"], clock), rounded(found["tensor"], percent)) == (clock, percent)


def cudnn_reaches(percent):
    """At d = 128, N = 16,384, causal cuDNN reaches 55 % of the limit."""
    assert rounded(_reached("sdpa_cudnn"), percent) == percent


def ours_reaches(percent):
    """At d = 128, N = 16,384, causal our kernel reaches 62 % of the limit."""
    assert rounded(_reached("paired"), percent) == percent


def the_ladder_leads(first, last):
    """There the ladder leads from 55 % to 62 % of the limit, and each step but persistence comes nearer to it."""
    portable_reaches(first)
    ours_reaches(last)
    reached = {step: _reached(step) for step in hopper_rungs.STEPS}
    assert reached["flash_attention"] < reached["specialised"] < reached["overlap"]
    assert reached["persistent"] < reached["flash_attention"] < reached["paired"]


def most_comes_before_persistence():
    """There all of what the ladder gains is gained before persistence. In words: all, before."""
    assert _reached("overlap") > _reached("paired")


def one_after_the_other(*most):
    """Matmuls and exp2 in turn reach 495, 660 and 792 of 989.4 TFLOP/s at d = 64, 128 and 256. In words: most."""
    assert [rounded(IN_TURN[d] / 1e12, most[0]) for d in HEAD_DIMS] == list(most[:3])
    assert rounded(PEAK / 1e12, most[3]) == most[3]


def the_ladder_stays_below(percent, most):
    """At d = 128, N = 16,384, causal the best step reaches 64 % of the limit, and less than matmuls and exp2 in turn.

    In words: highest, below.
    """
    best = max(map(_reached, ("specialised", "overlap", "persistent", "paired")))
    assert rounded(best, percent) == percent and best / 100 * PEAK < IN_TURN[128]
    assert rounded(IN_TURN[128] / 1e12, most) == most


def exp2_costs_half():
    """In clocks exp2 costs 0.5 of the matmuls at d = 128, 1.0 at d = 64 and 0.25 at d = 256.

    In words: half, all; -; quarter; half, both.
    """
    assert [EXP2 / MATMULS[d] for d in (128, 64, 256)] == [0.5, 1, 0.25]
    assert [row("hopper_budget", "clocks", head_dim=d)["exp2_to_matmuls"] for d in (128, 64, 256)] == [0.5, 1, 0.25]


def l2_gives_what_is_wanted(terabytes):
    """What was read of 16 MiB from L2 is up to 5 % more than the 7.7 TB/s that the peak asks for. In words: more."""
    assert rounded(WANTED / 1e12, terabytes) == terabytes
    assert 1 < row("l2_speed", "sizes", size=16)["speed"] / (WANTED / 1e12) < 1.05


def l2_gives_to_16_mib(terabytes):
    """What was read of 16 MiB from L2 is 8.02 TB/s."""
    assert rounded(row("l2_speed", "sizes", size=16)["speed"], terabytes) == terabytes


def portable_asks_l2_for(asked):
    """At d = 128, N = 16,384, causal the portable kernel asks for 8.5 TB/s, above what was read of 16 MiB.

    In words: more, read, l2.
    """
    blocks = sum(-(-(first + 64) // 128) for first in range(0, 16384, 64))
    took = 1e-3 * row("hopper_steps", "steps_128", n=16384, causal=True, step="flash_attention")["median"]
    terabytes = 16 * blocks * TILES / took / 1e12
    assert rounded(terabytes, asked) == asked and terabytes > row("l2_speed", "sizes", size=16)["speed"]


def two_heads_fit_into_l2(heads, mebibytes):
    """K and V of two heads of N = 16,384 are 16 MiB; 132 programs have blocks of two heads of 128 blocks."""
    assert heads * int(mib(2 * 16384 * 128 * 2)) == mebibytes < mib(chip("l2"))
    assert 16384 / 128 < chip("sms") <= heads * 16384 / 128


def two_thirds_of_the_peak(thirds):
    """At d = 128, N = 16,384, full our kernel reaches so many thirds of the peak to 3 %, and asks less of L2.

    In words: thirds.
    """
    reached = 1e12 * _speed(128, "hopper_attention", n=16384, causal=False) / PEAK
    assert close(reached, int(thirds) / 3, 0.03)
    assert reached * WANTED / 1e12 < int(thirds) / 3 * row("l2_speed", "sizes", size=16)["speed"]


def _waiting_bits(which):
    return [found[which] for found in rows("hopper_budget", "phases")]


def consumers_wait_for(*bits):
    """In uses 0 to 5 of two tiles a consumer waits for the bits 0, 0, 1, 1, 0, 0."""
    assert _waiting_bits("wait_for_full") == list(bits) == [use // 2 % 2 for use in range(6)]


def the_producer_waits_for(*bits):
    """In uses 0 to 5 of two tiles the producer waits for the bits 1, 1, 0, 0, 1, 1."""
    assert _waiting_bits("wait_for_free") == list(bits) == [1 - use // 2 % 2 for use in range(6)]


def uses_take_tiles(*tiles):
    """Uses 0 to 5 take places 0, 1, 0, 1, 0, 1."""
    assert [found["tile"] for found in rows("hopper_budget", "phases")] == list(tiles) == [use % 2 for use in range(6)]


def three_consumers_spill():
    """Of the plans that were compiled three consumers at d = 128 alone spill, and none that the kernel uses does.

    In words: no.
    """
    for found in rows("hopper_budget", "budget"):
        is_three = (found["head_dim"], found["consumers"]) == (128, 3)
        assert found["spilled"] is None or (found["spilled"] > 0) == is_three
    assert all(found["spilled"] == 0 for found in rows("hopper_compiled", "compiled"))


def a_third_stage_does_not_fit():
    """Three stages at d = 128 are more bytes than a block may have, and were not compiled. In words: not."""
    plan = row("hopper_budget", "budget", head_dim=128, consumers=2, stages=3)
    assert plan["rings"] > chip("shared memory per block") and plan["shared"] is None


def rings_are_as_predicted(predicted):
    """At d = 128 the plan's rings are 196,608 bytes, and each compiled kernel has 1 to 999 bytes more."""
    assert row("hopper_budget", "budget", head_dim=128, consumers=2, stages=2)["rings"] == predicted
    compiled = rows("hopper_compiled", "compiled", head_dim=128)
    assert all(0 < found["shared"] - int(predicted) < 1000 for found in compiled)


def the_count_of_consumers_holds(two, large, spilling, three, small):
    """At N = 16,384 two consumers are faster at d = 128, where three spill, and three at d = 64, full and causal.

    In words: long.
    """
    assert spilling == three
    others = {large: f"consumers={spilling} registers=160", small: f"consumers={two} registers=240"}
    assert set(others) == {64, 128}
    assert max(gain for d, step in others.items() for gain in _gains(int(d), step, n=16384)) < 1


@cache
def _counted():
    """(head_dim, causal, queries) -> for each consumer, between its waits and after: maxima and exponentials."""
    settings = [(d, causal, 16384) for d in HEAD_DIMS for causal in (False, True)] + [(64, True, 1024)]
    return ast.literal_eval(elsewhere(f"{{each: hopper_step(*each) for each in {settings}}}"))


def _between(head_dim, causal, queries=16384):
    """Least, most and all instructions between a consumer's waits that find a maximum, and that take an exponential."""
    counts = _counted().get((head_dim, causal, queries))
    assert counts, "this was not compiled"
    for kind in (0, 1):
        between = [first[kind] for first, _ in counts]
        (every,) = {first[kind] + rest[kind] for first, rest in counts}
        yield min(between), max(between), every


def maxima_between_the_waits(least, most, every):
    """At d = 128, full and causal, 32 to 42 of 68 maxima stand between the waits, and of the exponentials none.

    In words: no.
    """
    (full, no_exp2), (causal, nor_here) = (tuple(_between(128, causal)) for causal in (False, True))
    assert (min(full[0], causal[0]), max(full[1], causal[1]), full[2], causal[2]) == (least, most, every, every)
    assert no_exp2[:2] == nor_here[:2] == (0, 0)


def between_full(head_dim, least, most, every):
    """Full, of 68 maxima 26 to 28 stand between the waits at d = 64, 38 to 42 at d = 128, and no exponential.

    In words: full, no.
    """
    maxima, exponentials = _between(int(head_dim), False)
    assert maxima == (least, most, every) and exponentials[:2] == (0, 0)


def between_causal(head_dim, least, most, every):
    """Causal, 32 to 40 of 68 maxima stand between the waits at d = 128, and no exponential. In words: causal, no."""
    maxima, exponentials = _between(int(head_dim), True)
    assert maxima == (least, most, every) and exponentials[:2] == (0, 0)


def between_short_and_long(head_dim, short, every, long, same):
    """Causal, at d = 64, 20 of 68 maxima at N = 1024, 1 of 68 at N = 16,384, and no exponential.

    In words: causal, short, long, no.
    """
    for queries, found, of in ((1024, short, every), (16384, long, same)):
        maxima, exponentials = _between(int(head_dim), True, queries)
        assert maxima == (found, found, of) and exponentials[:2] == (0, 0)


def between_all(head_dim, every, some, of):
    """Full, at d = 256, 36 of 36 maxima stand between the waits, and 15 of 34 exponentials. In words: full, all."""
    maxima, exponentials = _between(int(head_dim), False)
    assert maxima == (every, every, every) and exponentials == (some, some, of)


def between_hardly_any(head_dim, one, every):
    """Causal, at d = 256, 1 of 36 maxima stands between the waits, and no exponential. In words: causal, no."""
    maxima, exponentials = _between(int(head_dim), True)
    assert maxima == (one, one, every) and exponentials[:2] == (0, 0)


PORTABLE = [("forward", 128, 80), ("forward", 128, 90), ("forward", 128, 100), ("dkdv", 256, 120)]


@cache
def _compiled():
    """What the claims about portable kernels need, from one process, for each takes seconds to start."""
    return ast.literal_eval(elsewhere(f"({{each: portable(*each) for each in {PORTABLE}}}, widths_on_an_a100())"))


def _portable(*asked):
    return _compiled()[0][asked]


def portable_on_an_a100(bytes_a_thread):
    """At d = 128 the portable kernel for sm_80 spills more than 3000 bytes a thread. In words: more."""
    old = _portable("forward", 128, 80)
    assert old["spilled"] > bytes_a_thread and old["multiply"] == {"mma.sync"}


def single_numbers_on_an_a100(bits):
    """At d = 128 every load of global memory in the portable kernel for sm_80 is one of 16 bits a thread."""
    assert _compiled()[1] == {bits}


def portable_on_large_blackwell():
    """At d = 128 the portable kernel for sm_100 spills nothing and multiplies with tcgen05. In words: nothing."""
    assert _portable("forward", 128, 100) | {"shared": 0} == {"spilled": 0, "shared": 0, "multiply": {"tcgen05.mma"}}


def portable_on_hopper():
    """At d = 128 the portable kernel for sm_90 spills nothing and multiplies with wgmma. In words: nothing."""
    assert _portable("forward", 128, 90) | {"shared": 0} == {"spilled": 0, "shared": 0, "multiply": {"wgmma"}}


def a_tile_wants(shared):
    """For sm_120 the kernel of the gradients of K and V wants 135,712 bytes of shared memory at d = 256."""
    assert _portable("dkdv", 256, 120)["shared"] == shared


def three_fit_at_64():
    """At d = 64 three consumers with three stages spill nothing and fit into shared memory."""
    plan = row("hopper_budget", "budget", head_dim=64, consumers=3)
    assert plan["spilled"] == 0 and plan["shared"] <= chip("shared memory per block")


def some_of_exp2_is_hidden():
    """At d = 64 all three runs are above the 495 TFLOP/s of one after the other."""
    setting = {"head_dim": 64, "n": 16384, "causal": False}
    steps = row("hopper_steps", "steps_64", step="persistent", **setting)["speed"]
    beside = row("beside_cudnn", "forward", form="hopper_attention", **setting)["speed"]
    assert min(steps, beside, _speed(64, "hopper_attention", n=16384, causal=False)) > IN_TURN[64] / 1e12


def the_clock_at_64(least, most, of_the_sum):
    """At d = 64, N = 16,384, full the clock is 1.78 to 1.80 GHz, in rounds and profiled, below the sum's 1.83.

    In words: below.
    """
    rounds = rows("beside_cudnn", "clocks", head_dim=64, n=16384, causal=False)
    clocks = [each["clock"] / 1000 for each in rounds] + [_profile("hopper_attention")[64, False]["clock"]]
    assert len(clocks) == 3
    assert (rounded(min(clocks), least), rounded(max(clocks), most)) == (least, most)
    assert most < of_the_sum == rounded(chip("tensor core clock") / 1e9, of_the_sum)


def counting_promises_too_much():
    """Causal, at N = 16,384, pairs gain less than counting says at d = 64 and at d = 256, and at 128."""
    for d in HEAD_DIMS:
        counted = row("hopper_shares", "shares", head_dim=d, n=16384)["gain"]
        assert _gain(d, "paired", n=16384, causal=True) < counted


def pairs_gain_as_counted(promised):
    """Causal, at N = 16,384 and d = 128, pairs gain more than 2/3 of what counting says, 1.52. In words: most."""
    counted = row("hopper_shares", "shares", head_dim=128, n=16384)["gain"]
    assert rounded(counted, promised) == promised
    assert _gain(128, "paired", n=16384, causal=True) - 1 > 2 / 3 * (counted - 1)


def on_108_sms(in_turn, paired):
    """With 108 SMs the busiest program has 1312 blocks of keys in turn, and 1290 in pairs."""
    single, pairs = list(range(128, 0, -1)) * 16, [129] * 1024
    assert [max(sum(each[i::108]) for i in range(108)) for each in (single, pairs)] == [in_turn, paired]


def persistence_slows_long_causal_work():
    """Alone, persistence is slower for causal work at every d at N = 16,384.

    In words: long, causal, slower; causal, long, slower.
    """
    assert all(_gain(d, "persistent", n=16384, causal=True) < 1 for d in HEAD_DIMS)


def specialised_warps_gain_on_long_work():
    """At N = 16,384 specialised warps gain more than 5 % at d = 128 and d = 256, full and causal. In words: gain."""
    assert all(found > 1.05 for d in (128, 256) for found in _gains(d, "specialised", n=16384))


def specialised_warps_lose_on_short_work():
    """At N = 1024 specialised warps lose more than 5 % at d = 64 and causal at d = 128; full at d = 128 less than 1 %.

    In words: lose.
    """
    assert max(_gains(64, "specialised", n=1024)) < 0.95 and _gain(128, "specialised", n=1024, causal=True) < 0.95
    assert _gain(128, "specialised", n=1024, causal=False) > 0.99


def overlap_is_best_at_128_causal():
    """The largest gain of overlap over all settings is at d = 128, N = 16,384, causal. In words: best, causal."""
    most = max(found for d in HEAD_DIMS for found in _gains(d, "overlap"))
    assert _gain(128, "overlap", n=16384, causal=True) == most


def overlap_gives_little_at_64(head_dim, percent):
    """At d = 64 overlap gains at most 5 % in every setting. In words: most."""
    assert percent - 1 < 100 * (max(_gains(int(head_dim), "overlap")) - 1) <= percent


def overlap_gives_more_than_the_maximum():
    """The best gain of overlap is more than the 128 of 2048 clocks that the maximum takes. In words: best, more."""
    assert _gain(128, "overlap", n=16384, causal=True) - 1 > 128 / STEP


def persistence_gives_little_at_256():
    """Full, at N = 1024 and d = 256, persistence gains less than 5 %."""
    assert _gain(256, "persistent", n=1024, causal=False) < 1.05


def persistence_gives_little_on_long_work():
    """Full, at N = 16,384, persistence changes the speed by less than 5 % at every d. In words: gain."""
    assert all(0.95 < _gain(d, "persistent", n=16384, causal=False) < 1.05 for d in HEAD_DIMS)


def _with_pairs(head_dim, n):
    """Speed with persistence and pairs over that without both, causal."""
    return _gain(head_dim, "persistent", n=n, causal=True) * _gain(head_dim, "paired", n=n, causal=True)


def _percent_with_pairs(head_dim, n):
    """By how many percent persistence and pairs together change the speed, causal."""
    return 100 * (_with_pairs(int(head_dim), n) - 1)


def pairs_repair_long_work(costs, head_dim, gains, largest, less, smallest):
    """Causal, at N = 16,384, both together cost 3 % at d = 128, gain 2 % at 256, and are the same to 1 % at 64.

    In words: long, causal, below, above, less.
    """
    assert rounded(-_percent_with_pairs(head_dim, 16384), costs) == costs
    assert rounded(_percent_with_pairs(largest, 16384), gains) == gains
    assert ceil(abs(_percent_with_pairs(smallest, 16384))) == less


def pairs_gain_on_short_work(*typed):
    """Causal, at N = 1024, both together gain 11 % at d = 256, 28 % at d = 128 and 41 % at d = 64.

    In words: short, causal, above.
    """
    for gains, head_dim in zip(typed[::2], typed[1::2], strict=True):
        assert rounded(_percent_with_pairs(head_dim, 1024), gains) == gains
    assert {*map(int, typed[1::2])} == {*HEAD_DIMS}


def pairs_cost_and_gain(costs, gains, head_dim, least, most):
    """Causal, both together cost 3 % at d = 128, N = 16,384, and gain 2 % at d = 256 there, 11 to 41 % at N = 1024.

    In words: long, gain, short.
    """
    assert rounded(-_percent_with_pairs(128, 16384), costs) == costs
    assert rounded(_percent_with_pairs(head_dim, 16384), gains) == gains
    short = [_percent_with_pairs(d, 1024) for d in HEAD_DIMS]
    assert (rounded(min(short), least), rounded(max(short), most)) == (least, most)


def without_persistence_is_faster(full, causal):
    """At d = 128, N = 16,384 the ladder's kernel without persistence is 3.0 % faster full, and 3.4 % causal.

    In words: faster, full, causal.
    """
    found = _gain(128, "persistent", n=16384, causal=False), _with_pairs(128, 16384)
    assert [rounded(100 * (1 / gain - 1), full) for gain in found] == [full, causal]


def without_persistence_is_faster_by(percent):
    """At d = 128, N = 16,384 the ladder's kernel without persistence is 3 % faster, full and causal.

    In words: long, faster.
    """
    found = _gain(128, "persistent", n=16384, causal=False), _with_pairs(128, 16384)
    assert {rounded(100 * (1 / gain - 1), percent) for gain in found} == {percent}


def two_consumers_lose_on_long_work():
    """At d = 64 two consumers keep more than 0.97 of the speed at N = 1024, and less than 0.97 at N = 16,384.

    In words: fast, short.
    """
    two = "consumers=2 registers=240"
    assert _gain(64, two, n=1024, causal=False) > 0.97 > max(_gains(64, two, n=16384))


def three_lose_a_quarter_on_short_causal_work():
    """At d = 64, N = 1024, causal, three consumers keep 3/4 of the speed to 3 %, as 4608 / 6144 counts.

    In words: lose, quarter.
    """
    assert close(_gain(64, "consumers=3 registers=160"), 4608 / 6144, 0.03)


def stages_are_all_the_same_at_64(*typed):
    """At d = 64 two, three or four stages have the same speed to 4 % in every setting. In words: all, same."""
    off = max(abs(found - 1) for step in ("stages=2", "stages=4") for found in _gains(64, step))
    assert typed[:3] == (2, 3, 4) and typed[3] - 1 < 100 * off <= typed[3]


def a_single_stage_leaves(least, most):
    """A single stage leaves 0.60 to 0.82 of the speed, over d = 128 and 256."""
    found = _gains(128, "stages=1") + _gains(256, "stages=1")
    assert (rounded(min(found), least), rounded(max(found), most)) == (least, most)


def half_as_many_keys_leave(least, most):
    """64 keys a block leave 0.85 to 0.93 of the speed, over d = 64 and 128."""
    found = _gains(64, "block_k=64 stages=6") + _gains(128, "block_k=64 stages=4")
    assert (rounded(min(found), least), rounded(max(found), most)) == (least, most)


def a_third_stage_loses(least, most):
    """At d = 128 a third stage leaves 0.88 to 0.91 of the speed at N = 1024, and gains 1 to 2 % at N = 16,384.

    In words: loses, tenth, short, gains, long.
    """
    short, long = (_gains(128, "stages=3 q_stages=1", n=n) for n in (1024, 16384))
    assert min(short) > 0.88 and max(short) < 0.91
    assert sorted(round(100 * (gain - 1)) for gain in long) == [least, most]


def taking_turns_leaves(least, most):
    """Taking turns leaves between 0.95 and 1.03 of the speed, over all settings."""
    found = [gain for d in HEAD_DIMS for gain in _gains(d, "turns=True")]
    assert (rounded(min(found), least), rounded(max(found), most)) == (least, most)


def rounds_spread_by(factor):
    """At d = 128, N = 4096, full the 80th percentile of our kernel's times is 1.09 times the 20th."""
    ours = row("hopper_speed", "forward_128", n=4096, causal=False, form="hopper_attention")
    assert rounded(ours["p80"] / ours["p20"], factor) == factor


def two_steps_come_out_faster():
    """At d = 128, N = 16,384, full persistence loses and a third stage gains, both less than 5 %.

    In words: both, faster.
    """
    setting = {"n": 16384, "causal": False}
    assert 0.95 < _gain(128, "persistent", **setting) < 1 < _gain(128, "stages=3 q_stages=1", **setting) < 1.05


def _beside(work, form, **wanted):
    """(head_dim, N, causal) -> the row of a form in the run beside cuDNN."""
    found = rows("beside_cudnn", work, form=form, **wanted)
    return {(each["head_dim"], each["n"], each["causal"]): each for each in found}


def _beside_fa4(work):
    """(head_dim, N, causal) -> the time of FlashAttention-4 by ours, each by that of cuDNN in the same rounds."""
    theirs, ours = (_beside(work, form) for form in ("flash_attention_4", "hopper_attention"))
    assert len(theirs) == 18
    return {key: ours[key]["ratio"] / theirs[key]["ratio"] for key in ours}


def ours_are_as_exact(settings, percent):
    """In 6 settings no output and no gradient of ours has an error against FP64 more than 1 % above cuDNN's.

    In words: none, more, fp64, cudnn; none, more, cudnn.
    """
    errors = {(each["head_dim"], each["causal"], each["form"]): each for each in rows("beside_cudnn", "errors")}
    ours = {key[:2]: each for key, each in errors.items() if key[2] == "hopper_attention"}
    above = []
    for key, error in ours.items():
        theirs = errors[*key, "sdpa_cudnn"]
        above += [100 * (error[of] / theirs[of] - 1) for of in ("out", "dq", "dk", "dv")]
    assert len(ours) == settings and percent - 1 < max(above) <= percent


def cudnn_is_ahead_in_three(level, level_back, one, behind, percent):
    """Of 18 settings 2 forward and 3 backward have 1 in their interval; backward 3 are below it, by less than 3 %.

    All others are above it.  In words: ahead, more, cudnn, less.
    """
    forward, back = (_beside(work, "hopper_attention").values() for work in ("forward", "backward"))
    assert len(forward) == len(back) == 18
    for found, wanted in ((forward, level), (back, level_back)):
        assert len([each for each in found if each["low"] <= one <= each["high"]]) == wanted
    assert all(each["high"] >= one for each in forward)
    below = [each for each in back if each["high"] < one]
    assert len(below) == behind and percent - 1 < 100 * (1 - min(each["ratio"] for each in below)) <= percent


def cudnn_is_ahead_in_three_of(level, cases, behind, percent):
    """Of 36 cases 5 have 1 in their interval; 3, backward, are below it, by less than 3 %, and all others above.

    In words: ahead, cudnn, less.
    """
    cudnn_is_ahead_in_three(2, 3, 1, behind, percent)
    assert level == 2 + 3 and cases == len(rows("beside_cudnn", "agreement"))


def ahead_by_every_mean(one):
    """Of our kernel's means, forward, backward and both, as a graph and eager, each interval lies above 1.

    In words: no.
    """
    found = rows("beside_cudnn", "overall", form="hopper_attention")
    assert len(found) == 6 and all(one < each["low"] <= one * Decimal("1.1") for each in found)


def fa4_is_ahead_on_long_texts(long, short):
    """As graphs forward FlashAttention-4 takes less time than ours in every setting of N = 16,384, and more in every
    one of N = 1024.

    In words: ahead, every, behind, each.
    """
    by = _beside_fa4("forward")
    for n, wanted in ((long, True), (short, False)):
        found = [ratio < 1 for (_, length, _), ratio in by.items() if length == n]
        assert len(found) == 6 and set(found) == {wanted}


def fa4_is_ahead_at_128(head_dim, least, most, other):
    """As graphs backward FlashAttention-4 is ahead in every setting with heads of 128, by 12 to 19 %, and behind in
    every one with heads of 256.

    In words: ahead, each, behind, each.
    """
    by = _beside_fa4("backward")
    ahead = [100 * (1 / ratio - 1) for (d, *_), ratio in by.items() if d == head_dim]
    assert (rounded(min(ahead), least), rounded(max(ahead), most)) == (least, most)
    behind = [ratio for (d, *_), ratio in by.items() if d == other]
    assert len(behind) == 6 and min(behind) > 1


def fa4_is_ahead_at_128_and_behind_at_256(head_dim, least, most, other, behind_least, behind_most):
    """As graphs backward FlashAttention-4 is ahead in every setting with heads of 128, by 12 to 19 %, and behind in
    every one with heads of 256, by 5 to 11 %.

    In words: ahead, each, behind, each.
    """
    fa4_is_ahead_at_128(head_dim, least, most, other)
    behind = [100 * (ratio - 1) for (d, *_), ratio in _beside_fa4("backward").items() if d == other]
    assert (rounded(min(behind), behind_least), rounded(max(behind), behind_most)) == (behind_least, behind_most)


def fa4_is_ahead_backward():
    """As a graph FlashAttention-4's mean backward is above ours, each interval apart. In words: ahead."""
    ours, theirs = (
        row("beside_cudnn", "overall", work="backward", way="graph", form=form)
        for form in ("hopper_attention", "flash_attention_4")
    )
    assert ours["high"] < theirs["low"]


def fa4_is_ahead_at_64_but(head_dim, ahead, level, behind):
    """As graphs backward, with heads of 64, FlashAttention-4 is ahead in 4 settings, level with ours to 0.5 % at
    N = 4096, full, and behind at N = 16,384, full.

    In words: ahead, level, full, behind, full.
    """
    by = {key[1:]: ratio for key, ratio in _beside_fa4("backward").items() if key[0] == head_dim}
    assert len(by) == 6 and level != behind and {(level, False), (behind, False)} <= by.keys()
    assert close(by.pop((level, False)), 1, 0.005) and by.pop((behind, False)) > 1.02
    assert len(by) == ahead and max(by.values()) < 0.98


def eager_is_above_its_graph(least, most, ours_least, ours_most):
    """Forward FlashAttention-4's call is above its graph by 5 to 13 % of it, over all settings, and ours by 3 to 6 %.

    In words: above.
    """
    for form, typed in (("flash_attention_4", (least, most)), ("hopper_attention", (ours_least, ours_most))):
        found = [100 * (each["call"] / each["median"] - 1) for each in _beside("forward", form).values()]
        assert (rounded(min(found), least), rounded(max(found), most)) == typed


def eager_grows_with_the_work(head_dim, *typed):
    """At d = 128, full, forward, with N = 1024, 4096 and 16,384, it is 27, 87 and 302 µs, and ours 12, 30 and 110.

    In words: full.
    """
    assert head_dim in HEAD_DIMS and typed[:3] == (1024, 4096, 16384) and len(typed) == 9
    for form, wanted in (("flash_attention_4", typed[3:6]), ("hopper_attention", typed[6:])):
        found = [_beside("forward", form)[int(head_dim), int(n), False] for n in typed[:3]]
        on_top = [1000 * (Decimal(str(each["call"])) - Decimal(str(each["median"]))) for each in found]
        assert tuple(map(round, on_top)) == wanted


def single_settings_differ_by(percent, head_dim, n, cleared, kept):
    """Of one setting cuDNN's ratio to ours differs by up to 9 % between the two runs: 0.986 and 1.074 at d = 128,
    N = 4096, full.

    In words: full.
    """
    beside = {key: each["ratio"] for key, each in _beside("forward", "hopper_attention").items()}
    other = {
        (d, each["n"], each["causal"]): each["ratio"]
        for d in HEAD_DIMS
        for each in rows("hopper_speed", f"forward_{d}", form="hopper_attention")
    }
    apart = {key: max(other[key] / beside[key], beside[key] / other[key]) for key in beside}
    most = max(apart, key=apart.get)
    assert most == (head_dim, n, False) and rounded(100 * (apart[most] - 1), percent) == percent
    assert (rounded(other[most], cleared), rounded(beside[most], kept)) == (cleared, kept)


def measurements_agree(percent, cases, close_by, many):
    """Two measurements of cuDNN's ratio differ by less than 2 % in 36 cases, and by less than 1 % in 34 of them.

    In words: differ, less, all, less.
    """
    apart = [each["apart"] for each in rows("beside_cudnn", "agreement")]
    assert len(apart) == cases and percent - 1 < max(apart) < percent
    assert len([each for each in apart if each < close_by]) == many


def _clocks():
    """(head_dim, N, causal) -> the clock of both measurements."""
    found = {}
    for each in rows("beside_cudnn", "clocks"):
        found.setdefault((each["head_dim"], each["n"], each["causal"]), []).append(each["clock"])
    assert len(found) == 18 and all(len(both) == 2 for both in found.values())
    return found


def the_clock_is_lowest_at_128(head_dim):
    """At each N and mask the clock is lower at d = 128 than at the others, by the mean of both. In words: lowest."""
    clocks = {setting: sum(both) for setting, both in _clocks().items()}
    assert head_dim in HEAD_DIMS
    for (d, *setting), clock in clocks.items():
        assert d == head_dim or clock > clocks[int(head_dim), *setting]


def clocks_differ_by(percent):
    """Between the two measurements of a setting the clock differs by at most 2.1 %. In words: most."""
    apart = max(100 * (max(both) / min(both) - 1) for both in _clocks().values())
    assert percent - Decimal("0.1") < apart <= percent


def _profile(form, **wanted):
    """(head_dim, causal) -> what the profiler counted of a form."""
    found = rows("hopper_profile", "profile", form=form, **wanted)
    return {(each["head_dim"], each["causal"]): each for each in found}


def _waits(form, reason):
    """(head_dim, causal) -> the share of a reason, in %."""
    found = rows("hopper_profile", "waits", form=form, reason=reason)
    return {(each["head_dim"], each["causal"]): each["share"] for each in found}


def _more(form, of, by="hopper_attention"):
    """By how many points more of a reason, or of a column of the profile, a form has, in each of its settings."""
    if of == "tensor":
        these, those = ({key: each[of] for key, each in _profile(name).items()} for name in (form, by))
    else:
        these, those = (_waits(name, of) for name in (form, by))
    assert len(these) == (2 if form == "third stage" else 4) and these.keys() <= those.keys()
    return {key: these[key] - those[key] for key in these}


def both_are_busy_at_64(tensor, exp2, percent):
    """At d = 64 the tensor cores are busy for 59 % of the time and exp2's units for 61 %, the sum above 100 %.

    In words: more.
    """
    found = _profile("hopper_attention")[64, False]
    assert (rounded(found["tensor"], tensor), rounded(found["exp2"], exp2)) == (tensor, exp2)
    assert percent == 100 < found["tensor"] + found["exp2"]


def busy_tensor_cores_lower_the_clock(busy, lower, idle, higher):
    """Of all rows those with tensor above 79 % have a clock of at most 1.72 GHz, those below 60 % of at least 1.78.

    In words: more, most, less, least.
    """
    found = rows("hopper_profile", "profile")
    above = [each["clock"] for each in found if each["tensor"] > busy]
    below = [each["clock"] for each in found if each["tensor"] < idle]
    assert len(above) > 8 and rounded(max(above), lower) == lower < higher <= rounded(min(below), higher)
    assert len(below) > 6


def in_between_the_order_is_not_kept(head_dim, busy, clock, cudnn_busy, cudnn_clock):
    """At d = 128, full, the portable kernel's tensor and clock are 67.7 % and 1.69 GHz, cuDNN's 75.2 % and 1.71.

    In words: full, cudnn.
    """
    assert head_dim in HEAD_DIMS
    portable, cudnn = (_profile(form)[int(head_dim), False] for form in ("flash_attention", "sdpa_cudnn"))
    assert (rounded(portable["tensor"], busy), rounded(portable["clock"], clock)) == (busy, clock)
    assert (rounded(cudnn["tensor"], busy), rounded(cudnn["clock"], clock)) == (cudnn_busy, cudnn_clock)
    assert busy < cudnn_busy and clock < cudnn_clock


def overlap_in_clocks_and_in_time(clocks, time):
    """At d = 128, full, no overlap takes 1.084 times our clocks and 1.048 times our time. In words: many, long."""
    ours, without = (_profile(form)[128, False] for form in ("hopper_attention", "no overlap"))
    assert rounded(without["time"] * without["clock"] / (ours["time"] * ours["clock"]), clocks) == clocks
    assert rounded(without["time"] / ours["time"], time) == time


def products_and_tensor_agree(points):
    """In no row of the profile are products and tensor more than 0.7 points apart. In words: no, more."""
    apart = max(abs(each["tensor"] - each["products"]) for each in rows("hopper_profile", "profile"))
    assert rounded(apart, points) == points


def exp2_is_half_of_tensor(head_dim, part):
    """In every row with heads of 128 exp2 is 0.52 of tensor. In words: every."""
    found = rows("hopper_profile", "profile", head_dim=head_dim)
    assert {rounded(each["exp2"] / each["tensor"], part) for each in found} == {part}


def issued_is_of_tensor(head_dim, ours, fourth, cudnn, largest, cudnn_there, ours_there):
    """Full, at d = 128 issued is 0.46 of tensor for ours, 0.45 for FlashAttention-4 and 0.57 for cuDNN; at d = 256 it
    is 0.34 for cuDNN and 0.42 for ours.

    In words: full, cudnn, cudnn.
    """

    def part(form, d, like):
        found = _profile(form)[int(d), False]
        return rounded(found["issued"] / found["tensor"], like)

    assert {head_dim, largest} <= {*HEAD_DIMS}
    forms = ("hopper_attention", "flash_attention_4", "sdpa_cudnn")
    assert [part(form, head_dim, ours) for form in forms] == [ours, fourth, cudnn]
    assert [part(form, largest, ours) for form in forms[::-2]] == [cudnn_there, ours_there]


def no_other_unit_is_near(percent):
    """In no row is issued, exp2, fma or alu above 66 %. In words: no, more."""
    found = rows("hopper_profile", "profile")
    assert ceil(max(each[unit] for each in found for unit in ("issued", "exp2", "fma", "alu"))) == percent


def _left(reason, idle):
    """Of a reason, in points, without so many of the twelve warps that wait all the time: ours, d = 128, full."""
    return _waits("hopper_attention", reason)[128, False] - 100 * idle / 12


def waits_that_are_left(products, tiles):
    """At d = 128, full, barrier without three warps of 12 is 10 points, and long_scoreboard without one is 1."""
    found = [_left("barrier", 3), _left("long_scoreboard", 1)]
    assert [rounded(each, products) for each in found] == [products, tiles]


def waits_of_the_eight_are(products, tiles):
    """Of the eight of 12 warps that compute these 10 points and this 1 are 15 and 1.5 %. In words: most."""
    found = [12 / 8 * _left("barrier", 3), 12 / 8 * _left("long_scoreboard", 1)]
    assert [rounded(found[0], products), rounded(found[1], tiles)] == [products, tiles]


def waits_for_tiles_are_about(points):
    """At d = 128, full, long_scoreboard without the one warp of 12 that waits is 1 point."""
    assert rounded(_left("long_scoreboard", 1), points) == points


@cache
def _steps():
    """What the compiler makes of a step at d = 128, full: as it is, with softmax first, and instructions."""
    return ast.literal_eval(elsewhere("(hopper_step(128, False, softmax_first=True), hopper_loop(128, False))"))


def softmax_first_stands_between(maxima, exponentials):
    """With softmax first all 68 maxima and 66 exponentials of a step at d = 128 stand between the two waits.

    In words: all, all.
    """
    assert _steps()[0] == [((maxima, exponentials), (0, 0))] * 2


def instructions_of_a_step(every, exponentials):
    """At d = 128 the loop of a consumer has 464 instructions, of which 66 take an exponential."""
    assert _steps()[1] == [(every, exponentials)] * 2


def softmax_first_loses_nothing_at_64():
    """At d = 64 softmax first has as much of tensor as ours to 0.2 points, and 1 or more less at the others.

    In words: nothing, lost.
    """
    found = _more("softmax first", "tensor")
    assert all((abs(points) < 0.2) == (d == 64) and (d == 64 or points < -1) for (d, _), points in found.items())


def softmax_first_waits_for_no_tile(points):
    """With softmax first long_scoreboard changes by less than 1 point in every setting. In words: long, less, every."""
    assert points - 1 < max(map(abs, _more("softmax first", "long_scoreboard").values())) < points


def softmax_first_waits_for_itself():
    """With softmax first barrier is lower in every setting, and wait higher. In words: less, every, more."""
    assert max(_more("softmax first", "barrier").values()) < 0 < min(_more("softmax first", "wait").values())


def softmax_first_loses_most_at(head_dim, points, wait):
    """The largest loss of softmax first is at d = 256: tensor is 8.1 points lower, and wait rises by 0.5.

    In words: largest, rises.
    """
    found = _more("softmax first", "tensor")
    assert min(found, key=found.get) == (head_dim, False) and rounded(-found[int(head_dim), False], points) == points
    assert rounded(_more("softmax first", "wait")[int(head_dim), False], wait) == wait


def softmax_first_waits_for_exp2(five, share, head_dim, smaller):
    """With softmax first short_scoreboard is among the 5 longest, with 7.7 % at d = 256 and 5.1 at d = 128, full; for
    ours at neither.

    In words: neither.
    """
    assert head_dim in HEAD_DIMS
    first = _waits("softmax first", "short_scoreboard")
    assert (rounded(first[256, False], share), rounded(first[int(head_dim), False], smaller)) == (share, smaller)
    ours = rows("hopper_profile", "waits", form="hopper_attention", causal=False)
    assert not [each for each in ours if each["head_dim"] in (256, head_dim) and each["reason"] == "short_scoreboard"]
    assert {each["place"] for each in rows("hopper_profile", "waits")} == {*range(1, int(five) + 1)}


def overlap_saves_waits_for_products(least, most, same):
    """Without it barrier is 6 to 13 points higher, long_scoreboard the same to 0.5. In words: higher, long, same."""
    found = _more("no overlap", "barrier").values()
    assert (rounded(min(found), least), rounded(max(found), most)) == (least, most)
    assert max(map(abs, _more("no overlap", "long_scoreboard").values())) < same < 1


def _clocks_of_a_step(form):
    """At d = 128, full: of the busiest program, with 16 blocks of queries of 128 blocks of keys."""
    found = _profile(form)[128, False]
    return 1e6 * found["time"] * found["clock"] / (ceil(16 * 128 / chip("sms")) * 128)


def a_step_takes(clocks, waits, instructions, each):
    """At d = 128, full, a step takes 2458 clocks, at most 15 % of them waits for products, others 4.5 an instruction.

    In words: most, every.
    """
    found, waiting = _clocks_of_a_step("hopper_attention"), 12 / 8 * _left("barrier", 3)
    assert rounded(found, clocks) == clocks and rounded(waiting, waits) == waits
    assert rounded(found * (1 - waiting / 100) / float(instructions), each) == each
    assert {every for every, _ in _steps()[1]} == {instructions}


def overlap_saves(clocks):
    """At d = 128, full, a step takes 206 clocks more without overlap. In words: more."""
    assert rounded(_clocks_of_a_step("no overlap") - _clocks_of_a_step("hopper_attention"), clocks) == clocks


def turns_change_nothing(points, less):
    """With turns tensor changes by less than 2 points in every setting, and barrier by less than 1.

    In words: less, every, less.
    """
    for of, most in (("tensor", points), ("barrier", less)):
        assert most - 1 < max(map(abs, _more("turns", of).values())) < most


def turns_wait_for_turns():
    """With turns long_scoreboard is higher in every setting. In words: long, rises, every."""
    assert min(_more("turns", "long_scoreboard").values()) > 0


def a_third_stage_changes_nothing(points):
    """At d = 128 a third stage changes tensor by less than 1 point, full and causal. In words: long, full, causal."""
    assert points - 1 < max(map(abs, _more("third stage", "tensor").values())) < points


def a_third_stage_is_level(least, most, least_time, most_time):
    """At d = 128 it takes 0 to 1 % more clocks in the profile, and 1 to 2 % less time on the ladder's long texts.

    In words: more, less, long.
    """
    ours, third = _profile("hopper_attention"), _profile("third stage")
    clocks = [
        100 * (third[key]["time"] * third[key]["clock"] / (ours[key]["time"] * ours[key]["clock"]) - 1) for key in third
    ]
    assert (rounded(min(clocks), least), rounded(max(clocks), most)) == (least, most)
    times = [100 * (1 - 1 / gain) for gain in _gains(128, "stages=3 q_stages=1", n=16384)]
    assert (rounded(min(times), least_time), rounded(max(times), most_time)) == (least_time, most_time)


def tensor_cores_beside_ours(large, small, largest, least, most, above):
    """Full, at d = 128 cuDNN's tensor is 3 to 6 points below ours and FlashAttention-4's 1 to 3 above; at d = 64 and
    256 cuDNN's is 8 to 10 below, and FlashAttention-4's 4 above.

    In words: both, cudnn, below, above.
    """
    cudnn, fourth = (_more(form, "tensor") for form in ("sdpa_cudnn", "flash_attention_4"))
    assert large == 128 and 3 < -cudnn[128, False] < 6 and 1 < fourth[128, False] < 3
    assert {small, largest} <= {*HEAD_DIMS}
    others = [(int(d), False) for d in (small, largest)]
    assert sorted(rounded(-cudnn[key], least) for key in others) == [least, most]
    assert {rounded(fourth[key], above) for key in others} == {above}


def the_choice_was_at_worst(bf16, fp32):
    """Forward the chosen rung takes at most 1.10 times as long as the fastest in BF16, and 1.26 times in FP32.

    In words: worst, slow, fastest, bf16, fp32.
    """
    for name, most in (("bf16", bf16), ("fp32", fp32)):
        assert rounded(max(found["ratio"] for found in rows("fastest_rung", f"{name}_forward")), most) == most


def three_lines_train_nothing_in_bf16():
    """With a gradient the three lines are fastest in no setting in BF16. In words: bf16, no, fastest."""
    assert "reference" not in [found["fastest"] for found in rows("fastest_rung", "bf16_both")]


def short_bf16_training(times):
    """In BF16 with a gradient the chosen kernel takes at most 2.00 times as long as the fastest. In words: slow."""
    assert rounded(max(found["ratio"] for found in rows("fastest_rung", "bf16_both")), times) == times


def short_fp32_training(factor):
    """In FP32 with a gradient the chosen three lines take at most 2.31 times as long as the portable kernel.

    That is so in calls of fewer than 2,097,152 scores alone.  In words: fast, short.
    """
    behind = [found for found in rows("fastest_rung", "fp32_both") if found["fastest"] != found["chosen"]]
    assert {(found["chosen"], found["fastest"]) for found in behind} == {("reference", "flash")}
    assert max(found["pairs"] * found["n_q"] * found["n_k"] for found in behind) < 2**21
    assert rounded(max(found["ratio"] for found in behind), factor) == factor


def _back(form, **wanted):
    """The median of the backward pass of a form, by head dimension, length and mask."""
    found = rows("hopper_backward", "backward", form=form, **wanted)
    return {(each["head_dim"], each["n"], each["causal"]): each["median"] for each in found}


def back_is_ahead_at_64(dim, percent):
    """The backward pass is ahead of cuDNN in every setting with heads of 64, and elsewhere at most 2 % behind.

    In words: ahead, cudnn, every, larger, more, behind.
    """
    found = {key: each["ratio"] for key, each in _ratios_of_back().items()}
    assert len(found) == 18
    assert min(ratio for (head_dim, *_), ratio in found.items() if head_dim == dim) > 1
    assert percent - 1 < 100 * (1 - min(found.values())) <= percent


def _ratios_of_back():
    found = rows("hopper_backward", "backward", form="hopper")
    return {(each["head_dim"], each["n"], each["causal"]): each for each in found}


def one_order_costs(least, most):
    """At d = 64 and 128 the pass that adds in one order takes 1.2 to 1.7 times as long as the other. In words: long."""
    ordered, other = _back("deterministic"), _back("hopper")
    found = [ordered[key] / other[key] for key in other if key[0] < 256]
    assert (rounded(min(found), least), rounded(max(found), most)) == (least, most)


def one_order_is_free_at_256():
    """At d = 256 both forms take the same time to 2 %. In words: long, before."""
    ordered, other = _back("deterministic", head_dim=256), _back("hopper", head_dim=256)
    assert all(close(ordered[key], other[key], 0.02) for key in other)


def back_at_256_beside_portable(head_dim, least, most):
    """At d = 256 the pass for Hopper takes 0.5 to 0.6 of the time of the portable pass."""
    portable, ours = _back("flash", head_dim=int(head_dim)), _back("hopper", head_dim=int(head_dim))
    found = [ours[key] / portable[key] for key in ours]
    assert (rounded(min(found), least), rounded(max(found), most)) == (least, most)


def _calls(column, way):
    """(work, form) -> a column of the calls that were made in this way."""
    return {(each["work"], each["form"]): each[column] for each in rows("host_cost", "host_cost", way=way)}


def hosts_set_the_pace():
    """As written, every call takes the host longer than the GPU takes for its graph. In words: every, longer."""
    host, gpu = _calls("host", "eager"), _calls("done", "graph")
    assert host.keys() == gpu.keys() and all(host[call] > gpu[call] for call in host)


def sdpas_call_takes_less(least, most):
    """Eager, SDPA's call takes the host 0.48 to 0.61 of the time of ours: forward, with gradients, and in decode.

    In words: -; sdpa.
    """
    host = _calls("host", "eager")
    ours = {"forward": "hopper_attention", "both": "hopper_attention", "decode": "decode_attention"}
    found = [host[work, "sdpa"] / host[work, form] for work, form in ours.items()]
    assert (rounded(min(found), least), rounded(max(found), most)) == (least, most)


def sdpas_call_by_the_dispatcher(least, most):
    """Eager, SDPA's call takes the host 0.43 to 0.51 of the time of ours by way of the dispatcher: both, forward."""
    host = _calls("host", "eager")
    found = [host[work, "sdpa"] / host[work, "attention"] for work in ("forward", "both")]
    assert (rounded(min(found), least), rounded(max(found), most)) == (least, most)


def a_graph_costs_the_host(least, most):
    """A call as a graph takes the host 3 to 7 µs, whatever it is."""
    found = _calls("host", "graph").values()
    assert (rounded(min(found), least), rounded(max(found), most)) == (least, most)


def a_graph_is_a_small_part():
    """As a graph each form of our attention takes the host less than an eighth of its call: forward, both, decode.

    In words: none, less, eighth.
    """
    graph, eager = _calls("host", "graph"), _calls("host", "eager")
    ours = [(work, form) for work, form in eager if work in ("forward", "both", "decode") and form != "sdpa"]
    assert len(ours) == 7 and all(graph[call] < eager[call] / 8 for call in ours)
