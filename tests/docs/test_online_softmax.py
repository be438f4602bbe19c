"""Chapter 7: what was worked by hand is computed, and what is said of records is looked up."""

# ruff: noqa: RUF001  (a dash and a multiplication sign, as print has them)

import struct
from functools import reduce
from math import exp, inf, isclose, log

import pytest

from kernels.bench.cost import mb, square_bytes
from tests.docs.by_hand import minutes, row, table, value, vector, words

CHAPTER = "chapters/online-softmax.md"
SHEET = "whiteboard/online-softmax.md"
STREAM = "assets/drawings/online-stream.svg"
MERGE = "assets/drawings/online-merge.svg"

FP16 = struct.unpack("<e", b"\xff\x7b")[0]  # the largest number
FP32 = struct.unpack("<f", b"\xff\xff\x7f\x7f")[0]
SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")

SCORES = [1, 0, 2, 1, 0, 2]
VALUES = [[10, 0]] * 3 + [[0, 10]] * 3
EMPTY = (-inf, 0, [0, 0])  # maximum, sum, accumulator


def power_of_ten(number, digits=1):
    mantissa, exponent = f"{number:.{digits}e}".split("e")
    return f"{mantissa}·10{str(int(exponent)).translate(SUPERSCRIPT)}"


def state(scores, values):
    """By definition: the maximum of some scores, the sum of their exponentials below it, and their blend."""
    maximum = max(scores)
    weights = [exp(score - maximum) for score in scores]
    blend = [sum(w * v for w, v in zip(weights, column, strict=True)) for column in zip(*values, strict=True)]
    return maximum, sum(weights), blend


def merge(one, other):
    maximum = max(one[0], other[0])
    factors = [exp(part[0] - maximum) for part in (one, other)]
    total = sum(factor * part[1] for factor, part in zip(factors, (one, other), strict=True))
    blend = [sum(f * part[2][i] for f, part in zip(factors, (one, other), strict=True)) for i in range(2)]
    return maximum, total, blend


BLOCKS = [state(SCORES[i : i + 2], VALUES[i : i + 2]) for i in (0, 2, 4)]
STATES = [reduce(merge, BLOCKS[:count], EMPTY) for count in (1, 2, 3)]
WHOLE = state(SCORES, VALUES)
E1, E2 = exp(-1), exp(-2)
SUMS = [total for _, total, _ in STATES]
SECOND = state(SCORES[2:], VALUES[2:])
HALF = state(SCORES[:3], VALUES[:3])
FORGOT_SUM = sum(total for _, total, _ in BLOCKS)
FORGOT = [sum(blend[i] for _, _, blend in BLOCKS) for i in range(2)]
HALF_FORGOT = [part / SUMS[2] for part in FORGOT]
SO_FAR = [[part / total for part in blend] for _, total, blend in STATES]
READERS = [SO_FAR[0], [part / SECOND[1] for part in SECOND[2]]]  # their outputs, and their shares of the sum
READ = [E1 * SUMS[0] / WHOLE[1], SECOND[1] / WHOLE[1]]
THREADS = 2048  # that an SM holds
PROGRAMS = int(value("sms")) * THREADS // 128  # of Triton's four warps, where a launch says nothing else
MOVES = sum(1 / k for k in range(1, 5))

