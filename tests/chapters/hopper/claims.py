"""What chapter 9, its sheet and its lab notes claim in words.  Of the compiled kernels it needs torch and Triton."""

import ast
from decimal import Decimal
from functools import cache
from itertools import pairwise
from math import ceil, prod

from kernels.bench.cost import attention_flops, mib
from kernels.hopper.work import units_of
from scripts.chapters.hopper.figures import hopper_rungs
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
    return [found["gain"] for found in _rungs(head_dim, step, **wanted)]


def _rungs(head_dim, step, **wanted):
    """The rows of a step, with their intervals."""
    return rows("hopper_steps", f"steps_{head_dim}", step=step, **wanted)


def _gain(head_dim, step, **wanted):
    (found,) = _gains(head_dim, step, **wanted)
    return found


def _speed(head_dim, form, **wanted):
    return row("hopper_speed", f"forward_{head_dim}", form=form, **wanted)["speed"]


def _reached(step):
    """The part of the limit in % that a step reaches at d = 128, N = 16,384, causal."""
    took = {rung.name: rung.time for rung in hopper_rungs.rungs(128)}
    return 100 * took["the limit"] / took[hopper_rungs.STEPS[step]]


def _ladder():
    """The steps of our kernel at d = 128, N = 16,384, causal, from the portable one to the last that the plan has."""
    took = {rung.name for rung in hopper_rungs.rungs(128)}
    return [step for step, name in hopper_rungs.STEPS.items() if name in took and step != "sdpa_cudnn"]


def _part_of_the_limit(form):
    """In %, at d = 128, N = 16,384, causal, in the run beside cuDNN."""
    found = row("beside_cudnn", "forward", head_dim=128, n=16384, causal=True, form=form)
    return 100 * found["speed"] * 1e12 / PEAK


def portable_takes_times(times):
    """At d = 128, N = 16,384, causal the portable kernel takes 1.8 times the limit."""
    assert rounded(100 / _part_of_the_limit("flash_attention"), times) == times


def portable_reaches(percent):
    """At d = 128, N = 16,384, causal the portable kernel reaches 57 % of the limit."""
    assert rounded(_part_of_the_limit("flash_attention"), percent) == percent


def portable_is_busy_for(clock, percent):
    """At d = 128, N = 16,384, causal the portable kernel's clock is 1.69 GHz, below the peak's, and its tensor cores
    are busy for 65 % of that.
    """
    found = _profile("flash_attention")[128, True]
    assert clock < chip("tensor core clock") / 1e9
    assert (rounded(found["clock"], clock), rounded(found["tensor"], percent)) == (clock, percent)


def cudnn_reaches(percent):
    """At d = 128, N = 16,384, causal cuDNN reaches 55 % of the limit."""
    assert rounded(_part_of_the_limit("sdpa_cudnn"), percent) == percent


def ours_reaches(percent):
    """At d = 128, N = 16,384, causal our kernel reaches 68 % of the limit."""
    assert rounded(_part_of_the_limit("hopper_attention"), percent) == percent


def the_ladder_leads(first, last):
    """There the ladder leads from 56 % to 66 % of the limit, and persistence alone falls back by more than 2 %."""
    steps = _ladder()
    assert (rounded(_reached(steps[0]), first), rounded(_reached(steps[-1]), last)) == (first, last)
    back = [after for before, after in pairwise(steps) if _reached(after) < 0.98 * _reached(before)]
    assert back == ["persistent"] and min(steps, key=_reached) == "persistent"


def most_comes_before_persistence():
    """There nine tenths of what the ladder gains, to 3 %, are gained before persistence. In words: tenths, before."""
    first, before, last = map(_reached, ("flash_attention", "overlap", _ladder()[-1]))
    assert abs((before - first) / (last - first) - 0.9) < 0.03


def one_after_the_other(*most):
    """Matmuls and exp2 in turn reach 495, 660 and 792 of 989.4 TFLOP/s at d = 64, 128 and 256. In words: most."""
    assert [rounded(IN_TURN[d] / 1e12, most[0]) for d in HEAD_DIMS] == list(most[:3])
    assert rounded(PEAK / 1e12, most[3]) == most[3]


def ours_is_busier_than_in_turn(percent, thirds):
    """At d = 128, N = 16,384, causal our kernel's tensor cores are busy for 84 % of the time, for matmuls and exp2 in
    turn 2 thirds.

    In words: last, thirds.
    """
    busy = _profile("hopper_attention")[128, True]["tensor"]
    assert rounded(busy, percent) == percent and busy > 100 * int(thirds) / 3
    assert close(IN_TURN[128] / PEAK, int(thirds) / 3, 1e-9)


def the_last_bar_is_ours(last, first):
    """The last step of the ladder, 66 % of the limit, is the plan's kernel, which beside cuDNN reaches 68 %, and the
    two differ by less than 5 %.

    In words: last, first.
    """
    reached = _reached(_ladder()[-1]), _part_of_the_limit("hopper_attention")
    assert (rounded(reached[0], last), rounded(reached[1], first)) == (last, first) and close(*reached, 0.05)


