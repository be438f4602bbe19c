"""What chapter 4 and its sheet claim in words."""

from itertools import accumulate

from kernels.bench.cost import attention_flops, eager_traffic, mb, qkvo_bytes, square_bytes
from kernels.bench.hardware import H200
from tests.claims.rows import chip, close, rounded, row, rows

N, D = 8192, 128
SQUARE, LEAST = square_bytes(N, 2), qkvo_bytes(N, D, 2)
STEPS = eager_traffic(N, D, 2)  # QKᵀ, scale, softmax, PV
ONE_MATMUL = attention_flops(N, D) / 2  # FLOP


def _whole(form):
    return row("hbm_traffic", "whole", form=form)


def _counted(form="attention", caches="flushed"):
    """The kernels of a form: of the three lines QKᵀ, scale, softmax, PV."""
    return rows("hbm_traffic", "counted", form=form, caches=caches)


def _moved(kernel):
    return kernel["read"] + kernel["written"]  # MB


def _of_a_copy(kernel):
    """Its bytes a second as a part of a copy's."""
    return 1e9 * _moved(kernel) / kernel["time"] / chip("hbm copy")


def _softmax(length):
    return row("roofline", "softmax", row=length)


def _to_the_roof():
    return {found["step"]: found["to_the_roof"] for found in rows("roofline", "reached")}


def _prefill(form):
    """n -> what was measured of a form with 16 heads of 128, in full."""
    found = rows("prefill_speed", "forward_128", form=form, causal=False)
    return {each["n"]: each for each in found if each["median"]}


