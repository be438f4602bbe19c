"""What chapter 2 and its sheet work out by hand is right, the library gives it too, and what they say of a record in
words holds there."""

import re
from itertools import pairwise
from math import exp, log2, sqrt

import pytest

from kernels.bench.hardware import A100, V100
from scripts import records
from tests.docs.by_hand import (
    SHARES_DIVIDED,
    K,
    Q,
    S,
    V,
    blend,
    dot,
    minutes,
    percent,
    row,
    softmax,
    table,
    value,
    vector,
    words,
)

CHAPTER = "chapters/many-heads.md"
SHEET = "whiteboard/many-heads.md"

X = [[1, 0, 1, 2], [1, 1, 0, 0], [0, 1, 1, 1]]
ASKS, OFFERS = [[1, 0, 0, 0], [0, 1, 0, 0]], [[0, 0, 1, 0], [0, 1, 0, 0]]  # a row for each number that comes out
HANDS_OVER = [[0, 0, 0, 5], [5, 5, 5, -5]]
ONE, TWO = [[6, 4], [5, 5], [4, 6]], [[5, 5], [4, 6], [3.75, 6.25]]  # outputs of the heads, at the board
SHARES_2_AT_THE_BOARD = [[0.4, 0.4, 0.2], [0.2, 0.4, 0.4], [0.25, 0.5, 0.25]]
TOKENS, WIDTH, HEADS = 128, 512, 8
FORMS = ("loop", "at_once")


def project(rows):
    return [[dot(row, x) for row in rows] for x in X]


def head(queries, keys, sees=lambda row, column: True):
    """The shares of a head, of the keys that a word sees."""
    scores = [[dot(q, k) / sqrt(2) for j, k in enumerate(keys) if sees(i, j)] for i, q in enumerate(queries)]
    return [softmax(row) for row in scores]


def outputs(shares):
    return [blend(row, V[: len(row)]) for row in shares]


def plain(numbers):
    """As the pages have it: two digits at most, none that is nought."""
    return "[" + ", ".join(f"{number:.2f}".rstrip("0").rstrip(".") for number in numbers) + "]"


def scores(row):
    return " ".join(map(str, row))


def launched(heads):
    """Projections, QKᵀ, scaling, softmax, the second matmul, joining, the output projection: by the loop."""
    return 3 * heads + heads + heads + heads + heads + 1 + 1


SHARES_2 = head(K, Q)
SCORES_2 = [[dot(q, k) for k in Q] for q in K]
BOTH = [one + two for one, two in zip(outputs(SHARES_DIVIDED), outputs(SHARES_2), strict=True)]
BOTH_AT_THE_BOARD = [one + two for one, two in zip(ONE, TWO, strict=True)]
CAUSAL = [outputs(head(q, k, lambda row, column: column <= row)) for q, k in ((Q, K), (K, Q))]
KEPT = SHARES_DIVIDED[1][:2]  # what row 2 keeps of its shares, if the third is set to zero after softmax
CAUSAL_SECOND = CAUSAL[0][1] + [round(number, 1) for number in CAUSAL[1][1]]
PADDED = head(Q, K, lambda row, column: column < 2)[0]
CELLS = [w * 2 + h * 6 + number for w in range(3) for h in range(2) for number in range(2)]


def line_of_the_key(word):
    cells = [
        f"row {word + 1}",
        scores(SCORES_2[word]),
        percent(SHARES_2[word], 1, " "),
        percent(SHARES_2_AT_THE_BOARD[word], between=" "),
        plain(TWO[word]),
        plain(BOTH[word]),
    ]
    return f"| {' | '.join(cells)} |"