TYPED = {
    CHAPTER: [
        # the ends
        f"The largest number of FP16 is {FP16:.0f}, and ln {FP16:.0f} = {log(FP16):.2f}",
        f"The largest of FP32 is {power_of_ten(FP32)}, whose logarithm is {log(FP32):.2f}",
        f"$e^{{11}}$ = {exp(11):,.0f} fits into FP16. $e^{{12}}$ = {exp(12):,.0f} does not",
        f"$e^{{88}}$ = {power_of_ten(exp(88))} fits into FP32. $e^{{89}}$ = {power_of_ten(exp(89))} does not",
        f"And $e^{{100}}$, which is {power_of_ten(exp(100))}, is far outside",
        f"FP16 ends at {FP16:.0f}",
        # the state
        f"$e^{{-1}}$ = {E1:.3f} and $e^{{-2}}$ = {E2:.3f}",
        f"$e^0 + e^{{-1}}$ = 1 + {E1:.3f} = {SUMS[0]:.3f}",
        f"{E1:.3f} of what it was: {E1:.3f} · {SUMS[0]:.3f} = {E1 * SUMS[0]:.3f}",
        f"The two new ones bring 1 + {E1:.3f} = {BLOCKS[1][1]:.3f}. Together {SUMS[1]:.3f}",
        f"The new ones bring {E2:.3f} + 1 = {BLOCKS[2][1]:.3f}. Together {SUMS[2]:.3f}",
        f"{E1:.3f} + {E2:.3f} + 1 + {E1:.3f} + {E2:.3f} + 1 = {WHOLE[1]:.3f}",
        f"After the first, 1 and e to the minus 1: maximum 1, sum {SUMS[0]:.3f}",
        f"with two new terms: maximum 2, sum {SUMS[1]:.3f}",
        f"with two more: maximum 2, sum {SUMS[2]:.3f}",
        # the values
        f"1 · [10, 0] + {E1:.3f} · [10, 0] = [{STATES[0][2][0]:.2f}, 0]",
        f"{E1:.3f} · [{STATES[0][2][0]:.2f}, 0] = [{E1 * STATES[0][2][0]:.2f}, 0]",
        f"1 · [10, 0] + {E1:.3f} · [0, 10] = [10, {BLOCKS[1][2][1]:.2f}]. Together {vector(STATES[1][2], 2)}",
        f"{E2:.3f} · [0, 10] + 1 · [0, 10] = [0, {BLOCKS[2][2][1]:.2f}]. Together {vector(STATES[2][2], 2)}",
        f"{vector(STATES[2][2], 2)} / {SUMS[2]:.3f} = {vector(SO_FAR[2])}",
        f"ten times the sum: {', '.join(f'{sum(blend):.2f}' for _, _, blend in STATES)}",
        f"stopping there: {vector(SO_FAR[0])}, then {vector(SO_FAR[1], 2)}, then {vector(SO_FAR[2])}",
        f"The sum becomes {' + '.join(f'{total:.3f}' for _, total, _ in BLOCKS)} = {FORGOT_SUM:.3f}",
        f"the accumulator {vector(FORGOT, 2)}, and the output {vector([part / FORGOT_SUM for part in FORGOT], 2)}",
        f"found at once: {vector(HALF_FORGOT, 2)} adds up to {sum(HALF_FORGOT):.2f}",
        # merging
        f"the state (1, {SUMS[0]:.3f}). The second has the four scores {SCORES[2:]}",
        f"1 + {E1:.3f} + {E2:.3f} + 1 = {SECOND[1]:.3f}, so (2, {SECOND[1]:.3f})",
        f"{E1:.3f} · {SUMS[0]:.3f} + 1 · {SECOND[1]:.3f} = {E1 * SUMS[0]:.3f} + {SECOND[1]:.3f} = {WHOLE[1]:.3f}",
        f"both readers have (2, {HALF[1]:.3f}), and {HALF[1]:.3f} + {HALF[1]:.3f} = {WHOLE[1]:.3f}",
        f"the scores 1 and 0 give maximum 1, sum {SUMS[0]:.3f}",
        f"the scores 2, 1, 0 and 2 give maximum 2, sum {SECOND[1]:.3f}",
        f"Merged, with the factors {E1:.3f} and 1: maximum 2, sum {WHOLE[1]:.3f}",
        f"here 2 + ln {WHOLE[1]:.3f} = {WHOLE[0] + log(WHOLE[1]):.3f}",
        f"the outputs {vector(READERS[0])} and {vector(READERS[1], 1)}",
        f"{E1 * SUMS[0]:.3f} and {SECOND[1]:.3f} of {WHOLE[1]:.3f}, so their shares are",
        f"{100 * READ[0]:.1f} % and {100 * READ[1]:.1f} %",
        f"{READ[0]:.3f} · {vector(READERS[0])} + {READ[1]:.3f} · {vector(READERS[1], 1)}",
        f"[{READ[0] * READERS[0][0]:.2f} + {READ[1] * READERS[1][0]:.2f}, 0 + {READ[1] * READERS[1][1]:.2f}] = [5, 5]",
        f"1 + 1/2 + 1/3 + 1/4 = {MOVES:.2f} moves",
        # the kernel
        f"its square of FP32 has {mb(square_bytes(8192, 4)):.0f} MB",
        f"A row is only {8192 * 4 // 2**10} KiB",
        f"up to {THREADS} ÷ 128 = {THREADS // 128} of these programs of 128 threads share an SM, which makes "
        f"{PROGRAMS} on the chip, each with a row of its own: {PROGRAMS * 8192 * 4 / 2**20:.0f} MiB, and L2 holds "
        f"{value('l2') / 2**20:.0f}",
        # questions
        f"$e^{{11}}$ = {exp(11):,.0f} and $e^{{10}}$ = {exp(10):,.0f} both fit",
        f"but they add up to {round(exp(11)) + round(exp(10)):,}, more than {FP16:.0f}",
        f"about {power_of_ten(exp(-100), 0)}",
        f"maxima that are {log(2):.2f} apart",
        "the ends of exp: 11 in FP16, 88 in BF16 and FP32",
        f"to {WHOLE[1]:.3f} and {vector(SO_FAR[2])}",
    ],
    SHEET: [
        f"$e^{{-1}}$ = {E1:.3f}, $e^{{-2}}$ = {E2:.3f}",
        f"$e^{{11}}$ = {exp(11):,.0f}, $e^{{12}}$ = {exp(12):,.0f}; between them {FP16:.0f}",
        f"(1, {SUMS[0]:.3f}), (2, {SUMS[1]:.3f})",
        f"without rescaling: {vector([part / FORGOT_SUM for part in FORGOT], 2)}",
        f"(1, {SUMS[0]:.3f}) and (2, {SECOND[1]:.3f}), an arrow each to (2, {WHOLE[1]:.3f})",
        f"| 1, 0 | 1 | – | 1 + {E1:.3f} = {SUMS[0]:.3f} | [{STATES[0][2][0]:.2f}, 0] | {vector(SO_FAR[0])} |",
        f"| 2, 1 | 2 | {E1:.3f} | {E1 * SUMS[0]:.3f} + {BLOCKS[1][1]:.3f} = {SUMS[1]:.3f} "
        f"| {vector(STATES[1][2], 2)} | {vector(SO_FAR[1], 2)} |",
        f"| 0, 2 | 2 | 1 | {SUMS[1]:.3f} + {BLOCKS[2][1]:.3f} = {SUMS[2]:.3f} "
        f"| {vector(STATES[2][2], 2)} | {vector(SO_FAR[2])} |",
        f"Check: {', '.join(f'{sum(blend):.2f}' for _, _, blend in STATES)}, ten times the sums",
        f"2 · (1 + {E1:.3f} + {E2:.3f}) = {WHOLE[1]:.3f}. Halves: (2, {HALF[1]:.3f}) twice",
        f"2 + ln {WHOLE[1]:.3f} = {WHOLE[0] + log(WHOLE[1]):.3f}",
        f"Not rescaled: sum {FORGOT_SUM:.3f}, {vector(FORGOT, 2)}",
        f"Only the sum rescaled: {vector(HALF_FORGOT, 2)}, together {sum(HALF_FORGOT):.2f}",
        f"1 + 1/2 + 1/3 + 1/4 = {MOVES:.2f} moves",
    ],
    MERGE: [
        f"max 1, sum {SUMS[0]:.3f} max 2, sum {SECOND[1]:.3f}",
        f"leaves {E1 * SUMS[0]:.3f}",
        f"leaves {SECOND[1]:.3f}",
        f"max 2, sum {WHOLE[1]:.3f}",
    ],
}


