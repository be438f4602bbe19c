"""What chapter 5 and its sheet claim in words.  Of the compiled kernel it needs torch and Triton."""

from decimal import Decimal
from itertools import pairwise
from math import exp

from kernels.bench.cost import mb, qkvo_bytes, requested_bytes
from scripts.chapters import plot
from tests.claims.compiled import rungs
from tests.claims.rows import close, rounded, row, rows

LARGEST_FP32 = (2 - 2**-23) * 2.0**127
TABLE = qkvo_bytes(1024, 128, 2) // 4  # K of one head, in bytes
THREADS, REGISTERS = 128, 255
H100_RUN = {  # form -> milliseconds at d = 64, 128, 256: prefill_speed, N = 512, on an H100 80GB HBM3, 21 November 2026
    "one_key_attention": (122.4, 63.91, 32.04),
    "key_blocks_attention": (26.78, 24.55, 23.78),
    "attention": (1.276, 0.6923, 0.4083),
    "sdpa_cudnn": (0.1772, 0.1359, 0.1376),
}


def _registers(length):
    """The registers that a thread of the compiled kernel takes for a row of so many keys, heads of 64."""
    return rungs()["registers"]["one_key", length, 64][0]


def _median(form, head_dim):
    wanted = {"form": form, "direction": "forward", "head_dim": head_dim, "n": 512, "causal": False}
    return row("prefill_speed", f"forward_{head_dim}", **wanted)["median"]


def _traffic(caches="flushed"):
    """What was counted of one_key_attention."""
    return row("hbm_traffic", "counted", form="one_key_attention", caches=caches)


def _whole():
    return row("hbm_traffic", "whole", form="one_key_attention")


def _errors(column):
    return {found["form"]: found[column] for found in rows("first_kernel", "errors")}


def _to_stride_1():
    return {found["read"]: found["to_stride_1"] for found in rows("coalescing", "reads")}


def _meeting():
    """n -> what one meeting of a query with a key costs."""
    return {found["n"]: found["one_meeting"] for found in rows("first_kernel", "growth")}


def scores_above_88_7_overflow(score):
    """The exponential of this score fits in FP32, and that of 0.03 more does not. In words: above."""
    assert exp(score) < LARGEST_FP32 < exp(score + Decimal("0.03"))


def registers_of_a_thread(count):
    """A row of twice 128 numbers a thread is refused, and so many registers are what stands in the way: one too few."""
    assert count == REGISTERS == 2 * THREADS - 1


def one_register_too_few():
    """A row of 32,768 scores over 128 threads takes one register more than the 255 that a thread can have.

    In words: more.
    """
    assert 32_768 // THREADS == REGISTERS + 1


def longest_row_of_one_key(keys):
    """The kernel's LONGEST_ROW is this many keys; compiled for it and heads of 128, a thread does not spill its row.

    In words: more.
    """
    from kernels.first.one_key import LONGEST_ROW

    used, spilled = rungs()["registers"]["one_key", LONGEST_ROW, 128]
    assert keys == LONGEST_ROW and used <= REGISTERS and spilled < LONGEST_ROW // THREADS


def one_key_is_no_worse():
    """PyTorch uses 2/3 of the budget, ours at most 1 % more than that; the head of zeros is rejected.

    In words: no, worse, smaller.
    """
    used, mean = _errors("of_budget"), _errors("mean")
    assert _errors("verdict") == {"pytorch": "passes", "one_key": "passes", "one_head_of_zeros": "REJECTED"}
    assert close(used["pytorch"], 2 / 3, 1e-6)
    assert used["one_key"] < 1.01 * used["pytorch"] < 1 < used["one_head_of_zeros"]
    assert mean["one_key"] < mean["pytorch"] < mean["one_head_of_zeros"] < 0.01


def stride_1_reads_like_a_sum():
    """At stride 1 the kernel reads at more than 95 % of the speed of PyTorch's sum. In words: same."""
    assert row("coalescing", "reads", read="stride_1")["to_torch_sum"] > 0.95


def strides_up_to_8_as_predicted():
    """At strides 2, 4 and 8 the speed is a half, a quarter and an eighth of that at stride 1, to 5 %.

    In words: far; -.
    """
    assert all(close(_to_stride_1()[f"stride_{stride}"], 1 / stride, 0.05) for stride in (2, 4, 8))


