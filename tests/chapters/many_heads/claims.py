"""What chapter 2 claims in words."""

from math import exp, log2, sqrt

from kernels.bench.cost import attention_flops
from scripts import records
from tests.claims.rows import chip, row, rows

HEADS = 8
FORMS = ("loop", "at_once")
SHORT, LONG = 128, 2048


def _counted(form, kind):
    return row("kernel_launches", "by_kind", form=form, kind=kind)["launches"]


def _names(form):
    return {each["kernel"] for each in rows("kernel_launches", "by_name", form=form)}


def _matmuls(form):
    return {name for name in _names(form) if name.startswith("nvjet_sm90_")}


def _times(n):
    """The times of the loop and of all heads at once."""
    return [row("kernel_launches", "times", form=form, n=n) for form in FORMS]


def _spans(n):
    return [row("launch_timeline", "spans", form=form, n=n) for form in FORMS]


def _events(form, n, side):
    return rows("launch_timeline", "events", form=form, n=n, side=side)


def _kernels(form, n):
    """name -> the row of each kernel that the profiler timed."""
    return {each["kernel"]: each for each in rows("launch_timeline", "by_kernel", form=form, n=n)}


def _projections(form, n):
    """The kernels that the projections with a bias take: a whole number of times a head in the loop."""
    return [each for name, each in _kernels(form, n).items() if name.startswith("nvjet") and "_bias_" in name]


def _each_takes(kernels):
    return sum(each["together"] for each in kernels) / sum(each["times"] for each in kernels)


def a_late_mask_loses_half():
    """The second word, with the scores 1, 1 and 2, keeps half of its shares, to 1 %. In words: half."""
    first, second, third = (exp(score / sqrt(2)) for score in (1, 1, 2))
    assert abs((first + second) / (first + second + third) - 0.5) < 0.01


def the_names_of_48_and_6():
    """The names are of 48 kernels, 41 matmuls with the output's, and of 6; the loop has 58, the other form 9.

    In words: right.
    """
    assert [_counted("loop", kind) for kind in ("all", "matmul")] == [7 * HEADS + 2, 3 * HEADS + 2 * HEADS + 1]
    assert [_counted("at_once", kind) for kind in ("all", "matmul")] == [9, 6]


def elementwise_kernels():
    """The loop launches 8 elementwise kernels, all heads at once two. In words: all."""
    assert [_counted(form, "elementwise") for form in FORMS] == [HEADS, 2]


def both_forms_are_alike():
    """The largest difference between the outputs of the two forms is printed as 0. In words: fp16, not, last."""
    (said,) = records.read("kernel_launches").outputs["same"]
    assert "largest difference of the outputs 0e+00" in said["text"]


def matmuls_are_of_one_family():
    """Each form's matmuls include kernels named nvjet_sm90; the two forms do not use the same ones."""
    loop, at_once = map(_matmuls, FORMS)
    assert loop and at_once and loop != at_once


def the_loop_takes_five_times_as_long():
    """On the short input the loop takes 5 to 6 times as long, with 6 to 7 times as many launches.

    In words: more, long, same, more, many; short, more, long, all.
    """
    loop, at_once = _times(SHORT)
    assert 5 < loop["wall"] / at_once["wall"] < 6
    assert 6 < _counted("loop", "all") / _counted("at_once", "all") < 7


def the_gpu_idles_for_seven_eighths():
    """On the short input the loop's replay takes an eighth of its time, to 5 %: the other seven are idle."""
    loop, _ = _times(SHORT)
    assert abs(8 * loop["replayed"] / loop["wall"] - 1) < 0.05


def bare_launches_take_less_than_a_third(count, time):
    """As many of the smallest launches as the loop has take so many ms, less than a third of its time.

    In words: smallest, less, third.
    """
    assert count == _counted("loop", "all")
    bare = 1e-3 * float(count) * row("kernel_launches", "one_launch", side="host")["median"]
    assert round(bare, 2) == float(time) and 1 / 4 < bare / _times(SHORT)[0]["wall"] < 1 / 3


