"""What chapter 4 and its sheet claim in words."""

from itertools import accumulate

from kernels.bench.cost import attention_flops, eager_traffic, mb, qkvo_bytes, square_bytes
from kernels.bench.hardware import H100, H200
from scripts import records
from scripts.chapters import plot
from tests.claims.rows import chip, close, rounded, row, rows

N, D = 8192, 128
SQUARE, LEAST = square_bytes(N, 2), qkvo_bytes(N, D, 2)
STEPS = eager_traffic(N, D, 2)  # QKᵀ, scale, softmax, PV
ONE_MATMUL = attention_flops(N, D) / 2  # FLOP

# The same runs on an H100, 21 November 2026: ms of the four kernels and of our softmax, flushed; of the three lines.
H100_KERNELS, H100_OURS, H100_LINES = (0.05552, 0.0856, 0.2661, 0.05133), 0.2679, 14.44


def _speed(name):
    """A constant of the GPU on which this chapter was measured, or what a copy or a large matmul reaches there."""
    return plot.chip("hbm_traffic")[name].value


def _whole(form):
    return row("hbm_traffic", "whole", form=form)


def _counted(form="attention", caches="flushed"):
    """The kernels of a form: of the three lines QKᵀ, scale, softmax, PV."""
    return rows("hbm_traffic", "counted", form=form, caches=caches)


def _moved(kernel):
    return kernel["read"] + kernel["written"]  # MB


def _of_a_copy(kernel):
    """Its bytes a second as a part of a copy's."""
    return 1e9 * _moved(kernel) / kernel["time"] / _speed("hbm copy")


def _softmax(length):
    return row("roofline", "softmax", row=length)


def _to_the_roof():
    """Of both runs, the parts of the maker's roof that the four kernels reach, as bytes, flushed, a second."""
    of_the_slope = [1e9 * _moved(kernel) / kernel["time"] / _speed("hbm bandwidth") for kernel in _counted()]
    names = [step.kernel for step in STEPS]
    yield dict(zip(names, of_the_slope, strict=True))
    yield {found["step"]: found["to_the_roof"] for found in rows("roofline", "reached")}


def _prefill(form):
    """n -> what was measured of a form with 16 heads of 128, in full."""
    found = rows("prefill_speed", "forward_128", form=form, causal=False)
    return {each["n"]: each for each in found if each["median"]}