def stride_16_is_half_as_fast():
    """At stride 16 the speed is 45 to 55 % of that at stride 8. In words: no, worse, half, fast; half, fast."""
    assert 0.45 < _to_stride_1()["stride_16"] / _to_stride_1()["stride_8"] < 0.55


def sectors_in_pairs_fit():
    """Up to stride 16 the speed goes down as the stride goes up, to 5 %; stride 32 is slower by more than that.

    In words: every.
    """
    assert all(close(_to_stride_1()[f"stride_{stride}"], 1 / stride, 0.05) for stride in (2, 4, 8, 16))
    assert _to_stride_1()["stride_32"] < 0.95 * _to_stride_1()["stride_16"]


def who_writes_the_square_wins():
    """One key at a time takes 50 times as long as the three lines and 200 times as long as the fastest fused form.

    In words: lose; loses.
    """
    for head_dim in (64, 128, 256):
        fused = min(_median(f"sdpa_{backend}", head_dim) for backend in ("flash", "cudnn", "efficient", "math"))
        ours = _median("one_key_attention", head_dim)
        assert ours > 50 * _median("attention", head_dim) and ours > 200 * fused
    backends = ("flash", "cudnn", "efficient")
    assert _median("sdpa_cudnn", 64) == min(_median(f"sdpa_{name}", 64) for name in backends)


def times_the_three_lines(times):
    """At N = 512, in heads of 128, one key at a time takes so many times as long as the three lines. In words: long."""
    assert rounded(_median("one_key_attention", 128) / _median("attention", 128), times) == times


def times_to_open_with(ours, lines):
    """At N = 512, in heads of 128, one key at a time and the three lines take so many ms."""
    for form, typed in (("one_key_attention", ours), ("attention", lines)):
        assert rounded(_median(form, 128), typed) == typed


def _part_of_the_limit(form):
    """In per cent, at N = 512: 16 heads of 128, 32 texts."""
    return 100 * plot.limit(512, 128, 16, 32).time / _median(form, 128)


def three_lines_reach_at_512(percent):
    """The limit is this part, in per cent, of the time of the three lines."""
    assert rounded(_part_of_the_limit("attention"), percent) == percent


def one_key_reaches_at_512():
    """The limit is 0.105 to 0.115 % of the time of one key at a time. In words: ninth."""
    assert 0.105 < _part_of_the_limit("one_key_attention") < 0.115


def _gained(form):
    """How many times as fast a form is as on the H100, at d = 64, 128 and 256."""
    return [then / _median(form, head_dim) for then, head_dim in zip(H100_RUN[form], (64, 128, 256), strict=True)]


def one_key_gained_nothing():
    """At each d one key at a time takes what it took on the H100, to 2 %. In words: same, both."""
    assert all(close(gained, 1, 0.02) for gained in _gained("one_key_attention"))


def both_programs_gained_nothing(percent):
    """At each d one key and blocks of keys take what they took on the H100, to 2 %. In words: same, both."""
    gained = _gained("one_key_attention") + _gained("key_blocks_attention")
    assert percent == 2 and all(close(each, 1, 0.02) for each in gained)


def three_lines_gained(least, most):
    """At d = 64, 128 and 256 the three lines are so many to so many times as fast as on the H100. In words: fast."""
    gained = _gained("attention")
    assert [rounded(min(gained), least), rounded(max(gained), most)] == [least, most]


def fused_gained_little():
    """At each d the fastest fused backend, which is cuDNN's, takes 0.95 to 1.02 times what it took on the H100.

    In words: fastest, nothing.
    """
    assert all(1 / 1.02 < gained < 1 / 0.95 for gained in _gained("sdpa_cudnn"))
    fused = ("flash", "cudnn", "efficient")
    for head_dim in (64, 128, 256):
        assert _median("sdpa_cudnn", head_dim) == min(_median(f"sdpa_{name}", head_dim) for name in fused)


def asked_for_and_delivered(asked, delivered):
    """For one head of 1024 words and 128 numbers so many MB are asked for, and so many come from HBM, flushed.

    In words: hbm.
    """
    assert rounded(_whole()["requested"], asked) == asked and rounded(_whole()["flushed"], delivered) == delivered


def hbm_delivers_q_k_and_v_once():
    """HBM delivers Q, K and V once, to 3 %; asked for is what the library counts."""
    assert _whole()["requested"] == mb(requested_bytes(1024, 128, 2, block_q=1))
    assert close(_whole()["flushed"], mb(3 * TABLE), 0.03)