def _best_share(n, batch, width=512):
    """What part of the least time that the chip needs, of the time that the best form takes."""
    flops = 4 * 2 * batch * n * width**2 + attention_flops(n, width // HEADS, HEADS, batch)
    moved = 2 * (2 * batch * n * width + 4 * width**2)
    least = 1e3 * max(flops / chip("bf16 peak"), moved / chip("hbm bandwidth"))
    return least / min(each[how] for each in _times(n) for how in ("wall", "replayed"))


def even_the_best_is_far_from_the_limit(long, short):
    """The best of both forms, replayed or not, reaches so many percent of the limit.

    In words: long, best, only, short.
    """
    assert round(100 * _best_share(LONG, batch=8)) == long
    assert round(100 * _best_share(SHORT, batch=1)) == short


def the_long_loop_takes_an_eighth_longer():
    """On the long input the loop takes an eighth longer, to a seventh of that, with 5 to 5.5 times the launches.

    In words: only, eighth, longer, many; eighth, slower, long; long, eighth, longer.
    """
    loop, at_once = _times(LONG)
    assert abs(log2(8 * (loop["wall"] / at_once["wall"] - 1))) < 0.2
    assert all(1 < each["wall"] / each["replayed"] < 1.15 for each in (loop, at_once))  # the host hardly shows
    loop, at_once = _spans(LONG)
    assert 5 <= loop["kernels"] / at_once["kernels"] < 5.5


def three_more_copies():
    """For several sequences all heads at once launch three more copies, 13 kernels; for one sequence 9.

    In words: more.
    """
    assert [each["kernels"] for each in _spans(SHORT)] == [7 * HEADS + 2, 9]
    assert [each["kernels"] for each in _spans(LONG)] == [8 * HEADS + 2, 9 + 3 + 1]
    assert _kernels("at_once", LONG)["elementwise_kernel"]["times"] == 1 + 3


def memory_is_cleared_before_qk():
    """A Memset runs before each QKᵀ, the matmul before the scaling: 8 times in the loop, once in the other form.

    In words: before, every.
    """
    assert [_kernels(form, LONG)["Memset"]["times"] for form in FORMS] == [HEADS, 1]
    for form in FORMS:
        names = [each["name"] for each in _events(form, LONG, "device")]
        for at, name in enumerate(names):
            assert (name == "Memset") == (names[at + 2 : at + 3] == ["vectorized_elementwise_kernel"])


def watching_takes_a_third():
    """The loop's short call takes between a quarter and a third longer under the profiler.

    In words: short, third, longer.
    """
    assert 1.25 < _spans(SHORT)[0]["done"] / (1e3 * _times(SHORT)[0]["wall"]) < 4 / 3


def _waits(form, n):
    """For each kernel, the microseconds from the end of its launch to its start."""
    pairs = zip(_events(form, n, "host"), _events(form, n, "device"), strict=True)
    return [kernel["start"] - host["start"] - host["duration"] for host, kernel in pairs]


def the_gpu_waits_on_short_input():
    """On the short input each kernel starts less than 5 µs after its launch, and ends before the next launch begins.

    In words: each, before.
    """
    for form in FORMS:
        hosts, kernels = _events(form, SHORT, "host"), _events(form, SHORT, "device")
        assert max(_waits(form, SHORT)) < 5
        ends = [kernel["start"] + kernel["duration"] for kernel in kernels]
        assert all(end < host["start"] for end, host in zip(ends, hosts[1:], strict=False))


def the_host_gets_ahead_on_long_input():
    """The first 3 kernels start within 5 µs; from the 9th on each waits longer, and pauses are below 5 µs.

    In words: first, short, after, each, long, ahead, each, before.
    """
    for form in FORMS:
        waits, kernels, last = _waits(form, LONG), _events(form, LONG, "device"), _events(form, LONG, "host")[-1]
        ends = [kernel["start"] + kernel["duration"] for kernel in kernels]
        pauses = [after["start"] - end for end, after in zip(ends, kernels[1:], strict=False)]
        assert max(waits[:3]) < 5 < min(waits[8:]) and max(pauses[8:]) < 5
        assert last["start"] + last["duration"] < kernels[-1]["start"]


def a_fifth_is_launching():
    """In both forms the launching calls take 18 to 22 % of the host's time on the short input. In words: fifth."""
    assert all(0.18 < each["calls"] / each["launching"] < 0.22 for each in _spans(SHORT))


def replayed_four_times_as_long():
    """Replayed on the short input, the loop takes 4 to 5 times as long as the other form. In words: long."""
    loop, at_once = _times(SHORT)
    assert 4 < loop["replayed"] / at_once["replayed"] < 5


def a_larger_matmul_takes_hardly_longer():
    """With eight times the outputs a matmul with a bias takes at most a tenth longer, on the short input.

    In words: writes, many, hardly, longer.
    """
    assert 1 < _each_takes(_projections("at_once", SHORT)) / _each_takes(_projections("loop", SHORT)) < 1.1


def the_loop_has_small_tiles():
    """24 of the loop's matmuls on the short input, one for each projection of a head, have 8x64 in their name."""
    small = [each for each in rows("kernel_launches", "by_name", form="loop") if "_8x64_" in each["kernel"]]
    assert 3 * HEADS in [each["times"] for each in small]


def half_lies_in_the_kernels():
    """Of what the loop takes longer on the long input, 40 to 60 % is time in which the GPU is busy. In words: half."""
    busy, wall = (
        [each["busy"] for each in _spans(LONG)],
        [1e3 * each["wall"] for each in _times(LONG)],
    )
    assert 0.4 < (busy[0] - busy[1]) / (wall[0] - wall[1]) < 0.6


def cut_projections_and_copies():
    """Cut, the projections take three times as long, 2.9 to 3.1; four copies take half to all of what that gains.

    In words: long, longer, all, gain, more, half, gain.
    """
    (cut,) = (each for each in _projections("loop", LONG) if each["times"] == 3 * HEADS)
    uncut = 3 * _each_takes(_projections("at_once", LONG))
    assert 2.9 < cut["together"] / uncut < 3.1
    softmax = [_kernels(form, LONG)["softmax_warp_forward"]["together"] for form in FORMS]
    assert softmax[0] > softmax[1]
    copies = _kernels("at_once", LONG)["elementwise_kernel"]["together"]
    assert 0.5 < copies / (cut["together"] - uncut + softmax[0] - softmax[1]) < 1


def replayed_differ_by_half():
    """Replayed, the two forms differ on the long input by 40 to 60 % of what they differ otherwise.

    In words: differ, half.
    """
    wall, replayed = ([each[how] for each in _times(LONG)] for how in ("wall", "replayed"))
    assert 0.4 < (replayed[0] - replayed[1]) / (wall[0] - wall[1]) < 0.6


def both_end_at_the_same_time():
    """Under the profiler both forms end within 5 % of each other on the long input. In words: both, same, long."""
    loop, at_once = _spans(LONG)
    assert 0.95 < loop["done"] / at_once["done"] < 1.05