def _floors(n):
    """The times in ms that the bytes alone and the arithmetic alone of the three lines would take."""
    moved = sum(step.read + step.written for step in eager_traffic(n, D, 2, 16, 16384 // n))
    arithmetic = attention_flops(n, D, 16, 16384 // n) / _speed("bf16 matmul")
    return 1e3 * moved / _speed("hbm copy"), 1e3 * arithmetic


def _above_the_floor():
    """n -> by what part of it the three lines lie above the floor of memory."""
    return {n: found["median"] / _floors(n)[0] - 1 for n, found in _prefill("attention").items()}


def traffic_was_measured_on_an_h200():
    """The runs of this chapter whose times and counts it compares were made on an H200."""
    runs = ("hbm_traffic", "prefill_speed")
    assert {records.read(name).provenance["gpu"] for name in runs} == {"NVIDIA H200"}


def a_copy_moves(terabytes):
    """A copy on the same kind of GPU moves so many TB a second, to the printed digits."""
    assert rounded(_speed("hbm copy") / 1e12, terabytes) == terabytes


def idle_nine_tenths():
    """At N = 8192 the arithmetic at the maker's peak is less than a tenth of the time: more than 0.9 is left.

    In words: more, tenths.
    """
    arithmetic = 1e3 * attention_flops(N, D, 16, 2) / _speed("bf16 peak")
    assert 1 - arithmetic / _prefill("attention")[N]["median"] > 0.9


def half_of_the_time_is_memory():
    """At N = 8192 a copy of the bytes takes 0.45 to 0.55 of the time. In words: half."""
    assert 0.45 < _floors(N)[0] / _prefill("attention")[N]["median"] < 0.55


def the_bytes_alone_take(copied, taken):
    """At N = 8192 a copy of the bytes of the three lines takes so many of so many ms, to the printed digits."""
    assert rounded(_floors(N)[0], copied) == copied
    assert rounded(_prefill("attention")[N]["median"], taken) == taken


def most_of_the_rest_is_the_softmax():
    """Of what one head's kernels take beyond a copy of their bytes, the softmax takes more than 0.9.

    As much for each of 32 heads is 0.9 to 1 of what the three lines take at N = 8192 beyond a copy, which is half.

    In words: most, half, slow.
    """
    half_of_the_time_is_memory()
    beyond = [
        kernel["time"] - 1e3 * (step.read + step.written) / _speed("hbm copy")
        for kernel, step in zip(_counted(), STEPS, strict=True)
    ]
    assert beyond[2] / sum(beyond) > 0.9
    assert 0.9 < 32 * beyond[2] / (_prefill("attention")[N]["median"] - _floors(N)[0]) < 1


def lines_reach_of_the_limit(percent):
    """What part of the limit, which at N = 8192 is arithmetic, the three lines reach, to the printed digit."""
    flops, least = attention_flops(N, D, 16, 2), qkvo_bytes(N, D, 2, 16, 2)
    limit = 1e3 * max(flops / _speed("bf16 peak"), least / _speed("hbm bandwidth"))
    assert f"{100 * limit / _prefill('attention')[N]['median']:.1f}" == str(percent)


def four_trips_reach(percent):
    """How many % the arithmetic takes of what four trips and the small tables take at the maker's bandwidth."""
    trips = (4 * SQUARE + LEAST) / _speed("hbm bandwidth")
    assert rounded(100 * attention_flops(N, D) / _speed("bf16 peak") / trips, percent) == percent


def flushed_counts_squares(squares):
    """Flushed, the three lines move this many squares, to the printed digit."""
    assert f"{1e6 * _whole('attention')['flushed'] / SQUARE:.1f}" == str(squares)


def kept_counts_squares(squares):
    """Kept, the three lines move this many squares, to the printed digits."""
    assert f"{1e6 * _whole('attention')['kept'] / SQUARE:.2f}" == str(squares)


def kept_against_predicted(fewer, more):
    """Kept, by how many % the bytes read are fewer than predicted, and the bytes written more.

    In words: read, fewer, written, more.
    """
    for moved, sign, percent in (("read", -1, fewer), ("written", 1, more)):
        predicted = mb(sum(getattr(step, moved) for step in STEPS))
        counted = sum(kernel[moved] for kernel in _counted(caches="kept"))
        assert rounded(100 * sign * (counted / predicted - 1), percent) == percent


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
    assert all(0 < late < H200["l2"].value / 2 for late in account[:3]) and abs(account[3]) < LEAST / 4


def late_bytes_fill_less_than_half_of_l2():
    """When the first three kernels end, flushed or kept, the most that is made and not written is 0.35 to 0.45 of L2.

    In words: less, half, l2.
    """
    for caches in ("flushed", "kept"):
        late = max(SQUARE - 1e6 * kernel["written"] for kernel in _counted(caches=caches)[:3])
        assert 0.35 < late / H200["l2"].value < 0.45


def the_scale_reads_nearly_all():
    """Kept, the scale reads more than 0.98 of a square. In words: reads, all, hbm; all."""
    assert 0.98 < 1e6 * _counted(caches="kept")[1]["read"] / SQUARE < 1.01


def qk_is_read_more_than_once():
    """Flushed, QKᵀ reads more than 1.2 times what is predicted. In words: reads."""
    assert _counted()[0]["read"] > 1.2 * mb(STEPS[0].read)


def the_matmuls_have_the_short_bars():
    """QKᵀ and PV take less than the scale, which takes less than the softmax. In words: short."""
    qk, scale, softmax, pv = (kernel["time"] for kernel in _counted())
    assert max(qk, pv) < scale < softmax


def one_bar_is_four_times_the_other():
    """The softmax takes four times, 3.8 to 4.2, as long as the scale."""
    assert close(_counted()[2]["time"] / _counted()[1]["time"], 4, 0.05)


def three_quarters_of_the_time():
    """Scale and softmax take more than three quarters of the time of the four kernels.

    In words: more, quarters; quarters.
    """
    _, scale, softmax, _ = (kernel["time"] for kernel in _counted())
    assert (scale + softmax) / sum(kernel["time"] for kernel in _counted()) > 0.75


def matmuls_are_held_back():
    """Both matmuls stay below 3/4 of a large one's speed; a copy of their bytes takes longer than their FLOP.

    In words: both, below, quarters, large, both, longer; below, quarters, large.
    """
    for kernel in (_counted()[0], _counted()[3]):
        assert 1e3 * ONE_MATMUL / kernel["time"] < 0.75 * _speed("bf16 matmul")
        assert 1e6 * _moved(kernel) / _speed("hbm copy") > ONE_MATMUL / _speed("bf16 matmul")


def the_scale_runs_like_a_copy():
    """The scale moves its counted bytes at 0.85 to 0.95 of a copy's speed, so about 0.9. In words: tenths."""
    assert 0.85 < _of_a_copy(_counted()[1]) < 0.95


def the_whole_scale_runs_like_a_copy():
    """The scale moves the bytes that are predicted for it at a copy's speed, to 1/20.

    In words: all, reads, writes, l2, twentieth.
    """
    copied = 1e3 * (STEPS[1].read + STEPS[1].written) / _speed("hbm copy")
    assert close(copied / _counted()[1]["time"], 1, 0.05)


def the_softmax_runs_at_a_quarter():
    """The softmax moves its bytes at 22 to 27 % of a copy's speed. In words: quarter."""
    assert 0.22 < _of_a_copy(_counted()[2]) < 0.27


def alone_the_softmax_runs_at_a_third():
    """In rows of 8192 PyTorch's softmax alone moves its bytes at 31 to 36 % of the speed of that run's copy.

    In words: third.
    """
    assert 0.31 < _softmax(8192)["speed"] / _softmax(None)["speed"] < 0.36


def our_softmax_moves_three_times_as_much():
    """Our softmax moves three times, 2.7 to 3.3, the bytes of PyTorch's, in three quarters, 0.7 to 0.8, of the time.

    In words: many, each, twice, quarters.
    """
    ours, theirs = _counted("three_kernel_attention")[1], _counted()[2]
    assert 2.7 < _moved(ours) / _moved(theirs) < 3.3 and 0.7 < ours["time"] / theirs["time"] < 0.8


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
    """In both runs scale and PV reach 3/4 of the roof, the softmax less than a third and less than half of QKᵀ's part.

    In words: below, below.
    """
    for part in _to_the_roof():
        assert part["softmax"] < 1 / 3 and min(part["scale"], part["PV"]) > 3 / 4
        assert part["PV"] > part["QKᵀ"] > 2 * part["softmax"]


def qk_is_in_between():
    """QKᵀ takes between 2/5 and 1/2 longer than a copy of the bytes that are predicted for it.

    In words: half, longer, all, reads, writes.
    """
    copied = 1e3 * (STEPS[0].read + STEPS[0].written) / _speed("hbm copy")
    assert 2 / 5 < _counted()[0]["time"] / copied - 1 < 1 / 2


def _gained(step, typed):
    """How many times as fast as on an H100 one of the four kernels is."""
    assert rounded(H100_KERNELS[step] / _counted()[step]["time"], typed) == typed


def qk_gained(times):
    """How many times as fast as on an H100 QKᵀ is."""
    _gained(0, times)


def scale_gained(times):
    """How many times as fast as on an H100 the scale is."""
    _gained(1, times)


def softmax_gained(times):
    """How many times as fast as on an H100 PyTorch's softmax is."""
    _gained(2, times)


def pv_gained(times):
    """How many times as fast as on an H100 PV is."""
    _gained(3, times)


def our_softmax_gained(times):
    """How many times as fast as on an H100 our own softmax is."""
    assert rounded(H100_OURS / _counted("three_kernel_attention")[1]["time"], times) == times


def a_copy_gained(times):
    """How many times as fast as on an H100, in the registry's run, a copy is. In words: fast."""
    assert rounded(_speed("hbm copy") / H100["hbm copy"].value, times) == times


def the_lines_gained(then, now, less, gained):
    """From what ms on an H100 to what the three lines came at N = 8192, by how many ms, and how many times as fast.

    In words: fast.
    """
    assert float(then) == H100_LINES and rounded(_prefill("attention")[N]["median"], now) == now == then - less
    the_lines_became(gained)


def the_lines_became(gained):
    """How many times as fast as on an H100 the three lines are at N = 8192. In words: only, fast; fast."""
    assert rounded(H100_LINES / _prefill("attention")[N]["median"], gained) == gained


def the_gains_add_up(lines, head, together, heads):
    """What the kernels of three lines gained for one head, in ms, and for all heads: what the lines gained, to 5 %.

    In words: both.
    """
    gained = sum(H100_KERNELS) - sum(kernel["time"] for kernel in _counted())
    assert (lines, heads) == (3, 32)
    assert rounded(gained, head) == head and rounded(32 * gained, together) == together
    assert close(32 * gained, H100_LINES - _prefill("attention")[N]["median"], 0.05)


def parts_of_the_slope(*parts):
    """What part of the maker's slope QKᵀ, scale, softmax and PV reach in the run of the counts, flushed."""
    found, _ = _to_the_roof()
    assert [rounded(part, like) for part, like in zip(found.values(), parts, strict=True)] == list(parts)


def the_floor_of_memory_is_higher():
    """At each N the bytes take 4 times, 3.6 to 4.4, as long as the arithmetic. In words: each, high; each, long."""
    for n in _prefill("attention"):
        memory, arithmetic = _floors(n)
        assert close(memory / arithmetic, 4, 0.1)


def above_the_floor_of_memory():
    """At 512 the three lines lie 1/4 above the floor, to 2 %; the gap grows up to 8192, to more than twice the floor.

    In words: quarter, above, grows, more, twice, high.
    """
    above = _above_the_floor()
    assert abs(above[512] - 1 / 4) < 0.02
    assert all(above[n] < above[2 * n] for n in (512, 1024, 2048, 4096))
    twice_the_floor()


def twice_the_floor():
    """At 8192 the three lines take 2 to 2.1 times as long as the floor. In words: more, twice, long."""
    assert 1 < _above_the_floor()[8192] < 1.1


def from_8192_to_16384():
    """From 8192 to 16,384 words the time grows by less than a half. In words: grows, less, half."""
    times = _prefill("attention")
    assert 1 < times[16384]["median"] / times[8192]["median"] < 1.5


def back_within_two_fifths():
    """At 16,384 words the three lines lie between 1/3 and 2/5 above the floor of memory. In words: -."""
    assert 1 / 3 < _above_the_floor()[16384] < 2 / 5


def fused_is_below_the_slope():
    """Fused, 4/5 of a large matmul's speed is reached, and 9/10 of the 596 of QKᵀ on the slope.

    In words: large, tenth, below.
    """
    bound = D / (1 + 2 * D / N) * _speed("hbm bandwidth")
    reached = 1e12 * _prefill("flash_attention")[8192]["speed"]
    assert close(reached / _speed("bf16 matmul"), 0.8, 0.02)
    assert round(bound / 1e12) == 596 and close(reached / bound, 0.9, 0.02)


def a_matmul_wrote_part(written, made):
    """Flushed, QKᵀ wrote so many MB of an output of so many."""
    assert (round(_counted()[0]["written"]), round(mb(SQUARE))) == (written, made)


def half_is_a_matmuls_too():
    """At 8192, d = 128 a large matmul, too, would take longer than 1.1 ms: by 0.5 to 0.8 of what FlashAttention does.

    In words: more, half, above, large.
    """
    flops = 16 * 2 * attention_flops(N, D)
    peak, matmul = (1e3 * flops / _speed(name) for name in ("bf16 peak", "bf16 matmul"))
    took = _prefill("flash_attention")[8192]["median"]
    assert round(peak, 1) == 1.1 and 0.5 < (matmul - peak) / (took - peak) < 0.8


def fused_six_times():
    """At 8192 the three lines take 6 times as long as FlashAttention, to a tenth. In words: falls, fast; fast."""
    assert close(_prefill("attention")[8192]["median"] / _prefill("flash_attention")[8192]["median"], 6, 0.1)