def three_steps_gain_on_short_work():
    """The three steps to persistent, paired and single blocks give, at d = 128, causal, less than 5 % at N = 16,384,
    and 30 to 35 % at N = 1024.

    In words: long, causal, gain, short.
    """
    for n, least, most in ((16384, 1, 1.05), (1024, 1.3, 1.35)):
        gains = [_gain(128, step, n=n, causal=True) for step in ("persistent", "paired", "singles")]
        assert least < prod(gains) < most


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
    """At d = 128, N = 16,384, causal the portable kernel asks for 8.8 TB/s, above what was read of 16 MiB.

    In words: more, read, l2.
    """
    blocks = sum(-(-(first + 64) // 128) for first in range(0, 16384, 64))
    took = 1e-3 * row("beside_cudnn", "forward", head_dim=128, n=16384, causal=True, form="flash_attention")["median"]
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


def parts_begin_with(parts, two, together, more, three, all_together):
    """Threads of 3 parts, of which two consume, begin with 168, 504 together, and those of 4 with 128, 512 together."""
    begin = {(each["consumers"], each["at_launch"]) for each in rows("hopper_compiled", "compiled")}
    assert begin == {(2, two), (3, three)} and (parts, more) == (3, 4)
    assert (parts * two, more * three) == (together, all_together)


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


def no_exponential_between_the_waits():
    """At d = 128, full and causal, of the exponentials none stands between the 2 waits. In words: no."""
    (_, full), (_, causal) = (_between(128, causal) for causal in (False, True))
    assert full[:2] == causal[:2] == (0, 0)


def between_full(head_dim, least, most, every):
    """Full, of 68 maxima 19 to 28 stand between the waits at d = 64, and no exponential. In words: full, no."""
    maxima, exponentials = _between(int(head_dim), False)
    assert maxima == (least, most, every) and exponentials[:2] == (0, 0)


def between_full_and_causal(head_dim, least, most, every):
    """Full and causal, 31 to 32 of 68 maxima stand between the waits at d = 128, and no exponential.

    In words: full, causal, no.
    """
    for causal in (False, True):
        maxima, exponentials = _between(int(head_dim), causal)
        assert maxima == (least, most, every) and exponentials[:2] == (0, 0)


def between_short_and_long(head_dim, least, most, every, long_least, long_most, same):
    """Causal, at d = 64, 24 to 26 of 68 maxima at N = 1024, 19 to 26 of 68 at N = 16,384, and no exponential.

    In words: causal, short, long, no.
    """
    for queries, found in ((1024, (least, most, every)), (16384, (long_least, long_most, same))):
        maxima, exponentials = _between(int(head_dim), True, queries)
        assert maxima == found and exponentials[:2] == (0, 0)


def between_all(head_dim, every, some, of):
    """Full and causal, at d = 256, 36 of 36 maxima stand between the waits, and 13 of 34 exponentials.

    In words: full, causal, all.
    """
    for causal in (False, True):
        maxima, exponentials = _between(int(head_dim), causal)
        assert maxima == (every, every, every) and exponentials == (some, some, of)


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
    steps = row("hopper_steps", "steps_64", step="late", **setting)["speed"]
    beside = row("beside_cudnn", "forward", form="hopper_attention", **setting)["speed"]
    assert min(steps, beside, _speed(64, "hopper_attention", n=16384, causal=False)) > IN_TURN[64] / 1e12


def the_clock_at_64(clock, of_the_sum):
    """At d = 64, N = 16,384, full the clock is at most 1.77 GHz, in rounds and profiled, below the sum's 1.83.

    In words: most, below.
    """
    rounds = rows("beside_cudnn", "clocks", head_dim=64, n=16384, causal=False)
    clocks = [each["clock"] / 1000 for each in rounds] + [_profile("hopper_attention")[64, False]["clock"]]
    assert len(clocks) == 3 and rounded(max(clocks), clock) == clock
    assert clock < of_the_sum == rounded(chip("tensor core clock") / 1e9, of_the_sum)


def counting_promises_too_much():
    """Causal, at N = 16,384, pairs gain less than counting says at d = 128 and 256, and up to 2 % more at 64.

    In words: larger.
    """
    off = {
        d: _gain(d, "paired", n=16384, causal=True) / row("hopper_shares", "shares", head_dim=d, n=16384)["gain"]
        for d in HEAD_DIMS
    }
    assert off[128] < 1 and off[256] < 1 < off[64] < 1.02


def pairs_gain_as_counted(promised):
    """Causal, at N = 16,384 and d = 128, pairs gain more than 2/3 of what counting says, 1.52. In words: most."""
    counted = row("hopper_shares", "shares", head_dim=128, n=16384)["gain"]
    assert rounded(counted, promised) == promised
    assert _gain(128, "paired", n=16384, causal=True) - 1 > 2 / 3 * (counted - 1)


def on_108_sms(in_turn, paired):
    """With 108 SMs the busiest program has 1312 blocks of keys in turn, and 1290 in pairs."""
    single, pairs = list(range(128, 0, -1)) * 16, [129] * 1024
    assert [max(sum(each[i::108]) for i in range(108)) for each in (single, pairs)] == [in_turn, paired]


def nobody_has_more():
    """Of 132 programs, d = 128, N = 16,384, none has more than 1003 blocks of keys, dealt in pairs and singly.

    In words: more.
    """
    units, paired, single = units_of(16, 128, 132, paired=True, singles=True)
    keys = [129] * (64 * paired) + [128 - place // single for place in range(128 * single)]
    assert (len(keys), paired, single) == (units, 14, 2)
    rounds = [keys[first : first + 132] for first in range(0, units, 132)]
    has = [0] * 132
    for turn, each in enumerate(rounds):
        for place, many in enumerate(each):
            has[131 - place if turn % 2 else place] += many
    assert (has[0], has[131], max(has)) == (1000, 1003, 1003)
    shares = row("hopper_shares", "shares", head_dim=128, n=16384)
    assert shares["dealt"] == round(max(has) / (sum(has) / 132), 3)


def singles_gain_on_long_texts(least, most):
    """Causal, at N = 16,384, singles gain 3 to 5 % over pairs, over all d. In words: gain, long."""
    found = [100 * (_gain(d, "singles", n=16384, causal=True) - 1) for d in HEAD_DIMS]
    assert sorted({rounded(each, least) for each in (min(found), max(found))}) == [least, most]


def persistence_slows_long_causal_work():
    """Alone, persistence is slower for causal work at every d at N = 16,384.

    In words: long, causal, slower; causal, long, slower.
    """
    assert all(_gain(d, "persistent", n=16384, causal=True) < 1 for d in HEAD_DIMS)


def specialised_warps_gain_on_long_work():
    """At N = 16,384 specialised warps gain more than 5 % at d = 128 and d = 256, full and causal. In words: gain."""
    assert all(found > 1.05 for d in (128, 256) for found in _gains(d, "specialised", n=16384))


def specialised_warps_lose_on_short_work():
    """At N = 1024 specialised warps lose at d = 64 and at d = 128, full and causal, by their intervals.

    In words: lose.
    """
    found = [each for d in (64, 128) for each in rows("hopper_steps", f"steps_{d}", step="specialised", n=1024)]
    assert len(found) == 4 and max(each["high"] for each in found) < 1


def overlap_gives_little_at_64(head_dim, least, most):
    """At d = 64 overlap gives 1.01 to 1.05, over all settings."""
    found = _gains(int(head_dim), "overlap")
    assert len(found) == 4 and (rounded(min(found), least), rounded(max(found), most)) == (least, most)


def overlap_gives_more_than_the_maximum(large, head_dim, larger, largest):
    """At N = 16,384 overlap gives 1.09 at d = 128, where the maximum takes 128 of 2048 clocks, and 1.08 at d = 256,
    where it takes 64 of as many, each to 0.01.

    In words: more, long, each.
    """
    assert 128 * 64 * MATMULS[256] == STEP and (head_dim, largest) == (128, 256)
    found = {d: _gains(d, "overlap", n=16384) for d in (128, 256)}
    assert min(found[128]) > 1 + 128 / STEP and min(found[256]) > 1 + 64 / STEP
    for d, wanted in ((128, large), (256, larger)):
        assert len(found[d]) == 2 and all(close(gain, float(wanted), 0.01) for gain in found[d])


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


def pairs_repair_long_work(costs, head_dim, largest_costs, largest, gains, smallest):
    """Causal, at N = 16,384, both together cost 3 % at d = 128 and 2 % at 256, and gain 3 % at 64.

    In words: long, causal, below, below, above.
    """
    assert rounded(-_percent_with_pairs(head_dim, 16384), costs) == costs
    assert rounded(-_percent_with_pairs(largest, 16384), largest_costs) == largest_costs
    assert rounded(_percent_with_pairs(smallest, 16384), gains) == gains


def singles_repair_long_work(level, gains, smallest):
    """Causal, at N = 16,384, persistence, pairs and singles together gain less than 1 % at d = 128 and 256, and 8 % at
    64.

    In words: long, causal, larger, above.
    """
    assert smallest == 64
    found = {d: 100 * (_with_pairs(d, 16384) * _gain(d, "singles", n=16384, causal=True) - 1) for d in HEAD_DIMS}
    assert all(0 < found[d] < level == 1 for d in (128, 256)) and rounded(found[64], gains) == gains


def _counted_of_singles(head_dim):
    """By how much fewer blocks of keys the busiest program has dealt than in pairs, N = 16,384."""
    counted = row("hopper_shares", "shares", head_dim=head_dim, n=16384)
    return counted["paired"] / counted["dealt"]


def singles_should_gain(*typed):
    """Counted, at N = 16,384, dealt is 1.05 times as even as paired at d = 64, and 1.03 times at d = 128 and 256."""
    for gain, head_dim in zip(typed[::2], typed[1::2], strict=True):
        assert rounded(_counted_of_singles(int(head_dim)), gain) == gain
    assert [int(head_dim) for head_dim in typed[1::2]] == [*HEAD_DIMS]


def singles_gain_as_counted(percent):
    """Causal, at N = 16,384, singles gain what was counted at each d, to 0.7 %."""
    off = [100 * abs(1 - _gain(d, "singles", n=16384, causal=True) / _counted_of_singles(d)) for d in HEAD_DIMS]
    assert rounded(max(off), percent) == percent


def both_are_near_their_count(percent):
    """Causal, at N = 16,384, pairs and singles together gain what in turn over dealt says at each d, to 3.7 %.

    In words: both.
    """
    off = []
    for d in HEAD_DIMS:
        counted = row("hopper_shares", "shares", head_dim=d, n=16384)
        both = _gain(d, "paired", n=16384, causal=True) * _gain(d, "singles", n=16384, causal=True)
        off.append(100 * abs(1 - both / (counted["in_turn"] / counted["dealt"])))
    assert rounded(max(off), percent) == percent


def the_last_three_give(settings, three, without, gain, two):
    """By the geometric mean of 12 settings 3 steps, singles, turns and lazy, together give 1.032 without the turns of
    2 consumers, at d = 128 and 256, and 1.029 with them.

    In words: -.
    """
    steps = [each for d in HEAD_DIMS for each in rows("hopper_steps", f"steps_{d}")]
    assert len({(each["head_dim"], each["n"], each["causal"]) for each in steps}) == settings
    last = [each for each in steps if each["step"] in ("singles", "turns", "lazy")]
    first = [each["gain"] for each in last if each["step"] != "turns" or each["head_dim"] == 64]
    assert (three, two) == (3, 2) and rounded(prod(first) ** (1 / int(settings)), without) == without
    assert rounded(prod(each["gain"] for each in last) ** (1 / int(settings)), gain) == gain


def beside_cudnn_it_rose_by(factor):
    """Forward as a graph our mean beside cuDNN is 1.030 times the 1.107 of the run before."""
    now = row("beside_cudnn", "overall", work="forward", way="graph", form="hopper_attention")["geometric_mean"]
    assert rounded(now / 1.107, factor) == factor


def turns_give_little_on_long_causal_work(percent):
    """At d = 64, N = 16,384, causal, turns gain 1 %. In words: long, causal."""
    assert rounded(100 * (_gain(64, "turns", n=16384, causal=True) - 1), percent) == percent


def turns_of_two_in_the_ladder(two, percent, head_dim, largest, short, long):
    """Causal, turns gain 0.7 % at d = 128, N = 1024; at d = 256 they lose 0.9 % at N = 1024 and 2.6 % at 16,384.

    In words: causal, gain, short, lose, short, long.
    """
    settings = ((head_dim, 1024), (largest, 1024), (largest, 16384))
    changes = [100 * (_gain(int(d), "turns", n=n, causal=True) - 1) for d, n in settings]
    assert two == 2 and [rounded(each, percent) for each in changes] == [percent, -short, -long]


def held_in_the_ladder(percent):
    """At d = 128 held changes less than 0.5 % full, and gives 2 % causal, at N = 1024 and at 16,384.

    In words: nothing, full, half, causal, short, long.
    """
    assert max(abs(gain - 1) for gain in _gains(128, "held", causal=False)) < 0.005
    found = [100 * (_gain(128, "held", n=n, causal=True) - 1) for n in (1024, 16384)]
    assert [rounded(each, percent) for each in found] == [percent, percent]


def late_in_the_ladder(percent, head_dim, one):
    """Late gives 3 % at d = 128, N = 1024, full, and changes by 1 % or less in the six other settings that have it.

    In words: short, full, nothing.
    """
    rungs = {(d, each["n"], each["causal"]): each["gain"] for d in (64, 128) for each in _rungs(d, "late")}
    assert rounded(100 * (rungs.pop((int(head_dim), 1024, False)) - 1), percent) == percent
    assert len(rungs) == 6 and rounded(100 * max(abs(gain - 1) for gain in rungs.values()), one) == one


def halved_in_the_ladder(short, long):
    """At d = 64, causal, halved gains 4 % at N = 1024, and loses 0.4 % at 16,384, with an interval below 1.

    In words: gains, short, long, loses.
    """
    (few,), (many,) = (_rungs(64, "halved", n=n) for n in (1024, 16384))
    assert rounded(100 * (few["gain"] - 1), short) == short
    assert rounded(100 * (1 - many["gain"]), long) == long and many["high"] < 1


def halved_or_late_at_128(short, long):
    """At d = 128, causal, halved and late change less than 1 % at N = 1024, and halved loses 12 % at 16,384.

    In words: short, neither, halved, long, loses.
    """
    found = [_gain(128, step, n=1024, causal=True) for step in ("halved=True", "late=True")]
    assert 100 * max(abs(gain - 1) for gain in found) < short == 1
    assert rounded(100 * (1 - _gain(128, "halved=True", n=16384, causal=True)), long) == long


@cache
def _instructions_at_256():
    """Of the loop of each consumer at d = 256, full: instructions, and those that take an exponential."""
    return ast.literal_eval(elsewhere("hopper_loop(256, False)"))


def lazy_does_not_issue(left_out, every):
    """At d = 256, full, a step has 432 or 433 instructions, and 128 of them are the multiplications of a thread.

    In words: not, no.
    """
    assert {found for found, _ in _instructions_at_256()} <= {every - 1, every}
    assert left_out == 64 * 256 // 128  # numbers of a consumer by its threads


def lazy_keeps_the_clock(points):
    """At d = 256, full, tensor is 3.1 points higher than not lazy, and the clock no lower. In words: not, lower."""
    ours, without = (_profile(form)[256, False] for form in ("hopper_attention", "not lazy"))
    assert rounded(ours["tensor"] - without["tensor"], points) == points
    assert ours["clock"] >= without["clock"]


def pairs_gain_on_short_work(*typed):
    """Causal, at N = 1024, both together gain 7 % at d = 256, 29 % at d = 128 and 36 % at d = 64.

    In words: short, causal, above.
    """
    for gains, head_dim in zip(typed[::2], typed[1::2], strict=True):
        assert rounded(_percent_with_pairs(head_dim, 1024), gains) == gains
    assert {*map(int, typed[1::2])} == {*HEAD_DIMS}


def sharing_out_gains(steps, least, most, short_least, short_most):
    """Causal, persistence, pairs and singles, the 3 together, gain 1 to 8 % at N = 16,384 and 9 to 39 % at N = 1024.

    In words: all, gain, long, short.
    """
    assert steps == len(("persistent", "paired", "singles"))
    for n, typed in ((16384, (least, most)), (1024, (short_least, short_most))):
        found = [100 * (_with_pairs(d, n) * _gain(d, "singles", n=n, causal=True) - 1) for d in HEAD_DIMS]
        assert (rounded(min(found), least), rounded(max(found), most)) == typed


def lazy_gains(percent, long):
    """At d = 256 lazy rescaling gains 3 % at N = 1024 and 16,384, full and causal, but for 16,384, causal: 7 %.

    In words: gains, long, causal.
    """
    steps = rows("hopper_steps", "steps_256", step="lazy")
    found = {(each["n"], each["causal"]): 100 * (each["gain"] - 1) for each in steps}
    assert len(found) == 4 and rounded(found.pop((16384, True)), long) == long
    assert {rounded(gain, percent) for gain in found.values()} == {percent}


def turns_gain_in_full(short, long, causal):
    """At d = 64 turns gain 2.1 % at N = 1024 and 2.3 % at 16,384, full, and 1.3 % at N = 16,384, causal.

    In words: gains, full, long, causal.
    """
    found = [100 * (_gain(64, "turns", n=n, causal=False) - 1) for n in (1024, 16384)]
    assert [rounded(gain, short) for gain in found] == [short, long]
    (last,) = rows("hopper_steps", "steps_64", step="turns", causal=True)
    assert last["n"] == 16384 and rounded(100 * (last["gain"] - 1), causal) == causal


def three_leave_on_short_causal_work(part):
    """At d = 64, N = 1024, causal, three consumers leave 0.71 of the speed, less than 4608 / 6144."""
    found = _gain(64, "consumers=3 registers=160")
    assert rounded(found, part) == part and found < 4608 / 6144


def stages_are_all_the_same_at_64(*typed):
    """At d = 64 two, three or four stages have the same speed to 1.8 % in every setting. In words: all, same."""
    changed = [each["gain"] for each in rows("hopper_steps", "steps_64") if each["step"].startswith("stages=")]
    assert typed[:3] == (2, 3, 4) and len(changed) == 8
    assert rounded(100 * max(abs(gain - 1) for gain in changed), typed[3]) == typed[3]


def a_single_stage_leaves(least, most):
    """A single stage leaves 0.53 to 0.82 of the speed, over d = 128 and 256."""
    found = _gains(128, "stages=1") + _gains(256, "stages=1")
    assert (rounded(min(found), least), rounded(max(found), most)) == (least, most)


def half_as_many_keys_leave(least, most):
    """64 keys a block leave 0.86 to 0.98 of the speed, over d = 64 and 128."""
    found = _gains(64, "block_k=64 stages=6") + _gains(128, "block_k=64 stages=4")
    assert (rounded(min(found), least), rounded(max(found), most)) == (least, most)


def a_third_stage_loses(least, most, one):
    """At d = 128 a third stage loses 10 to 13 % at N = 1024; at 16,384 it changes less than 1 %.

    In words: loses, short, long, less.
    """
    lost, long = ([100 * (1 - gain) for gain in _gains(128, "stages=3 q_stages=1", n=n)] for n in (1024, 16384))
    assert (rounded(min(lost), least), rounded(max(lost), most)) == (least, most)
    assert len(long) == 2 and max(map(abs, long)) < one == 1


def taking_turns_leaves(least, most, large, largest, left, small):
    """Turns where the plan has none leave 0.97 to 1.01 of the speed at d = 128 and 256, and 0.97 at d = 64, N = 1024,
    causal.

    In words: short, causal.
    """
    assert (large, largest, small) == (128, 256, 64)
    found = [gain for d in (128, 256) for gain in _gains(d, "turns=True")]
    assert (rounded(min(found), least), rounded(max(found), most)) == (least, most)
    (short,) = rows("hopper_steps", "steps_64", step="turns=True")
    assert (short["n"], short["causal"]) == (1024, True) and rounded(short["gain"], left) == left


def rounds_spread_by(factor):
    """At d = 128, N = 4096, full the 80th percentile of our kernel's times is 1.04 times the 20th."""
    ours = row("hopper_speed", "forward_128", n=4096, causal=False, form="hopper_attention")
    assert rounded(ours["p80"] / ours["p20"], factor) == factor


def rounds_spread_most(factor):
    """Over all settings it is at most 1.07 times. In words: most; most."""
    spread = {
        (d, each["n"], each["causal"]): each["p80"] / each["p20"]
        for d in HEAD_DIMS
        for each in rows("hopper_speed", f"forward_{d}", form="hopper_attention")
    }
    assert len(spread) == 18 and rounded(max(spread.values()), factor) == factor


def the_ladders_intervals(settings, narrow, widest):
    """Of 128 gains over another step 92 have an interval below 1 % of them, and the widest is 4.4 %. In words: -."""
    steps = [each for d in HEAD_DIMS for each in rows("hopper_steps", f"steps_{d}") if each["step"] != each["over"]]
    wide = [(each["high"] - each["low"]) / each["gain"] for each in steps]
    assert (len(wide), sum(each < 0.01 for each in wide)) == (settings, narrow)
    assert rounded(100 * max(wide), widest) == widest


def turns_are_level_at_256(percent):
    """At d = 256, N = 16,384, full turns gain 0.2 %."""
    assert rounded(100 * (_gain(256, "turns=True", n=16384, causal=False) - 1), percent) == percent


def turns_are_level_in_the_profile():
    """At d = 256, full, turns change tensor by no more than 0.1 points, and time by less than 0.3 %. In words: long."""
    ours, turns = (_profile(form)[256, False] for form in ("hopper_attention", "turns"))
    assert abs(ours["tensor"] - turns["tensor"]) <= 0.1 and close(turns["time"], ours["time"], 0.003)


def _beside(work, form, **wanted):
    """(head_dim, N, causal) -> the row of a form in the run beside cuDNN."""
    found = rows("beside_cudnn", work, form=form, **wanted)
    return {(each["head_dim"], each["n"], each["causal"]): each for each in found}


def _beside_fa4(work):
    """(head_dim, N, causal) -> the time of FlashAttention-4 by ours, each by that of cuDNN in the same rounds."""
    theirs, ours = (_beside(work, form) for form in ("flash_attention_4", "hopper_attention"))
    assert len(theirs) == 18
    return {key: ours[key]["ratio"] / theirs[key]["ratio"] for key in ours}


def as_exact_but_at_256(small, percent, large, *typed):
    """Up to d = 128 no output, and at any d no gradient of ours is more than 1 % further from FP64 than cuDNN's; at
    d = 256 the output is, by 3 and 4 %.

    In words: no, no, more, fp64, cudnn.
    """
    errors = {(each["head_dim"], each["causal"], each["form"]): each for each in rows("beside_cudnn", "errors")}
    above = {
        (d, causal, of): 100 * (error[of] / errors[d, causal, "sdpa_cudnn"][of] - 1)
        for (d, causal, form), error in errors.items()
        for of in ("out", "dq", "dk", "dv")
        if form == "hopper_attention"
    }
    assert len(above) == 24
    wide = [above.pop((int(large), causal, "out")) for causal in (False, True)]
    assert {d for d, _, of in above if of == "out"} == {64, small} and max(above.values()) <= percent
    assert [rounded(each, typed[0]) for each in sorted(wide)] == list(typed)


def cudnn_is_behind_in_all_of(cases):
    """Of 36 cases, forward and backward, each interval is above 1, as a graph and eager.

    In words: all, cudnn, behind.
    """
    found = [each for work in ("forward", "backward") for each in _beside(work, "hopper_attention").values()]
    assert len(found) == cases
    assert all(min(each["low"], each["call_low"]) > 1 for each in found)


def _eager_fa4():
    """(head_dim, N, causal) -> the call of FlashAttention-4 forward by ours, each by cuDNN's in the same rounds."""
    theirs, ours = (_beside("forward", form) for form in ("flash_attention_4", "hopper_attention"))
    return {key: ours[key]["call_ratio"] / theirs[key]["call_ratio"] for key in ours}


def fa4_eager_is_behind(settings):
    """Eager, forward, FlashAttention-4 takes more time than ours in all 18 settings. In words: behind, all."""
    by = _eager_fa4()
    assert len(by) == settings and min(by.values()) > 1


def fa4_eager_is_behind_by(settings, least, most, long):
    """Eager, forward, FlashAttention-4 takes more time than ours in all 18 settings, by 2 to 9 % at N = 16,384.

    In words: behind, all.
    """
    fa4_eager_is_behind(settings)
    found = [100 * (ratio - 1) for (_, words, _), ratio in _eager_fa4().items() if words == long]
    assert (rounded(min(found), least), rounded(max(found), most)) == (least, most)


def fa4_at_4096_words(settings, n, behind, least, most, level, head_dim):
    """As graphs forward, of the 6 of N = 4096, FlashAttention-4 takes more time than ours in 5, by 2 to 7 %, and is
    level to 1 % at d = 64, full, where its interval beside cuDNN and ours have a part in common.

    In words: behind, level, full.
    """
    assert level == 1
    by = {(d, causal): 100 * (ratio - 1) for (d, words, causal), ratio in _beside_fa4("forward").items() if words == n}
    assert len(by) == settings and abs(by.pop((int(head_dim), False))) < level
    theirs, ours = (_beside("forward", form)[head_dim, n, False] for form in ("flash_attention_4", "hopper_attention"))
    assert theirs["high"] >= ours["low"] and ours["high"] >= theirs["low"]
    assert len(by) == behind
    assert (rounded(min(by.values()), least), rounded(max(by.values()), most)) == (least, most)


def ahead_by_every_mean(one):
    """Of our kernel's means, forward, backward and both, as a graph and eager, each interval lies above 1.

    In words: no.
    """
    found = rows("beside_cudnn", "overall", form="hopper_attention")
    assert one == 1 and len(found) == 6 and all(each["low"] > one for each in found)


def fa4_leads_on_long_texts_at_64(short, long, head_dim, most):
    """As graphs forward FlashAttention-4 takes more time than ours in each setting of N = 1024. Of those of N = 16,384
    it is ahead in both with heads of 64, by at most 2 %; in the others it is level, where its interval beside cuDNN
    and ours have a part in common, or behind.

    In words: behind, each, ahead, both, most, larger, level, behind.
    """
    by = _beside_fa4("forward")
    assert min(ratio for (_, n, _), ratio in by.items() if n == short) > 1
    theirs, ours = (_beside("forward", form) for form in ("flash_attention_4", "hopper_attention"))
    ahead = [key for key in by if key[1] == long and theirs[key]["low"] > ours[key]["high"]]
    assert sorted(ahead) == [(head_dim, long, causal) for causal in (False, True)]
    assert rounded(max(100 * (1 / by[key] - 1) for key in ahead), most) == most


def fa4_is_ahead_at_128(ahead, settings, head_dim, least, most, other):
    """As graphs backward FlashAttention-4 is ahead in 5 of the 6 settings with heads of 128, by 1 to 6 %, and behind in
    each with heads of 256.

    In words: ahead, behind, each.
    """
    by = _beside_fa4("backward")
    at = [100 * (1 / ratio - 1) for (d, *_), ratio in by.items() if d == head_dim]
    leads = [lead for lead in at if lead > 0]
    assert (len(leads), len(at)) == (ahead, settings)
    assert (rounded(min(leads), least), rounded(max(leads), most)) == (least, most)
    behind = [ratio for (d, *_), ratio in by.items() if d == other]
    assert len(behind) == 6 and min(behind) > 1


def fa4_is_ahead_at_128_but(ahead, settings, head_dim, least, most, level):
    """As graphs backward FlashAttention-4 is ahead in 5 of the 6 settings with heads of 128, by 1 to 6 %, and level to
    0.5 % at N = 4096, causal.

    In words: ahead, level, causal.
    """
    fa4_is_ahead_at_128(ahead, settings, head_dim, least, most, 256)
    assert close(_beside_fa4("backward").get((head_dim, level, True), 0), 1, 0.005)


def fa4_is_behind_at_256(head_dim, least, most):
    """As graphs backward FlashAttention-4 takes 21 to 26 % more time than ours in each setting with heads of 256.

    In words: behind, each.
    """
    behind = [100 * (ratio - 1) for (d, *_), ratio in _beside_fa4("backward").items() if d == head_dim]
    assert len(behind) == 6 and (rounded(min(behind), least), rounded(max(behind), most)) == (least, most)


def no_address_is_kept(head_dim, kept, more):
    """At d = 128, full, a step of the backward pass loads nothing from local memory, in either consumer; with addresses
    of tiles that the compiler may keep it has 11 and 25 such loads.

    In words: full, nothing, same.
    """
    found = elsewhere(f"[backward_step({head_dim}, kept) for kept in (False, True)]")
    now, then = ([loads for loads, _ in consumers] for consumers in ast.literal_eval(found))
    assert now == [0, 0] and sorted(then) == [kept, more]


def fa4_at_64(head_dim, short, least, most, by_least, by_most):
    """As graphs backward, with heads of 64, FlashAttention-4 is ahead in both settings of N = 1024, by 3 and 9 %, and
    behind in the others, by 5 to 13 %.

    In words: ahead, both, behind.
    """
    by = {key[1:]: ratio for key, ratio in _beside_fa4("backward").items() if key[0] == head_dim}
    leads = sorted(100 * (1 / ratio - 1) for (n, _), ratio in by.items() if n == short)
    others = [100 * (ratio - 1) for (n, _), ratio in by.items() if n != short]
    assert (len(leads), len(others)) == (2, 4)
    assert [rounded(lead, least) for lead in leads] == [least, most]
    assert (rounded(min(others), by_least), rounded(max(others), by_most)) == (by_least, by_most)


def eager_is_above_its_graph(least, most, ours_least, ours_most):
    """Forward FlashAttention-4's call is above its graph by 6 to 19 % of it, over all settings, and ours by 4 to 9 %.

    In words: above.
    """
    for form, typed in (("flash_attention_4", (least, most)), ("hopper_attention", (ours_least, ours_most))):
        found = [100 * (each["call"] / each["median"] - 1) for each in _beside("forward", form).values()]
        assert (rounded(min(found), least), rounded(max(found), most)) == typed


def eager_grows_with_the_work(head_dim, *typed):
    """At d = 128, full, forward, with N = 1024, 4096 and 16,384, it is 27, 112 and 404 µs, and ours 13, 54 and 210.

    In words: full.
    """
    assert head_dim in HEAD_DIMS and typed[:3] == (1024, 4096, 16384) and len(typed) == 9
    for form, wanted in (("flash_attention_4", typed[3:6]), ("hopper_attention", typed[6:])):
        found = [_beside("forward", form)[int(head_dim), int(n), False] for n in typed[:3]]
        on_top = [1000 * (Decimal(str(each["call"])) - Decimal(str(each["median"]))) for each in found]
        assert tuple(map(round, on_top)) == wanted


def only_kept_maxima_are_less_exact(settings, percent, exact, head_dim, full, causal):
    """In 6 settings no gradient of ours has an error against FP64 more than 1 % above cuDNN's, nor up to d = 128 an
    output; at d = 256 the output's is 4 % above full and 3 % causal.

    In words: none, more, cudnn, no, full, causal.
    """
    errors = {(each["head_dim"], each["causal"], each["form"]): each for each in rows("beside_cudnn", "errors")}
    ours = {key[:2]: each for key, each in errors.items() if key[2] == "hopper_attention"}
    assert len(ours) == settings and {exact, head_dim} < {*HEAD_DIMS}
    above = {
        (*key, of): 100 * (error[of] / errors[*key, "sdpa_cudnn"][of] - 1)
        for key, error in ours.items()
        for of in ("out", "dq", "dk", "dv")
    }
    others = [(int(head_dim), masked, "out") for masked in (False, True)]
    assert [rounded(above.pop(key), full) for key in others] == [full, causal]
    assert {d for d, _, of in above if of == "out"} == {d for d in HEAD_DIMS if d <= exact}
    assert percent - 1 < max(above.values()) <= percent


def ahead_in_all(forward, back):
    """As a graph and eager our kernel is ahead of cuDNN, by its interval, in all 18 settings forward and all 18
    backward.

    In words: ahead, cudnn, all, all.
    """
    works = [_beside(work, "hopper_attention").values() for work in ("forward", "backward")]
    assert [len(found) for found in works] == [forward, back]
    assert all(min(each["low"], each["call_low"]) > 1 for found in works for each in found)


def least_ahead_on_short_work_at_64(head_dim, n, *typed):
    """Forward our kernel is ahead of cuDNN least at d = 64, N = 1024, by 2.8 % full and 3.5 % causal as graphs, and by
    2.2 and 3.0 % eager.

    In words: least, ahead, full, causal.
    """
    found = _beside("forward", "hopper_attention")
    two = [(head_dim, n, causal) for causal in (False, True)]
    by = [[100 * (found[key][of] - 1) for key in two] for of in ("ratio", "call_ratio")]
    assert [rounded(each, typed[0]) for pair in by for each in pair] == list(typed)
    for of in ("ratio", "call_ratio"):
        assert {*sorted(found, key=lambda key: found[key][of])[:2]} == {*two}


def fa4_is_behind_on_short_texts(short, least, most):
    """As graphs forward FlashAttention-4 takes 4 to 34 % more time than ours in every setting of N = 1024.

    In words: behind, every.
    """
    found = [100 * (ratio - 1) for (_, n, _), ratio in _beside_fa4("forward").items() if n == short]
    assert len(found) == 6 and (rounded(min(found), least), rounded(max(found), most)) == (least, most)


def fa4_on_long_texts(settings, long, ahead, least, most, small, *others):
    """As graphs forward, of the 6 of N = 16,384, FlashAttention-4 is ahead in 2, by 1 to 2 %: with heads of 64, with
    intervals apart. At d = 128 and 256, full, it is level to 0.5 %, with intervals that have a part in common, and
    causal behind by 3 % and 2 %.

    In words: ahead, both, level, full, behind, causal.
    """
    texts = {(d, causal): ratio for (d, n, causal), ratio in _beside_fa4("forward").items() if n == long}
    assert len(texts) == settings
    theirs, ours = (_beside("forward", form) for form in ("flash_attention_4", "hopper_attention"))
    leads = [(int(small), False), (int(small), True)]
    assert len(leads) == ahead
    assert all(theirs[d, long, causal]["low"] > ours[d, long, causal]["high"] for d, causal in leads)
    found = [100 * (1 / texts.pop(key) - 1) for key in leads]
    assert (rounded(min(found), least), rounded(max(found), most)) == (least, most)
    for d in map(int, others[:2]):
        assert close(texts.pop((d, False)), 1, 0.005)
        assert theirs[d, long, False]["high"] >= ours[d, long, False]["low"]
        assert ours[d, long, False]["high"] >= theirs[d, long, False]["low"]
    wanted = dict(zip([(int(d), True) for d in others[2:4]], others[4:], strict=True))
    assert {key: rounded(100 * (ratio - 1), least) for key, ratio in texts.items()} == wanted


def single_settings_differ_by(percent, head_dim, n, cleared, kept):
    """Of one setting cuDNN's ratio to ours differs by up to 8 % between the two runs: 1.021 and 1.099 at d = 128,
    N = 1024, full.

    In words: full, cudnn.
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
    """Two measurements of cuDNN's ratio differ by less than 2 % in 36 cases, and by less than 1 % in 33 of them.

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
    """Between the two measurements of a setting the clock differs by less than 3 %. In words: less."""
    assert 100 * max(max(both) / min(both) - 1 for both in _clocks().values()) < percent


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
    settings = {"third stage": 2, "turns": 3, "no turns": 1, "not lazy": 1, "not held": 2}
    assert len(these) == settings.get(form, 4) and these.keys() <= those.keys()
    return {key: these[key] - those[key] for key in these}


def both_are_busy_at_64(tensor, exp2, percent):
    """At d = 64 the tensor cores are busy for 61.1 % of the time and exp2's units for 63.0 %, the sum above 100 %.

    In words: more.
    """
    found = _profile("hopper_attention")[64, False]
    assert (rounded(found["tensor"], tensor), rounded(found["exp2"], exp2)) == (tensor, exp2)
    assert percent == 100 < found["tensor"] + found["exp2"]


def busy_tensor_cores_lower_the_clock(busy, lower, idle, higher):
    """Of all rows those with tensor above 75 % have a clock below 1.70 GHz, those below 64 % one above 1.75.

    In words: more, below, less, above.
    """
    found = rows("hopper_profile", "profile")
    above = [each["clock"] for each in found if each["tensor"] > busy]
    below = [each["clock"] for each in found if each["tensor"] < idle]
    assert len(above) > 8 and max(above) < lower
    assert len(below) > 6 and min(below) > higher


def in_between_the_order_is_not_kept(head_dim, busy, clock, busier, higher):
    """At d = 128 the portable kernel's tensor and clock are, full, 68.4 % and 1.667 GHz, and cuDNN's, causal, 68.5 %
    and 1.709.

    In words: full, cudnn, causal.
    """
    assert head_dim in HEAD_DIMS
    portable, cudnn = _profile("flash_attention")[int(head_dim), False], _profile("sdpa_cudnn")[int(head_dim), True]
    assert (rounded(portable["tensor"], busy), rounded(portable["clock"], clock)) == (busy, clock)
    assert (rounded(cudnn["tensor"], busier), rounded(cudnn["clock"], higher)) == (busier, higher)
    assert busy < busier and clock < higher


def _launch(form, head_dim=128, causal=False):
    """The clocks that a launch takes, in millions, and its time in ms."""
    found = _profile(form)[head_dim, causal]
    return found["time"] * found["clock"], found["time"]


def _launches(form, head_dim=128, causal=False):
    """The clocks and the time of a launch of a form, by those of ours."""
    theirs, ours = (_launch(each, head_dim, causal) for each in (form, "hopper_attention"))
    return theirs[0] / ours[0], theirs[1] / ours[1]


def overlap_in_clocks_and_in_time(clocks, time):
    """At d = 128, full, no overlap takes 1.073 times our clocks and 1.041 times our time. In words: many, long; -."""
    found = _launches("no overlap")
    assert (rounded(found[0], clocks), rounded(found[1], time)) == (clocks, time)


def products_and_tensor_agree(points):
    """In no row of the profile are products and tensor more than 0.7 points apart. In words: no, more."""
    apart = max(abs(each["tensor"] - each["products"]) for each in rows("hopper_profile", "profile"))
    assert rounded(apart, points) == points


def ours_has_no_rest():
    """At d = 64, full, tensor is products for ours, and for FlashAttention-4 1.008 times that, to 0.001.

    In words: more, no, longer.
    """
    ours, fourth = (_profile(form)[64, False] for form in ("hopper_attention", "flash_attention_4"))
    assert ours["tensor"] == ours["products"]
    assert abs(fourth["tensor"] / fourth["products"] - ceil(16384 / 192) * 192 / 16384) < 0.001


def exp2_is_half_of_tensor(head_dim, part, apart):
    """In every row with heads of 128 exp2 is 0.52 of tensor, to 0.01. In words: every."""
    found = [each["exp2"] / each["tensor"] for each in rows("hopper_profile", "profile", head_dim=head_dim)]
    assert len(found) > 8 and all(abs(each - float(part)) < apart for each in found)


def issued_is_of_tensor(head_dim, ours, fourth, cudnn, largest, cudnn_there, ours_there):
    """Full, at d = 128 issued is 0.46 of tensor for ours, 0.45 for FlashAttention-4 and 0.57 for cuDNN; at d = 256 it
    is 0.34 for cuDNN and 0.31 for ours.

    In words: full, cudnn, cudnn.
    """

    def part(form, d, like):
        found = _profile(form)[int(d), False]
        return rounded(found["issued"] / found["tensor"], like)

    assert {head_dim, largest} <= {*HEAD_DIMS}
    forms = ("hopper_attention", "flash_attention_4", "sdpa_cudnn")
    assert [part(form, head_dim, ours) for form in forms] == [ours, fourth, cudnn]
    assert [part(form, largest, ours) for form in forms[::-2]] == [cudnn_there, ours_there]


def not_lazy_starts_more_than_cudnn(part):
    """At d = 256, full, issued is 0.42 of tensor for not lazy, more than for cuDNN, and it takes less time.

    In words: not, ahead, cudnn.
    """
    ours, cudnn = (_profile(form)[256, False] for form in ("not lazy", "sdpa_cudnn"))
    assert rounded(ours["issued"] / ours["tensor"], part) == part and cudnn["issued"] / cudnn["tensor"] < 0.4 < part
    assert ours["time"] < cudnn["time"]


def no_other_unit_is_near(percent):
    """In no row is issued, exp2, fma or alu above 65 %. In words: no, more."""
    found = rows("hopper_profile", "profile")
    assert ceil(max(each[unit] for each in found for unit in ("issued", "exp2", "fma", "alu"))) == percent


def _left(reason, idle):
    """Of a reason, in points, without so many of the twelve warps that wait all the time: ours, d = 128, full."""
    return _waits("hopper_attention", reason)[128, False] - 100 * idle / 12


def waits_that_are_left(products, tiles):
    """At d = 128, full, barrier without three warps of 12 is 8 points, and long_scoreboard without one is 1."""
    found = [_left("barrier", 3), _left("long_scoreboard", 1)]
    assert [rounded(each, products) for each in found] == [products, tiles]


def waits_of_the_eight_are(products, tiles):
    """Of the eight of 12 warps that compute these 8 points and this 1 are 12 and 1.9 %. In words: most."""
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
    """At d = 128 the loop of a consumer has 461 instructions, of which 66 take an exponential."""
    assert _steps()[1] == [(every, exponentials)] * 2


def softmax_first_loses(least, most):
    """With softmax first tensor is lower in every setting, by 3 to 4 points. In words: loses, every."""
    found = [-points for points in _more("softmax first", "tensor").values()]
    assert (rounded(min(found), least), rounded(max(found), most)) == (least, most)


def softmax_first_waits_for_no_tile(points):
    """With softmax first long_scoreboard changes by at most 0.4 points at d = 64 and 128. In words: long, most."""
    found = [abs(more) for (d, _), more in _more("softmax first", "long_scoreboard").items() if d < 256]
    assert len(found) == 3 and rounded(max(found), points) == points


def softmax_first_waits_for_itself(head_dim, least, most, small, large, least_wait, most_wait):
    """With softmax first barrier is 2.5 to 2.9 points lower at d = 128, and wait 0.6 to 1.6 higher at d = 64 and 128.

    In words: less, more, rises.
    """
    found = [-more for (d, _), more in _more("softmax first", "barrier").items() if d == head_dim]
    assert len(found) == 2 and (rounded(min(found), least), rounded(max(found), most)) == (least, most)
    found = [more for (d, _), more in _more("softmax first", "wait").items() if d in (small, large)]
    assert len(found) == 3 and (rounded(min(found), least_wait), rounded(max(found), most_wait)) == (
        least_wait,
        most_wait,
    )


def softmax_first_waits_for_tiles_at_256(points, one):
    """With softmax first long_scoreboard changes most at d = 256, by 1.5 points, barrier and wait by less than 1.

    In words: long, most, less.
    """
    found = {of: _more("softmax first", of)[256, False] for of in ("long_scoreboard", "barrier", "wait")}
    assert rounded(found.pop("long_scoreboard"), points) == points > one
    assert max(map(abs, found.values())) < one == 1


def softmax_first_waits_for_products_at_64(points):
    """With softmax first barrier is 0.8 points higher at d = 64. In words: rises."""
    assert rounded(_more("softmax first", "barrier")[64, False], points) == points


def overlap_saves_waits_for_products(least, most, same):
    """Without it barrier is 6 to 13 points higher, long_scoreboard the same to 0.3. In words: higher, long, same."""
    found = _more("no overlap", "barrier").values()
    assert (rounded(min(found), least), rounded(max(found), most)) == (least, most)
    assert rounded(max(map(abs, _more("no overlap", "long_scoreboard").values())), same) == same


def _clocks_of_a_step(form):
    """At d = 128, full: of the busiest program, with 16 blocks of queries of 128 blocks of keys."""
    found = _profile(form)[128, False]
    return 1e6 * found["time"] * found["clock"] / (ceil(16 * 128 / chip("sms")) * 128)


def a_step_takes(clocks, waits, instructions, each):
    """At d = 128, full, a step takes 2414 clocks, at most 12 % of them waits for products, others 4.6 an instruction.

    In words: most, every.
    """
    found, waiting = _clocks_of_a_step("hopper_attention"), 12 / 8 * _left("barrier", 3)
    assert rounded(found, clocks) == clocks and rounded(waiting, waits) == waits
    assert rounded(found * (1 - waiting / 100) / float(instructions), each) == each
    assert {every for every, _ in _steps()[1]} == {instructions}


def overlap_saves(clocks):
    """At d = 128, full, a step takes 177 clocks more without overlap. In words: more."""
    assert rounded(_clocks_of_a_step("no overlap") - _clocks_of_a_step("hopper_attention"), clocks) == clocks


def turns_at_64(tensor, without, clocks):
    """At d = 64, full, tensor is 61.1 % with turns and 59.5 without, and without it takes 2.7 % more clocks.

    In words: more.
    """
    ours, others = (_profile(form)[64, False] for form in ("hopper_attention", "no turns"))
    assert (rounded(ours["tensor"], tensor), rounded(others["tensor"], without)) == (tensor, without)
    assert rounded(100 * (_launches("no turns", 64)[0] - 1), clocks) == clocks


def turns_save_waits_at_64(turns, without):
    """At d = 64 barrier is 20.3 % with turns and 20.8 without."""
    ours, others = (_waits(form, "barrier")[64, False] for form in ("hopper_attention", "no turns"))
    assert (rounded(ours, turns), rounded(others, without)) == (turns, without)


def turns_gain_nothing_for_two(barrier, largest, points, head_dim):
    """Full, at d = 128 and 256, barrier changes by at most 1.0 points with turns, and tensor by less than 0.5 at
    d = 256; at d = 128 it is 2.3 lower.

    In words: full, most, long, less.
    """
    waits, busy = (_more("turns", of) for of in ("barrier", "tensor"))
    assert rounded(max(abs(waits[d, False]) for d in (128, 256)), barrier) == barrier < 2
    assert abs(busy[int(largest), False]) < 0.5 and rounded(-busy[int(head_dim), False], points) == points


def turns_at_128_in_the_ladder(full, causal):
    """At d = 128, N = 16,384, turns lose 3 % full and gain 1 % causal. In words: lose, full, gain, causal."""
    lost, gained = (_gain(128, "turns=True", n=16384, causal=masked) for masked in (False, True))
    assert (rounded(100 * (1 - lost), full), rounded(100 * (gained - 1), causal)) == (full, causal)


def turns_at_256_in_the_profile(percent):
    """At d = 256, full, a launch with turns takes as many clocks as ours to less than 0.1 %. In words: many, less."""
    assert percent == Decimal("0.1") > 100 * abs(_launches("turns", 256)[0] - 1)


def turns_lose_at_128_causal(clocks, time, points):
    """At d = 128, causal, with turns it takes 1.5 % more clocks and 0.9 % more time, and tensor is 1.3 lower.

    In words: more, more, less.
    """
    found = [100 * (each - 1) for each in _launches("turns", causal=True)]
    assert (rounded(found[0], clocks), rounded(found[1], time)) == (clocks, time)
    assert rounded(-_more("turns", "tensor")[128, True], points) == points


def turns_wait_for_turns(least, most):
    """With turns long_scoreboard is higher by 0.4 to 1.2 points, at d = 128 and 256, full, and at d = 128, causal.

    In words: long, rises, every.
    """
    found = _more("turns", "long_scoreboard").values()
    assert len(found) == 3 and (rounded(min(found), least), rounded(max(found), most)) == (least, most)


def without_persistence_takes_more(percent):
    """At d = 128, N = 16,384 the ladder's kernel without persistence takes more time full, and causal more than with
    persistence, pairs and singles, by at most 1 %.

    In words: more, full, causal.
    """
    causal = _with_pairs(128, 16384) * _gain(128, "singles", n=16384, causal=True)
    found = [100 * (gain - 1) for gain in (_gain(128, "persistent", n=16384, causal=False), causal)]
    assert min(found) > 0 and rounded(max(found), percent) == percent


def a_third_stage_changes_little(full, causal):
    """At d = 128 a third stage changes tensor by 0.3 points full, and lowers it by 1.7 causal.

    In words: long, full, less, causal.
    """
    found = _more("third stage", "tensor")
    assert rounded(abs(found[128, False]), full) == full and rounded(-found[128, True], causal) == causal


def a_third_stage_in_the_profile(full, causal):
    """At d = 128 it takes 0.3 % more clocks full and 2.1 % more causal. In words: more, full, more, causal."""
    clocks = [100 * (_launches("third stage", causal=masked)[0] - 1) for masked in (False, True)]
    assert (rounded(clocks[0], full), rounded(clocks[1], causal)) == (full, causal)


def a_third_stage_is_level():
    """At d = 128, N = 16,384 its speed in the ladder changes by less than 1 %. In words: full, causal."""
    gains = [_gain(128, "stages=3 q_stages=1", n=16384, causal=masked) for masked in (False, True)]
    assert max(abs(gain - 1) for gain in gains) < 0.01


def held_saves_clocks(causal, full):
    """At d = 128 not held takes 4.1 % more clocks causal, and 0.3 % more full. In words: more, causal, more, full."""
    clocks = [100 * (_launches("not held", causal=masked)[0] - 1) for masked in (True, False)]
    assert (rounded(clocks[0], causal), rounded(clocks[1], full)) == (causal, full)


def tensor_cores_beside_ours(*typed):
    """Full, at d = 64, 128 and 256 cuDNN's tensor is 10, 7 and 13 points below ours and FlashAttention-4's 1.9, 1.0 and
    0.4 above; at d = 128, causal, FlashAttention-4's is 3.5 below.

    In words: cudnn, full, below, above, causal, below.
    """
    cudnn, fourth = (_more(form, "tensor") for form in ("sdpa_cudnn", "flash_attention_4"))
    full = [(d, False) for d in HEAD_DIMS]
    found = [-cudnn[key] for key in full] + [fourth[key] for key in full] + [HEAD_DIMS[1], -fourth[128, True]]
    assert typed[:3] == HEAD_DIMS and len(typed[3:]) == len(found)
    assert [rounded(each, points) for each, points in zip(found, typed[3:], strict=True)] == list(typed[3:])


def lazy_saves_multiplications(fma, issued, alu):
    """At d = 256, as parts of tensor fma is 0.120 lower than not lazy, issued 0.113 lower, and alu 0.014 higher."""
    kept, other = (_profile(form)[256, False] for form in ("hopper_attention", "not lazy"))
    falls = {unit: other[unit] / other["tensor"] - kept[unit] / kept["tensor"] for unit in ("fma", "issued", "alu")}
    assert (rounded(falls["fma"], fma), rounded(falls["issued"], issued)) == (fma, issued)
    assert rounded(-falls["alu"], alu) == alu


def lazy_saves_clocks(percent):
    """At d = 256, full, ours takes 3.3 % fewer clocks than not lazy. In words: fewer."""
    assert rounded(100 * (1 - 1 / _launches("not lazy", 256)[0]), percent) == percent


def lazy_saves_time(times):
    """At d = 256, full, not lazy takes 1.039 times as long as ours. In words: long."""
    assert rounded(_launches("not lazy", 256)[1], times) == times


def _five(form):
    """The five longest waits at d = 256, full, in their order."""
    found = rows("hopper_profile", "waits", form=form, head_dim=256, causal=False)
    return [each["reason"] for each in sorted(found, key=lambda each: each["place"])]


def lazy_frees_the_units(share, five):
    """At d = 256, full, dispatch_stall is the third longest wait of not lazy, 14.2 %, and not among the 5 of ours, and
    neither is not_selected, among the 5 of not lazy; these two alone leave.

    In words: third, no, longer, not.
    """
    assert rounded(_waits("not lazy", "dispatch_stall")[256, False], share) == share
    assert _five("not lazy")[2] == "dispatch_stall"
    assert {*_five("not lazy")} - {*_five("hopper_attention")} == {"dispatch_stall", "not_selected"}
    assert len(_five("hopper_attention")) == five


def lazy_waits_for_results(short, products, five, before, after):
    """At d = 256, full, short_scoreboard, 8.9 %, and gmma, 6.0 %, are among the 5 of ours alone, and wait is 17.3 % of
    not lazy and 21.1 of ours.

    In words: short, rises.
    """
    found = [_waits(form, "wait")[256, False] for form in ("not lazy", "hopper_attention")]
    assert (rounded(found[0], before), rounded(found[1], after)) == (before, after)
    for reason, share in (("short_scoreboard", short), ("gmma", products)):
        assert rounded(_waits("hopper_attention", reason)[256, False], share) == share
    assert {*_five("hopper_attention")} - {*_five("not lazy")} == {"short_scoreboard", "gmma"}
    assert len(_five("not lazy")) == five


def the_choice_was_at_worst(worst):
    """Forward the chosen rung takes at most 1.12 times as long as the fastest in BF16.

    In words: worst, slow, fastest, bf16.
    """
    assert rounded(max(found["ratio"] for found in rows("fastest_rung", "bf16_forward")), worst) == worst


def the_choice_in_fp32(worst, head_dim, n):
    """Forward the chosen rung takes at most 1.78 times as long as the fastest in FP32, causal, at d = 64 and N = 64.

    In words: worst, causal, only.
    """
    found = max(rows("fastest_rung", "fp32_forward"), key=lambda found: found["ratio"])
    assert rounded(found["ratio"], worst) == worst
    assert (found["causal"], found["head_dim"], found["n_q"], found["n_k"]) == (True, head_dim, n, n)


def fp32_training_is_right():
    """With a gradient the chosen rung is the fastest in every setting in FP32. In words: always, fastest, fp32."""
    assert {found["ratio"] for found in rows("fastest_rung", "fp32_both")} == {1}


def three_lines_train_nothing_in_bf16():
    """With a gradient the three lines are fastest in no setting in BF16. In words: no, fastest."""
    assert "reference" not in [found["fastest"] for found in rows("fastest_rung", "bf16_both")]


def bf16_training(worst):
    """In BF16 with a gradient the chosen kernel takes at most 1.09 times as long as the fastest.

    In words: worst, slow.
    """
    assert rounded(max(found["ratio"] for found in rows("fastest_rung", "bf16_both")), worst) == worst


def _back(form, **wanted):
    """The median of the backward pass of a form, by head dimension, length and mask."""
    found = rows("hopper_backward", "backward", form=form, **wanted)
    return {(each["head_dim"], each["n"], each["causal"]): each["median"] for each in found}


def back_is_ahead(least, most):
    """The backward pass is ahead of cuDNN in every setting, by its interval, and by 8 to 44 %.

    In words: ahead, cudnn, every.
    """
    found = rows("hopper_backward", "backward", form="hopper")
    assert len(found) == 18 and min(each["low"] for each in found) > 1
    gains = [100 * (each["ratio"] - 1) for each in found]
    assert (rounded(min(gains), least), rounded(max(gains), most)) == (least, most)


def one_order_costs(least, most):
    """At d = 64 and 128 the pass that adds in one order takes 1.3 to 1.7 times as long as the other. In words: long."""
    ordered, other = _back("deterministic"), _back("hopper")
    found = [ordered[key] / other[key] for key in other if key[0] < 256]
    assert (rounded(min(found), least), rounded(max(found), most)) == (least, most)


def one_order_is_free_at_256():
    """At d = 256 both forms take the same time to 2 %. In words: long, before."""
    ordered, other = _back("deterministic", head_dim=256), _back("hopper", head_dim=256)
    assert all(close(ordered[key], other[key], 0.02) for key in other)


def back_at_256_beside_portable(head_dim, least, most):
    """At d = 256 the pass for Hopper takes 0.44 to 0.52 of the time of the portable pass."""
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
    """Eager, SDPA's call takes the host 0.38 to 0.60 of the time of ours: forward, with gradients, and in decode.

    In words: -; sdpa.
    """
    host = _calls("host", "eager")
    ours = {"forward": "hopper_attention", "both": "hopper_attention", "decode": "decode_attention"}
    found = [host[work, "sdpa"] / host[work, form] for work, form in ours.items()]
    assert (rounded(min(found), least), rounded(max(found), most)) == (least, most)


def sdpas_call_by_the_dispatcher(least, most):
    """Eager, SDPA's call takes the host 0.36 to 0.48 of the time of ours by way of the dispatcher: both, forward."""
    host = _calls("host", "eager")
    found = [host[work, "sdpa"] / host[work, "attention"] for work in ("forward", "both")]
    assert (rounded(min(found), least), rounded(max(found), most)) == (least, most)


def aims_are_met_by_five(met, calls, portable, hopper, dispatcher):
    """Eager, 5 of 8 calls take the host at most what was aimed at, 45, 45, 55, 50, 30 and 320 µs; both passes take 402
    by the portable kernels, 458 by our kernel for Hopper and 486 by way of the dispatcher.

    In words: both, not.
    """
    host, aims = _calls("host", "eager"), {"forward": 45, "decode": 50, "append": 30, "both": 320}
    ours = {call: took for call, took in host.items() if call[0] in aims and call[1] != "sdpa"}
    over = {
        call: rounded(took, hopper)
        for call, took in ours.items()
        if took > (55 if call == ("forward", "attention") else aims[call[0]])
    }
    wanted = ("both", "flash_attention"), ("both", "hopper_attention"), ("both", "attention")
    assert over == dict(zip(wanted, (portable, hopper, dispatcher), strict=True))
    assert (len(ours), len(ours) - len(over)) == (calls, met)


def both_passes_sway(fifths, *typed):
    """Eager, the 3 fifths in the middle of the rounds of both passes go from 325 to 513 µs by the portable kernels,
    from 357 to 511 by our kernel for Hopper, and from 401 to 605 by way of the dispatcher.
    """
    found = [
        rounded(row("host_cost", "host_cost", work="both", form=form, way="eager")[of], typed[0])
        for form in ("flash_attention", "hopper_attention", "attention")
        for of in ("p20", "p80")
    ]
    assert found == list(typed) and fifths * 20 == 80 - 20


def by_sdpas_call(least, most):
    """Eager, ours take the host 1.70 to 2.71 times as long as SDPA's call of the same round. In words: long."""
    ratios = [ratio for (work, form), ratio in _calls("ratio", "eager").items() if ratio and form != "sdpa"]
    assert len(ratios) == 7 and (rounded(min(ratios), least), rounded(max(ratios), most)) == (least, most)


def a_graph_costs_the_host(least, most):
    """A call as a graph takes the host 3 to 5 µs, whatever it is."""
    found = _calls("host", "graph").values()
    assert (rounded(min(found), least), rounded(max(found), most)) == (least, most)


def a_graph_is_a_small_part():
    """As a graph each form of our attention takes the host less than an eighth of its call: forward, both, decode.

    In words: none, less, eighth.
    """
    graph, eager = _calls("host", "graph"), _calls("host", "eager")
    ours = [(work, form) for work, form in eager if work in ("forward", "both", "decode") and form != "sdpa"]
    assert len(ours) == 7 and all(graph[call] < eager[call] / 8 for call in ours)