def _floors(n):
    """The times in ms that the bytes alone and the arithmetic alone of the three lines would take."""
    moved = sum(step.read + step.written for step in eager_traffic(n, D, 2, 16, 16384 // n))
    arithmetic = attention_flops(n, D, 16, 16384 // n) / chip("bf16 matmul")
    return 1e3 * moved / chip("hbm copy"), 1e3 * arithmetic


def _above_the_floor():
    """n -> by what part of it the three lines lie above the floor of memory."""
    return {n: found["median"] / _floors(n)[0] - 1 for n, found in _prefill("attention").items()}


def idle_nine_tenths():
    """At N = 8192 the arithmetic at the maker's peak is less than a tenth of the time: more than 0.9 is left.

    In words: more, tenths.
    """
    arithmetic = 1e3 * attention_flops(N, D, 16, 2) / chip("bf16 peak")
    assert 1 - arithmetic / _prefill("attention")[N]["median"] > 0.9


def the_bytes_alone_take(copied, taken):
    """At N = 8192 a copy of the bytes of the three lines takes so many of so many ms, to the printed digits."""
    assert rounded(_floors(N)[0], copied) == copied
    assert rounded(_prefill("attention")[N]["median"], taken) == taken


def most_of_the_rest_is_the_softmax():
    """Of what one head's kernels take beyond a copy of their bytes, the softmax takes more than 0.9.

    As much for each of 32 heads is 0.9 to 1 of what the three lines take at N = 8192 beyond a copy.

    In words: most, slow.
    """
    beyond = [
        kernel["time"] - 1e3 * (step.read + step.written) / chip("hbm copy")
        for kernel, step in zip(_counted(), STEPS, strict=True)
    ]
    assert beyond[2] / sum(beyond) > 0.9
    assert 0.9 < 32 * beyond[2] / (_prefill("attention")[N]["median"] - _floors(N)[0]) < 1


def lines_reach_of_the_limit(percent):
    """What part of the limit, which at N = 8192 is arithmetic, the three lines reach, to the printed digit."""
    flops, least = attention_flops(N, D, 16, 2), qkvo_bytes(N, D, 2, 16, 2)
    limit = 1e3 * max(flops / chip("bf16 peak"), least / chip("hbm bandwidth"))
    assert f"{100 * limit / _prefill('attention')[N]['median']:.1f}" == str(percent)


def four_trips_reach_a_fifth():
    """The arithmetic takes 19 to 23 % of what four trips and the small tables take at the maker's bandwidth.

    In words: fifth.
    """
    trips = (4 * SQUARE + LEAST) / chip("hbm bandwidth")
    assert 0.19 < attention_flops(N, D) / chip("bf16 peak") / trips < 0.23


def flushed_counts_squares(squares):
    """Flushed, the three lines move this many squares, to the printed digit."""
    assert f"{1e6 * _whole('attention')['flushed'] / SQUARE:.1f}" == str(squares)


def kept_counts_squares(squares):
    """Kept, the three lines move this many squares, to the printed digits."""
    assert f"{1e6 * _whole('attention')['kept'] / SQUARE:.2f}" == str(squares)


def half_a_per_cent():
    """Kept, the bytes read are 0.3 to 0.7 % fewer than predicted, and the bytes written as much more.

    In words: read, half, fewer, written, half, more.
    """
    for moved, sign in (("read", -1), ("written", 1)):
        predicted = mb(sum(getattr(step, moved) for step in STEPS))
        counted = sum(kernel[moved] for kernel in _counted(caches="kept"))
        assert 0.003 < sign * (counted / predicted - 1) < 0.007


def pv_writes_late_shares():
    """Kept, PV writes more than twice as much as its output takes. In words: most, left, behind."""
    assert _counted(caches="kept")[3]["written"] > 2 * mb(LEAST / 4)


def the_account_of_late_bytes():
    """Kept, less than half of L2 is made and not written after each of three kernels; after PV less than a table.

    In words: after, after, after, less, half, l2, after, small.
    """
    made = [SQUARE, SQUARE, SQUARE, LEAST / 4]
    pairs = zip(made, _counted(caches="kept"), strict=True)
    account = list(accumulate(size - 1e6 * kernel["written"] for size, kernel in pairs))
    assert all(0 < late < chip("l2") / 2 for late in account[:3]) and abs(account[3]) < LEAST / 4
    late = [SQUARE - 1e6 * kernel["written"] for kernel in _counted()[:3]]
    assert 0 < max(late) < chip("l2") / 2  # flushed, too


def the_scale_reads_it_all():
    """Kept, the scale reads a whole square, to 1 %. In words: reads, hbm."""
    assert close(1e6 * _counted(caches="kept")[1]["read"], SQUARE, 0.01)


def qk_is_read_more_than_once():
    """Flushed, QKᵀ reads more than 1.2 times what is predicted. In words: reads."""
    assert _counted()[0]["read"] > 1.2 * mb(STEPS[0].read)


def bars_of_the_four_kernels(*whole):
    """The times of the four kernels are as 1, 1.5, 5 and 1, to 10 %; of 1½ only the 1 is handed over.

    In words: long.
    """
    bars = (1, 1.5, 5, 1)
    assert [int(bar) for bar in bars] == list(whole)
    unit = sum(kernel["time"] for kernel in _counted()) / sum(bars)
    assert all(close(kernel["time"], bar * unit, 0.1) for kernel, bar in zip(_counted(), bars, strict=True))


def three_quarters_of_the_time():
    """Scale and softmax take more than three quarters of the time of the four kernels.

    In words: more, quarters; quarters.
    """
    _, scale, softmax, _ = (kernel["time"] for kernel in _counted())
    assert (scale + softmax) / sum(kernel["time"] for kernel in _counted()) > 0.75


def matmuls_are_held_back():
    """Both matmuls stay below half of a large one's speed; a copy of their bytes takes longer than their FLOP.

    In words: both, below, half, large, longer.
    """
    for kernel in (_counted()[0], _counted()[3]):
        assert 1e3 * ONE_MATMUL / kernel["time"] < chip("bf16 matmul") / 2
        assert 1e6 * _moved(kernel) / chip("hbm copy") > ONE_MATMUL / chip("bf16 matmul")


def the_scale_runs_like_a_copy():
    """The scale moves its bytes at 0.9 of a copy's speed or more. In words: tenths, more."""
    assert 0.9 < _of_a_copy(_counted()[1]) < 1


def the_softmax_runs_at_a_third():
    """The softmax moves its bytes at 28 to 38 % of a copy's speed. In words: third."""
    assert 0.28 < _of_a_copy(_counted()[2]) < 0.38


def our_softmax_moves_three_times_as_much():
    """Our softmax moves three times, 2.7 to 3.3, the bytes of PyTorch's, in the same time to 5 %.

    In words: many, each, twice, same.
    """
    ours, theirs = _counted("three_kernel_attention")[1], _counted()[2]
    assert 2.7 < _moved(ours) / _moved(theirs) < 3.3 and close(ours["time"], theirs["time"], 0.05)


def four_softmax_kernels():
    """Over the lengths of a row the profiler names four kernels, ending in Reg at 8192 and in Smem at 16,384."""
    kernels = {found["row"]: found["kernel"] for found in rows("roofline", "softmax") if found["row"] is not None}
    assert len(set(kernels.values())) == 4
    assert kernels[8192].endswith("Reg") and kernels[16384].endswith("Smem")


def half_the_time_of_the_softmax():
    """PyTorch's softmax at 16,384 and ours at 8192 take 47 to 53 % of the time of PyTorch's at 8192.

    In words: half, half.
    """
    for time in (_softmax(16384)["time"], _softmax(8192)["ours"]):
        assert abs(time / _softmax(8192)["time"] - 0.5) < 0.03


def our_softmax_is_within_a_tenth():
    """In rows of 2048 our softmax moves 90 to 100 % of what a copy moves in a second. In words: tenth."""
    assert 0.9 < _softmax(2048)["our_speed"] / _softmax(None)["speed"] < 1


def nine_numbers_a_thread():
    """With 1024 threads a row, 8192 numbers are no more than nine a thread, and 16,384 are more. In words: each."""
    assert 8192 / 1024 <= 9 < 16384 / 1024


def blocks_of_1024_threads():
    """With 32 registers of 4 bytes a thread, an SM has room for two blocks of 1024 threads. In words: only."""
    assert chip("registers per SM") / 4 / 32 == 2 * 1024


def counted_bytes_lie_right_of_d():
    """With counted bytes, flushed or kept, QKᵀ does more than 128 FLOP a byte."""
    for caches in ("flushed", "kept"):
        assert ONE_MATMUL / (1e6 * _moved(_counted(caches=caches)[0])) > D
    assert row("roofline", "reached", step="QKᵀ")["flop_a_byte"] > D


def near_and_far_below_the_roof():
    """Scale and PV reach more than 80 % of the roof, the softmax less than a third and less than half of QKᵀ's part.

    In words: below, below.
    """
    part = _to_the_roof()
    assert part["softmax"] < 1 / 3 and min(part["scale"], part["PV"]) > 0.8
    assert part["PV"] > part["QKᵀ"] > 2 * part["softmax"]


def qk_is_in_between():
    """QKᵀ takes between a fifth and a quarter longer than a copy of the bytes that are predicted for it.

    In words: fifth, quarter, longer, all, reads, writes.
    """
    copied = 1e3 * (STEPS[0].read + STEPS[0].written) / chip("hbm copy")
    assert 1 / 5 < _counted()[0]["time"] / copied - 1 < 1 / 4


def the_floor_of_memory_is_higher():
    """At each N the bytes take 5 to 7 times as long as the arithmetic. In words: each, high; each, long."""
    for n in _prefill("attention"):
        memory, arithmetic = _floors(n)
        assert 5 < memory / arithmetic < 7


def above_the_floor_of_memory():
    """At 512 the three lines lie 1/8 above the floor, to 2 %; the gap grows up to 8192, to two thirds within 0.03.

    In words: eighth, above, grows, thirds, above.
    """
    above = _above_the_floor()
    assert abs(above[512] - 1 / 8) < 0.02 and abs(above[8192] - 2 / 3) < 0.03
    assert all(above[n] < above[2 * n] for n in (512, 1024, 2048, 4096))


def two_thirds_above_the_floor():
    """At 8192 the three lines lie two thirds above the floor, within 0.03. In words: thirds, above."""
    assert abs(_above_the_floor()[8192] - 2 / 3) < 0.03


def from_8192_to_16384():
    """From 8192 to 16,384 words the time grows by less than a half. In words: grows, less, half."""
    times = _prefill("attention")
    assert 1 < times[16384]["median"] / times[8192]["median"] < 1.5


def back_within_a_sixth():
    """At 16,384 words the three lines lie between a tenth and a sixth above the floor of memory. In words: sixth."""
    assert 0.1 < _above_the_floor()[16384] < 1 / 6


def h200_lowers_the_floor():
    """With an H200's bandwidth the floor of memory is less than a third lower. In words: less, third."""
    assert 0 < 1 - chip("hbm bandwidth") / H200["hbm bandwidth"].value < 1 / 3


def fused_passes_the_slope():
    """Fused, more than 3/4 of a large matmul's speed is reached, which is above 124 FLOP a byte on the slope.

    In words: more, quarters, large, not, near.
    """
    bound = D / (1 + 2 * D / N) * chip("hbm bandwidth")
    assert 1e12 * _prefill("flash_attention")[8192]["speed"] > 0.75 * chip("bf16 matmul") > bound


def a_matmul_wrote_part(written, made):
    """Flushed, QKᵀ wrote so many MB of an output of so many."""
    assert (round(_counted()[0]["written"]), round(mb(SQUARE))) == (written, made)


def fused_seven_to_eight_times():
    """At 8192 the three lines take 7 to 8 times as long as FlashAttention. In words: falls, fast; fast."""
    assert 7 < _prefill("attention")[8192]["median"] / _prefill("flash_attention")[8192]["median"] < 8