def the_output_was_in_the_cache():
    """Less than 1 % of the output was written to HBM while the kernel ran."""
    assert _traffic()["written"] < 0.01 * mb(TABLE)


def caches_absorb_almost_all(percent):
    """More than this many per cent, to the printed digits, of what is asked for does not come from HBM.

    In words: more.
    """
    share = Decimal(100 * (1 - _whole()["flushed"] / _whole()["requested"]))
    assert percent < share < percent + Decimal(1).scaleb(percent.as_tuple().exponent)


def kept_caches_leave_nothing():
    """With the caches kept, less is read from HBM than 1 % of what is read with the caches emptied.

    In words: hbm, nothing.
    """
    assert _traffic("kept")["read"] < 0.01 * _traffic()["read"]


def so_few_bytes_take_no_time():
    """At the speed of the read at stride 1 the flushed bytes take less than half a microsecond, and the kernel a ms.

    In words: read, few; read.
    """
    speed = row("coalescing", "reads", read="stride_1")["speed"]  # GB/s, so that MB over it are ms
    assert _whole()["flushed"] / speed < 0.5e-3 < _traffic()["time"]


def l2_would_take(from_l2, kernel):
    """At the speed of L2 all that is asked for takes so many ms, less than a tenth of the kernel's, kept.

    In words: less, tenth.
    """
    found = Decimal(1e-3 * _whole()["requested"] / row("l2_speed", "sizes", size=16)["speed"])
    assert rounded(found, from_l2) == from_l2 and rounded(_traffic("kept")["time"], kernel) == kernel
    assert found < Decimal(_traffic("kept")["time"]) / 10


def l2_would_take_a_tenth():
    """At the speed of L2 all that is asked for takes less than a tenth of the kernel's time, flushed and kept.

    In words: less, tenth.
    """
    from_l2 = 1e-3 * _whole()["requested"] / row("l2_speed", "sizes", size=16)["speed"]  # ms
    assert all(from_l2 < 0.1 * _traffic(caches)["time"] for caches in ("flushed", "kept"))


def time_halves_with_the_heads():
    """From d = 64 to 128 and from 128 to 256 the time falls to 45 to 55 %.

    In words: halved; half, halved.
    """
    times = [_median("one_key_attention", head_dim) for head_dim in (64, 128, 256)]
    assert all(0.45 < after / before < 0.55 for before, after in pairwise(times))


def times_of_the_heads(*said):
    """So many heads of so many numbers take so many ms, three times over; 2048 numbers in all."""
    for heads, head_dim, time in zip(said[::3], said[1::3], said[2::3], strict=True):
        assert heads * head_dim == 2048 and rounded(_median("one_key_attention", int(head_dim)), time) == time


def a_meeting_costs_ten_times_as_much():
    """A meeting costs 9.5 to 10 times as much at 8192 as at 512."""
    assert 9.5 < _meeting()[8192] / _meeting()[512] < 10


def level_up_to_512():
    """At 256 and 512 a meeting costs the same to 3 %. In words: level."""
    assert close(_meeting()[512], _meeting()[256], 0.03)


def doubles_from_4096_to_8192():
    """From 512 on a meeting costs more with every length; from 4096 to 8192 it doubles, to 6 %.

    In words: rises, doubles; doubles.
    """
    assert _meeting()[512] < _meeting()[1024] < _meeting()[2048] < _meeting()[4096]
    assert close(_meeting()[8192], 2 * _meeting()[4096], 0.06)


def meetings_from_512_to_8192(times):
    """At 8192 there are so many times as many meetings as at 512. In words: many."""
    found = {found["n"]: found["meetings"] for found in rows("first_kernel", "growth")}
    assert found[8192] / found[512] == times


def more_than_doubles_at_4096():
    """A meeting costs more than 2.2 times as much at 4096 as at 2048. In words: more, doubles."""
    assert _meeting()[4096] > 2.2 * _meeting()[2048]


def a_longer_row_takes_five_times_the_registers():
    """Compiled for an H100, a thread takes about 5 times, 4.5 to 5.7, as many registers at 8192 as at 512.

    In words: many.
    """
    assert 4.5 < _registers(8192) / _registers(512) < 5.7