TYPED = {
    CHAPTER: [
        *[f"x{'₁₂₃'[i]} = {vector(x)}" for i, x in enumerate(X)],
        f"Take the first two numbers. {', '.join(map(vector, project(ASKS)))}".replace("Take", "take"),
        f"take the third and the second. {', '.join(map(vector, project(OFFERS)))}",
        f"For x₁: 5 · 2 = {5 * 2} and 5 · (1 + 0 + 1) \N{MINUS SIGN} 10 = {5 * (1 + 0 + 1) - 10}",
        f"So {vector(project(HANDS_OVER)[0])}, and in the same way "
        + " and ".join(map(vector, project(HANDS_OVER)[1:])),
        f"99 steps leave 0.9⁹⁹ = {0.9**99 * 1e5:.0f}·10⁻⁵ of it",
        f"For $D = {WIDTH}$ and {HEADS} heads these are {WIDTH // HEADS}",
        f"For {TOKENS} words and {HEADS} heads these are {HEADS * TOKENS**2:,} scores",
        f"rows {vector(SCORES_2[0])}, {vector(SCORES_2[1])} and {vector(SCORES_2[2])}",
        "; then ".join(percent(row) for row in SHARES_2_AT_THE_BOARD),
        f"0.4 · {vector(V[0])} + 0.4 · {vector(V[1])} + 0.2 · {vector(V[2])} = {vector(TWO[0])}",
        f"The second row is {plain(TWO[1])}, the third {plain(TWO[2])}",
        f"Both heads side by side: {', '.join(map(plain, BOTH_AT_THE_BOARD))}",
        f"Unrounded, the last row is {plain(BOTH[2])}",
        f"Head 1 gives it {vector(ONE[1])}, head 2 {vector(TWO[1])}",
        f"The first word sees only itself: 100 %, so {vector(CAUSAL[0][0])}",
        f"1 and 1: 50 % and 50 %, so {vector(CAUSAL[0][1])}",
        f"The second word would keep {percent(KEPT, between=' % and ')}, and half of its output",
        f"divided [{1 / sqrt(2):.2f}, 0]: {exp(1 / sqrt(2)):.2f} and 1, together {exp(1 / sqrt(2)) + 1:.2f}",
        f"so {100 * PADDED[0]:.0f} % and {100 * PADDED[1]:.0f} %, which makes {vector(blend(PADDED, V[:2]), 1)}",
        f"{vector(X[0])} becomes {vector(project(ASKS + OFFERS)[0])}",
        f"{vector(X[2])} becomes {vector(project(ASKS + OFFERS)[2])}",
        "They lie in cells {}, {}, {} and {}".format(*CELLS[:4]),
        "The steps between them are {}, {}, {}".format(*(b - a for a, b in pairwise(CELLS[:4]))),
        f"3 \N{MULTIPLICATION SIGN} 8 = {3 * HEADS} projections",
        f"together {6 * HEADS}. All at once: 3 + 1 + 1 + 1 = {3 + 1 + 1 + 1}",
        f"{6 * HEADS} + {HEADS + 2} = {launched(HEADS)}, and 6 + 3 = {6 + 3}",
        f"7 · 4 + 2 = {launched(4)}",
        f"if that is its tile, one head's projection has {TOKENS * 64 // (8 * 64)} tiles, for the {value('sms')} SMs",
        f"could do {value('bf16 peak') * 1e-6 / 1e6:.0f} million FLOP in each of these microseconds",
        *(
            f"| {gpu} | {chip['fp16 tensor core peak'].value / 1e12:.0f} TFLOP/s "
            f"| {chip['fp32 peak'].value / 1e12:.1f} TFLOP/s "
            f"| {chip['fp16 tensor core peak'].value / chip['fp32 peak'].value:.0f} |"
            for gpu, chip in (("V100 (2017)", V100), ("A100 (2020)", A100))
        ),
        f"| H100 (2022) | {value('bf16 tensor core')} FLOP a clock and SM | {value('fp32 lanes')} FLOP "
        f"a clock and SM | {value('bf16 tensor core') / value('fp32 lanes'):.0f} |",
    ],
    SHEET: [
        *map(line_of_the_key, range(3)),
        f"row 2 keeps {percent(KEPT, between=' and ')}, and half its output is gone",
        f"x = {', '.join(map(vector, X))}",
        "grid, rows {}, {} and {}, and its output: {}".format(*map(scores, S), ", ".join(map(plain, ONE))),
        f"q: {', '.join(map(vector, project(ASKS)))}. k: {', '.join(map(vector, project(OFFERS)))}. v: "
        f"{', '.join(map(vector, project(HANDS_OVER)))}.",
        f"in one multiplication: {', '.join(map(vector, project(ASKS + OFFERS)))};",
        f"e to 1/√2 is {exp(1 / sqrt(2)):.2f}, to √2 it is {exp(sqrt(2)):.2f}",
        f"Causal, both heads side by side: {vector(CAUSAL[0][0] + CAUSAL[1][0])}, {plain(CAUSAL_SECOND)}",
        f"{WIDTH} by {HEADS} heads is {WIDTH // HEADS} numbers each",
        "circle {}, {}, {}, {}".format(*CELLS[:4]),
        f"{6 * HEADS} and 6, then {launched(HEADS)} and 9",
    ],
}


