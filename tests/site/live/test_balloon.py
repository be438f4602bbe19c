"""What the balloon holds is ``kernels.bench.cost``'s count, step by step; the reader makes it burst."""

import random
import re
from functools import cache

from kernels.bench import cost

MODEL = "balloon.model.js"
STEPS = range(6)
PEAK = 4  # the last matmul


@cache
def shapes() -> list[dict]:
    drawn = random.Random(0)
    return [
        {
            "n": drawn.randint(1, 2**20),
            "dim": drawn.randint(1, 512),
            "bytes": drawn.choice([1, 2, 4]),
            "heads": drawn.randint(1, 128),
            "batch": drawn.randint(1, 256),
        }
        for _ in range(10_000)
    ]


def near(found, wanted) -> bool:
    return abs(found - wanted) <= 1e-12 * wanted


def test_what_is_held_at_each_step_is_what_the_library_counts(pieces):
    rows = [[shape, step] for shape in shapes() for step in STEPS]
    found = iter(pieces.calls(MODEL, "held", rows))
    for shape in shapes():
        setting = tuple(shape.values())
        row, square = cost.qkvo_bytes(*setting) // 4, cost.square_bytes(setting[0], *setting[2:])
        held = [next(found) for _ in STEPS]
        wanted = [
            3 * row,
            3 * row + square,
            *[3 * row + 2 * square] * 2,
            3 * row + cost.eager_peak_bytes(*setting),
            4 * row,
        ]
        assert all(map(near, held, wanted))
        assert max(held) == held[PEAK]
        assert not near(held[PEAK], 3 * row + square + row), "a form that holds one square is told apart"


def test_it_bursts_at_the_first_step_that_does_not_fit(pieces):
    drawn = random.Random(1)
    rows = [[shape, 10 ** drawn.uniform(3, 16)] for shape in shapes()]
    at = pieces.calls(MODEL, "last", rows)
    now = pieces.calls(MODEL, "held", [[shape, step] for (shape, _), step in zip(rows, at, strict=True)])
    before = pieces.calls(MODEL, "held", [[shape, max(step - 1, 0)] for (shape, _), step in zip(rows, at, strict=True)])
    assert set(at) >= {0, 1, 2, 5}
    for (_, memory), step, held, was in zip(rows, at, now, before, strict=True):
        assert held > memory or step == STEPS[-1]
        assert was <= memory or step == 0


def test_just_full_is_not_burst(pieces):
    shape = {"n": 8, "dim": 2, "bytes": 4}
    (peak,) = pieces.calls(MODEL, "held", [[shape, PEAK]])
    assert pieces.calls(MODEL, "last", [[shape, peak], [shape, peak - 1]]) == [STEPS[-1], PEAK]


def test_more_words_leave_a_row_as_wide_as_it_was_until_the_card_bursts(pieces):
    """The scale is that of the card: Q only gets taller, and the dashed square stays."""
    stills = [pieces.still("balloon", {"words": str(round(2 ** (power / 4)))}) for power in range(32, 52)]
    whole = [still for still in stills if "it bursts" not in still]
    rows = [re.search(r'class="moves query fill[^>]*? width="?([\d.]+)"? height="?([\d.]+)', still) for still in whole]
    cards = {re.search(r'stroke-dasharray[^>]*? width="?([\d.]+)', still)[1] for still in whole}
    heights = [float(row[2]) for row in rows]
    assert 10 < len(whole) < len(stills) and len(cards) == 1
    assert len({round(float(row[1]), 9) for row in rows}) == 1 and heights == sorted(set(heights))


def test_the_reader_bursts_it_and_makes_it_fit(open_piece):
    piece = open_piece("balloon")
    told = piece.locator(".hb-live__told")
    piece.get_by_role("button", name="Step", exact=True).click()
    assert "out of memory" in told.inner_text()
    assert "held now" not in piece.inner_text()  # what does not fit is never held
    piece.get_by_role("slider", name="Sentences").press("ArrowLeft")
    assert "out of memory" not in told.inner_text() and "65.5 GiB" in told.inner_text()
    for _ in range(3):
        piece.get_by_role("button", name="Step", exact=True).press("Enter")
    assert "5 of 5" in piece.inner_text() and "Only the output is left" in told.inner_text()
    piece.get_by_role("slider", name="Words N").press("Home")
    assert "because N = d" in told.inner_text()
    piece.get_by_role("combobox", name="GPU").select_option("V100")
    assert "29.8 GiB" in piece.inner_text()