@pytest.mark.parametrize("page, text", [(page, text) for page, texts in TYPED.items() for text in texts])
def test_a_number_worked_by_hand_is_right(page, text):
    assert text in words(page)


def test_the_rounded_numbers_close_as_they_stand():
    """Whoever computes with the three digits on the board gets the digits on the board."""
    e1, e2 = round(E1, 3), round(E2, 3)
    first = 1 + e1
    second = round(e1 * first, 3) + 1 + e1
    assert [f"{total:.3f}" for total in (first, second, second + e2 + 1)] == [f"{total:.3f}" for total in SUMS]
    assert f"{2 * (1 + e1 + e2):.3f}" == f"{WHOLE[1]:.3f}"


def test_the_drawn_stream_has_the_terms_of_each_state():
    drawn = words(STREAM).split("2 and 1: maximum 2, sum 3.006. scores max sum block 1 block 2 block 3 ")
    powers = {0: "1", -1: "e⁻¹", -2: "e⁻²"}
    wanted = [str(score) for score in SCORES]
    for count, (maximum, total, _) in zip((2, 4, 6), STATES, strict=True):
        wanted += [powers[score - maximum] for score in SCORES[:count]] + [str(maximum), f"{total:.3f}"]
        wanted += {2: ["×", "e⁻¹"], 4: ["×", "1"], 6: []}[count]
    assert drawn[-1].split()[: len(wanted)] == wanted


