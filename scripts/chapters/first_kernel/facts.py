"""What the chapter on a first Triton kernel concludes from its records."""

from __future__ import annotations

from scripts.facts import compares, phrases

HALF, PREDICTED = 0.5, 8  # from stride 8 on a sector holds one number that's wanted


@compares("coalescing.reads", key_column="read", keys=("stride_8", "stride_16"), value_column="to_stride_1")
def strides_that_halve(rows: list[dict]) -> str:
    """Says up to which stride each doubling halves the speed, beside the prediction from single sectors."""
    speeds = {row["read"]: phrases.with_margin(row["to_stride_1"], "ratio_of_one_setting") for row in rows}
    last = 1
    while f"stride_{2 * last}" in speeds:
        step = speeds[f"stride_{2 * last}"].divided_by(speeds[f"stride_{last}"])
        if not step.low <= HALF <= step.high:
            break
        last *= 2
    if last == 1:
        raise phrases.NoPhrase("the first doubling doesn't halve it")
    return f"up to a stride of {last}, and we predicted {PREDICTED}"


@compares("what_limits.clocks", key_column="n", keys=(8192, 512), value_column="all")
def a_pair_in_a_long_row(rows: list[dict]) -> str:
    """Says how many times as many clocks a pair of a query with a key takes at 8192 words as at 512."""
    clocks = {row["n"]: row["all"] for row in rows if row["warps"] == 4}
    return phrases.rough_multiple(phrases.with_margin(clocks[8192] / clocks[512], "quotient_of_other_times"))


@compares("what_limits.waits", columns=("other_threads", "memory"))
def waits_for_threads(rows: list[dict]) -> str:
    """Says how much longer than for memory a warp of four waits for a number from another thread, at 512 words."""
    (setting,) = [row for row in rows if (row["n"], row["warps"]) == (512, 4)]
    ratio = setting["other_threads"] / setting["memory"]
    return phrases.rough_multiple(phrases.with_margin(ratio, "ratio_of_one_setting"))
