"""What chapter 2 and its sheet work out by hand is right, the library gives it too, and what they say of a record in
words holds there."""

import re
from itertools import pairwise
from math import exp, log2, sqrt

import pytest

from kernels.hardware import V100
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
CAUSAL_SECOND = CAUSAL[0][1] + [round(number, 1) for number in CAUSAL[1][1]]
PADDED = head(Q, K, lambda row, column: column < 2)[0]
CELLS = [w * 2 + h * 6 + number for w in range(3) for h in range(2) for number in range(2)]

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
        f"In tiles of 64\N{MULTIPLICATION SIGN}64, for example, these are {TOKENS * 64 // 64**2} tiles",
        f"for the {value('sms')} SMs of an H100; all heads together make {TOKENS * WIDTH // 64**2}",
        f"| V100 (2017) | {V100['fp16 tensor core peak'].value / 1e12:.0f} TFLOP/s "
        f"| {V100['fp32 peak'].value / 1e12:.1f} TFLOP/s "
        f"| {V100['fp16 tensor core peak'].value / V100['fp32 peak'].value:.0f} |",
        f"| H100 (2022) | {value('bf16 tensor core')} FLOP a clock and SM | {value('fp32 lanes')} FLOP "
        f"a clock and SM | {value('bf16 tensor core') / value('fp32 lanes'):.0f} |",
    ],
    SHEET: [
        f"x = {', '.join(map(vector, X))}",
        "grid, rows {}, {} and {}, and its output: {}".format(*map(scores, S), ", ".join(map(plain, ONE))),
        f"q: {', '.join(map(vector, project(ASKS)))}. k: {', '.join(map(vector, project(OFFERS)))}. v: "
        f"{', '.join(map(vector, project(HANDS_OVER)))}.",
        f"in one multiplication: {', '.join(map(vector, project(ASKS + OFFERS)))};",
        f"$e^{{1/\\sqrt 2}}$ = {exp(1 / sqrt(2)):.2f}, $e^{{\\sqrt 2}}$ = {exp(sqrt(2)):.2f}",
        f"Causal, both heads side by side: {vector(CAUSAL[0][0] + CAUSAL[1][0])}, {plain(CAUSAL_SECOND)}",
        f"{WIDTH} by {HEADS} heads is {WIDTH // HEADS} numbers each",
        "circle {}, {}, {}, {}".format(*CELLS[:4]),
        f"{6 * HEADS} and 6, then {launched(HEADS)} and 9",
    ],
}


@pytest.mark.parametrize("page, text", [(page, text) for page, texts in TYPED.items() for text in texts])
def test_a_number_worked_by_hand_is_right(page, text):
    assert text in words(page).replace("*Query*: take", "take")


@pytest.mark.parametrize("row", range(3))
def test_the_key_on_the_sheet(row):
    cells = [
        f"row {row + 1}",
        scores(SCORES_2[row]),
        percent(SHARES_2[row], 1, " "),
        percent(SHARES_2_AT_THE_BOARD[row], between=" "),
        plain(TWO[row]),
        plain(BOTH[row]),
    ]
    assert f"| {' | '.join(cells)} |" in words(SHEET)


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


def test_what_is_said_of_the_times_in_words():
    (loop, once), (long_loop, long_once) = [
        [row("kernel_launches", "times", form=form, n=n) for form in ("loop", "at_once")] for n in (128, 2048)
    ]
    host, device = (row("kernel_launches", "one_launch", side=side)["median"] for side in ("host", "device"))
    assert 5 < loop["wall"] / once["wall"] < 6  # more than five times as long
    assert 6 < launched(HEADS) / 9 < 7  # more than six times as many launches
    assert 3 < 1e3 * loop["wall"] / launched(HEADS) / host < 4  # more than three times as long
    assert 4 < loop["replayed"] / once["replayed"] < 5  # over four times
    assert 0.7 < launched(HEADS) * device / (1e3 * loop["replayed"]) < 0.8  # three quarters of the replay
    assert abs(log2(8 * (long_loop["wall"] / long_once["wall"] - 1))) < 0.2  # about an eighth longer
    assert all(1 < each["wall"] / each["replayed"] < 1.15 for each in (long_loop, long_once))
    same = records.read("kernel_launches").outputs["same"]
    assert "largest difference of the outputs 0e+00" in same[0]["text"]