def test_the_minutes_of_the_sheet_add_up():
    assert f"{sum(minutes(SHEET))} minutes" in words(SHEET)


def test_what_is_said_of_the_small_example():
    for merged, parts in [(STATES[2], WHOLE), (merge(BLOCKS[0], SECOND), WHOLE), (merge(HALF, HALF), WHOLE)]:
        assert merged[0] == parts[0] and isclose(merged[1], parts[1])
    merged = [READ[0] * one + READ[1] * other for one, other in zip(*READERS, strict=True)]
    assert merged == pytest.approx([5, 5])
    assert all(isclose(sum(blend), 10 * total) for _, total, blend in STATES)
    assert isclose(sum(FORGOT) / FORGOT_SUM, 10)  # a forgotten rescale passes the check
    assert exp(11) < FP16 < exp(12) and exp(88) < FP32 < exp(89)
    assert max(exp(11), exp(10)) < FP16 < exp(11) + exp(10)
    assert exp(-104) < 1e-45
    assert FP16 < 70_000


# What is said of the records.


def test_what_is_said_of_overflow():
    ends = {row["type"]: row for row in table("overflow", "where")}
    assert ends["BF16"]["last"] + ends["BF16"]["step"] == 89 and ends["BF16"]["step"] == 0.5
    assert ends["FP32"]["gone"] > -104
    three_spreads = 3 * row("scaling", "scaling", d=64)["spread_raw"]
    assert three_spreads > 2 * ends["FP16"]["last"] and three_spreads / 8 < ends["FP16"]["last"]
    naive = {kind: [found["naive"] for found in table("overflow", "shares") if found["type"] == kind] for kind in ends}
    assert all(shares[1:] == ["0, 0", "nan, 0"] and "nan" not in shares[0] for shares in naive.values())


def test_what_is_said_of_the_order():
    swapped, regrouped, *against_truth = table("softmax_order", "triples")
    assert (swapped["differ"], swapped["largest"]) == (0, 0)
    for other in (regrouped, *against_truth):  # a quarter of them, and neither grouping is better
        assert isclose(other["differ"], 25, abs_tol=2.5) and other["largest"] == regrouped["largest"]
    largest = {way["way"]: way["largest"] for way in table("softmax_order", "ways")}
    assert largest["a_tree"] < largest["eight_readers"] < min(largest["first_to_last"], largest["last_to_first"])
    for moves in table("softmax_order", "moves"):
        assert isclose(moves["expected"], sum(1 / k for k in range(1, moves["blocks"] + 1)))
        assert isclose(moves["moved"], moves["expected"], rel_tol=0.03)


def test_the_row_of_the_figure_moves_its_maximum_often():
    moved = sum(block["kept"] < 1 for block in table("online_softmax", "arrivals"))
    assert moved > row("softmax_order", "moves", blocks=8)["expected"] + 1


def test_both_readings_of_the_row_kernel_came_from_memory():
    counted = row("hbm_traffic", "counted", form="three_kernel_attention", caches="flushed", kernel="softmax_kernel")
    assert isclose(counted["read"], 2 * mb(square_bytes(8192, 4)), rel_tol=0.01)


def test_the_kernels_errors_are_of_the_size_of_pytorchs():
    errors = table("online_softmax", "errors")[1:]
    assert all(1 / 3 < found["kernel"] / found["torch"] < 3 for found in errors)
    assert {found["kernel"] > found["torch"] for found in errors} == {True, False}  # here above, there below