@pytest.mark.parametrize("page, text", [(page, text) for page, texts in TYPED.items() for text in texts])
def test_a_number_worked_by_hand_is_right(page, text):
    assert text in words(page).replace("*Query*: take", "take")


def test_the_minutes_of_the_sheet_add_up():
    assert f"{sum(minutes(SHEET))} minutes" in words(SHEET)


def test_the_projections_make_chapter_1():
    assert (project(ASKS), project(OFFERS), project(HANDS_OVER)) == (Q, K, V)
    assert [list(column) for column in zip(*S, strict=True)] == SCORES_2  # on its side
    for exact, rounded, output in zip(SHARES_2, SHARES_2_AT_THE_BOARD, TWO, strict=True):
        assert max(abs(a - b) for a, b in zip(exact, rounded, strict=True)) < 0.005
        assert blend(rounded, V) == pytest.approx(output)
    for output in [*BOTH, *BOTH_AT_THE_BOARD]:
        assert sum(output[:2]) == pytest.approx(10) and sum(output[2:]) == pytest.approx(10)
    assert CAUSAL[0][2] == pytest.approx(BOTH[2][:2]) and CAUSAL[1][2] == pytest.approx(BOTH[2][2:])


def test_the_library_gives_what_was_worked_out_by_hand():
    """In both forms: without a mask, causal, with word 3 as padding, with a word that sees nothing."""
    torch = pytest.importorskip("torch")
    from kernels.multihead import LoopedMultiHeadAttention, MultiHeadAttention

    with torch.no_grad():
        loop = LoopedMultiHeadAttention(4, 2).double()
        for parameter in loop.parameters():
            parameter.zero_()
        loop.output.weight.copy_(torch.eye(4))
        for one, projections in zip(loop.heads, [(ASKS, OFFERS, HANDS_OVER), (OFFERS, ASKS, HANDS_OVER)], strict=True):
            for name, rows in zip(("query", "key", "value"), projections, strict=True):
                getattr(one, name).weight.copy_(torch.tensor(rows))
        x = torch.tensor(X).double()[None]
        blind = torch.ones(3, 3, dtype=torch.bool)
        blind[2] = False
        for form in (loop, MultiHeadAttention.from_loop(loop)):
            causal = [one + two for one, two in zip(*CAUSAL, strict=True)]
            padded = form(x, attn_mask=torch.tensor([True, True, False]))[0]
            torch.testing.assert_close(form(x)[0], torch.tensor(BOTH).double())
            torch.testing.assert_close(form(x, is_causal=True)[0], torch.tensor(causal).double())
            assert padded[0, :2].tolist() == pytest.approx(blend(PADDED, V[:2]))
            assert form(x, attn_mask=blind)[0, 2].tolist() == [0, 0, 0, 0]


