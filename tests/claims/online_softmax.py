"""What chapter 7 and its sheet claim in words."""

from math import ceil, exp, isfinite

from kernels.bench.cost import attention_flops, mb, qkvo_bytes, square_bytes, three_kernels_traffic
from tests.claims.rows import chip_of, close, rounded, row, rows

TYPES = ("FP16", "BF16", "FP32", "FP64")


def _end(kind):
    return row("overflow", "where", type=kind)


def bf16_steps_over(score):
    """In BF16 the last score whose exponential is a number is one step of 0.5 below 89. In words: half, after, last."""
    assert _end("BF16")["step"] == 0.5 and _end("BF16")["last"] + _end("BF16")["step"] == score


def exp_ends_at(fp16, others):
    """The last whole score whose exponential is a number is 11 in FP16, and 88 in BF16 and FP32.

    In words: fp16, bf16, fp32.
    """
    assert int(_end("FP16")["last"]) == fp16
    assert int(_end("BF16")["last"]) == int(_end("FP32")["last"]) == others


def fp32_loses_what_lies_below(below):
    """In FP32 the exponential of -104 is stored as 0; in truth it is less than 1e-45. In words: below."""
    assert ceil(-_end("FP32")["gone"]) == below and exp(-float(below)) < 1e-45


def three_spreads_leave_fp16():
    """At d = 64 three spreads are more than twice FP16's last score before the division by 8, and below it after.

    In words: far, fp16.
    """
    three_spreads = 3 * row("scaling", "scaling", d=64)["spread_raw"]
    assert three_spreads > 2 * _end("FP16")["last"] > 2 * three_spreads / 8


def overflow_has_three_outcomes():
    """Of each type's three rows the first has shares above 0, the second two zeros, the third NaN and 0.

    In words: each.
    """
    for kind in TYPES:
        fits, sum_is_inf, term_is_inf = [found["naive"] for found in rows("overflow", "shares", type=kind)]
        assert all(0 < float(share) < 1 for share in fits.split(", "))
        assert (sum_is_inf, term_is_inf) == ("0, 0", "nan, 0")


def three_outcomes_in_each_type():
    """In each type's second row both exponentials are finite, and both shares are 0. In words: each, not, all."""
    overflow_has_three_outcomes()
    for kind in TYPES:
        _, second, _ = rows("overflow", "shares", type=kind)
        assert all(isfinite(float(term)) for term in second["exponentials"].split(", ")) and second["naive"] == "0, 0"


def swapping_changes_no_bit():
    """Of 262,144 sums none changes when two states are swapped. In words: not; last."""
    swapped = row("softmax_order", "triples", compared="swapped")
    assert (swapped["differ"], swapped["largest"]) == (0, 0)


def a_quarter_differs():
    """Between 22.5 % and 27.5 % of the sums differ when three states are grouped differently.

    In words: quarter; quarter, differ.
    """
    assert 22.5 < row("softmax_order", "triples", compared="regrouped")["differ"] < 27.5


def steps_of_the_last_bit(steps):
    """By how many steps of the last bit two groupings differ at most. In words: most, last."""
    assert row("softmax_order", "triples", compared="regrouped")["largest"] == steps


def neither_grouping_is_right():
    """Each grouping differs from FP64 in as many sums as the other to 1 %, and by as many steps of the last bit.

    In words: neither, right, each, fp64, often.
    """
    left, right = (row("softmax_order", "triples", compared=f"{side}_first") for side in ("left", "right"))
    assert close(left["differ"], right["differ"], 0.01) and left["largest"] == right["largest"]


def splitting_gains_accuracy():
    """The largest error of a tree of merges is below that of eight readers, and that below both chains'.

    In words: no, gains.
    """
    largest = {found["way"]: found["largest"] for found in rows("softmax_order", "ways")}
    assert largest["a_tree"] < largest["eight_readers"] < min(largest["first_to_last"], largest["last_to_first"])


def the_maximum_moves_as_expected():
    """The maximum of k blocks, up to 128, moves 1 + 1/2 + ... + 1/k times, to 3 %, for each of the eight recorded k."""
    for found in rows("softmax_order", "moves"):
        assert close(found["expected"], sum(1 / k for k in range(1, found["blocks"] + 1)), 1e-9)
        assert close(found["moved"], found["expected"], 0.03)


def moves_of_128_blocks(moved, expected):
    """How often a row of 128 blocks moves its maximum on average, and 1 + 1/2 + ... + 1/128, to the printed digit."""
    found = row("softmax_order", "moves", blocks=128)
    assert f"{found['moved']:.1f}" == str(moved)
    assert f"{sum(1 / k for k in range(1, 129)):.1f}" == str(expected)


def sorted_rows_rescale_always_or_never():
    """After the first block each factor is below 1 on the rising row and 1 on the falling one.

    In words: rising, each, shrinks, all, before, falling, none.
    """
    later = [found for found in rows("softmax_order", "factors") if found["block"] > 1]
    assert all(found["rising"] < 1 and found["falling"] == 1 for found in later)


def both_readings_came_from_hbm(percent):
    """The softmax of three_kernels, with the caches kept from the matmul before, reads twice its square through HBM.

    But for so many per cent of these 2 · 268 MB.

    In words: both, hbm, all; hbm, twice, both.
    """
    counted = row("hbm_traffic", "counted", form="three_kernel_attention", caches="kept", kernel="softmax_kernel")
    assert rounded(100 * (1 - counted["read"] / (2 * mb(square_bytes(8192, 4)))), percent) == percent


def errors_are_of_pytorchs_size():
    """For rows of more than one number the kernel's error is 1/3 to 3 times PyTorch's, above it and below it.

    In words: above, below.
    """
    errors = [found for found in rows("online_softmax", "errors") if found["columns"] > 1]
    assert all(1 / 3 < found["kernel"] / found["torch"] < 3 for found in errors)
    assert {found["kernel"] > found["torch"] for found in errors} == {True, False}


def _limit_and_bytes():
    """Milliseconds at N = 512 and d = 128: the limit, and the bytes of the three kernels at the maker's bandwidth."""
    sizes = 512, 128, 16, 32
    peak, bandwidth = (chip_of("prefill_speed", name) for name in ("bf16 peak", "hbm bandwidth"))
    limit = max(attention_flops(*sizes) / peak, qkvo_bytes(512, 128, 2, 16, 32) / bandwidth)
    moved = sum(step.read + step.written for step in three_kernels_traffic(512, 128, 2, 4, 16, 32))
    return 1e3 * limit, 1e3 * moved / bandwidth


def three_kernels_reach(percent):
    """What part of the limit the three kernels reach at N = 512 and d = 128, to the printed digit."""
    found = row("prefill_speed", "forward_128", form="three_kernel_attention", n=512, causal=False)
    assert f"{100 * _limit_and_bytes()[0] / found['median']:.1f}" == str(percent)


def bytes_over_the_limit():
    """The bytes of the three kernels alone take 9 times the limit, to a twentieth."""
    limit, moved = _limit_and_bytes()
    assert close(moved / limit, 9, 0.05)