def test_strides_are_as_said():
    torch = pytest.importorskip("torch")
    projected = torch.zeros(3, 4)
    assert projected.stride() == (4, 1)
    split = projected.view(3, 2, 2)
    assert split.stride() == (4, 2, 1) and split.transpose(0, 1).stride() == (2, 4, 1)
    blends = torch.arange(12).view(2, 3, 2)
    assert blends.stride() == (6, 2, 1) and blends.transpose(0, 1).stride() == (2, 6, 1)
    assert blends.transpose(0, 1).flatten().tolist() == CELLS
    wanted = words("assets/drawings/strides.svg").rpartition("a row of four each")[2]
    drawn = re.findall(r"\d+", wanted.partition("row of")[0])
    assert [int(number) for number in drawn] == CELLS


@pytest.mark.parametrize("batch, copies", [(1, 1), (8, 4)])
def test_more_than_one_sequence_takes_three_more_copies(batch, copies):
    torch = pytest.importorskip("torch")
    from kernels.multihead import MultiHeadAttention

    module, x = MultiHeadAttention(WIDTH, HEADS), torch.zeros(batch, 16, WIDTH)
    with torch.no_grad(), torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profiler:
        module(x)
    assert sum(event.name == "aten::clone" for event in profiler.events()) == copies


def test_the_record_counts_what_was_counted_by_hand():
    every = {form: row("kernel_launches", "by_kind", form=form, kind="all")["launches"] for form in ("loop", "at_once")}
    assert every == {"loop": launched(HEADS), "at_once": 9}
    assert row("kernel_launches", "by_kind", form="loop", kind="elementwise")["launches"] == HEADS  # scaling
    assert row("kernel_launches", "by_kind", form="at_once", kind="elementwise")["launches"] == 2  # scaling, the copy
    assert {form: row("kernel_launches", "by_kind", form=form, kind="matmul")["launches"] for form in every} == {
        "loop": 41,
        "at_once": 6,
    }


def test_both_forms_are_alike_to_the_last_bit_and_use_kernels_of_one_family_but_not_the_same():
    (said,) = records.read("kernel_launches").outputs["same"]
    assert "largest difference of the outputs 0e+00" in said["text"]
    names = {
        form: {each["kernel"] for each in table("kernel_launches", "by_name") if each["form"] == form}
        for form in ("loop", "at_once")
    }
    matmuls = {form: {name for name in found if name.startswith("nvjet_sm90_")} for form, found in names.items()}
    assert all(matmuls.values()) and matmuls["loop"] != matmuls["at_once"]
    times = row("kernel_launches", "by_name", form="loop", kernel="nvjet_sm90_hsh_8x64_64x16_4x2_h_bz_bias_TNN")[
        "times"
    ]
    assert times == 3 * HEADS


def both(name, wanted):
    """The rows of both forms: of the loop, of all heads at once."""
    snippet = "kernel_launches" if name == "times" else "launch_timeline"
    return [row(snippet, name, form=form, n=wanted) for form in ("loop", "at_once")]


def test_what_is_said_of_the_times_in_words():
    (loop, once), (long_loop, long_once) = both("times", 128), both("times", 2048)
    assert 5 < loop["wall"] / once["wall"] < 6  # more than five times as long
    assert 6 < launched(HEADS) / 9 < 7  # more than six times as many launches
    assert 4 < loop["replayed"] / once["replayed"] < 5  # over four times
    assert abs(log2(8 * (long_loop["wall"] / long_once["wall"] - 1))) < 0.2  # about an eighth longer
    assert all(1 < each["wall"] / each["replayed"] < 1.15 for each in (long_loop, long_once))  # nearly equal bars


def test_the_timeline_counts_what_was_counted_and_more_for_several_sequences():
    (loop, once), (long_loop, long_once) = both("spans", 128), both("spans", 2048)
    assert [loop["kernels"], once["kernels"]] == [launched(HEADS), 9]
    cleared = [row("launch_timeline", "by_kernel", form=form, n=2048, kernel="Memset")["times"] for form in FORMS]
    assert [long_loop["kernels"], long_once["kernels"]] == [launched(HEADS) + HEADS, 9 + 3 + 1] and cleared == [
        HEADS,
        1,
    ]
    assert row("launch_timeline", "by_kernel", form="at_once", n=2048, kernel="elementwise_kernel")["times"] == 1 + 3
    assert 5 <= long_loop["kernels"] / long_once["kernels"] < 5.5  # five times as many launches
    for form in FORMS:  # before QKᵀ, which comes before the scaling
        names = [each["name"] for each in events(form, 2048, "device")]
        for at, name in enumerate(names):
            assert (name == "Memset") == (names[at + 2 : at + 3] == ["vectorized_elementwise_kernel"])


def events(form, n, side):
    return [
        each
        for each in table("launch_timeline", "events")
        if (each["form"], each["n"], each["side"]) == (form, n, side)
    ]


def test_who_waits_for_whom_is_as_said():
    for form in FORMS:
        for n in (128, 2048):
            hosts, kernels = events(form, n, "host"), events(form, n, "device")
            assert all(host["start"] < kernel["start"] for host, kernel in zip(hosts, kernels, strict=True))
            waits = [
                kernel["start"] - host["start"] - host["duration"] for host, kernel in zip(hosts, kernels, strict=True)
            ]
            ends = [kernel["start"] + kernel["duration"] for kernel in kernels]
            if n == 128:
                assert max(waits) < 5  # as soon as it has been handed over
                assert all(end < host["start"] for end, host in zip(ends, hosts[1:], strict=False))
            else:
                assert max(waits[:3]) < 5  # the first are waited for
                assert min(waits[8:]) > 5  # the host is ahead
                pauses = [after["start"] - end for end, after in zip(ends, kernels[1:], strict=False)]
                assert max(pauses[8:]) < 5  # almost without a pause
                assert hosts[-1]["start"] + hosts[-1]["duration"] < kernels[-1]["start"]  # the host is done before


def test_what_is_said_of_the_timeline_in_words():
    (loop, once), (long_loop, long_once) = both("spans", 128), both("spans", 2048)
    wall, (long_wall, once_wall) = both("times", 128)[0]["wall"], [each["wall"] for each in both("times", 2048)]
    assert 1.25 < loop["done"] / (1e3 * wall) < 4 / 3  # watched, nearly a third longer
    assert all(0.18 < each["calls"] / each["launching"] < 0.22 for each in (loop, once))  # about a fifth
    kernels = {(each["form"], each["n"], each["kernel"]): each for each in table("launch_timeline", "by_kernel")}

    def each_takes(form, n, kernel):
        found = kernels[form, n, kernel]
        return found["together"] / found["times"]

    small = each_takes("loop", 128, "nvjet_sm90_hsh_8x64_64x16_4x2_h_bz_bias_TNN")
    assert 1 < each_takes("at_once", 128, "nvjet_sm90_hsh_24x64_64x16_4x2_h_bz_bias_TNN") / small < 1.1  # hardly longer
    cut = kernels["loop", 2048, "nvjet_sm90_hsh_64x128_64x8_1x2_h_bz_bias_TNN"]
    uncut = each_takes("at_once", 2048, "nvjet_sm90_hsh_128x256_64x4_2x1_v_bz_coopA_bias_TNN")
    assert cut["times"] == 3 * HEADS and 2.9 < cut["together"] / (3 * uncut) < 3.1  # three times as long as uncut
    softmax_longer = each_takes("loop", 2048, "softmax_warp_forward") * HEADS - each_takes(
        "at_once", 2048, "softmax_warp_forward"
    )
    assert softmax_longer > 0
    copies = kernels["at_once", 2048, "elementwise_kernel"]["together"]
    assert 0.5 < copies / (cut["together"] - 3 * uncut + softmax_longer) < 1  # more than half of that again
    longer = 1e3 * (long_wall - once_wall)
    assert 0.4 < (long_loop["busy"] - long_once["busy"]) / longer < 0.6  # about half of it
    replayed = [each["replayed"] for each in both("times", 2048)]
    assert 0.4 < 1 - 1e3 * (replayed[0] - replayed[1]) / longer < 0.6  # replayed, they differ by about half as much
    assert 0.95 < long_loop["done"] / long_once["done"] < 1.05  # at about the same time
