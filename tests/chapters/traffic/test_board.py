"""Sheet 4: the board says what the library counts, what the registry has and what was measured."""

import pytest

from kernels.bench.cost import eager_traffic, mb, qkvo_bytes, square_bytes
from kernels.bench.hardware import H100
from scripts import records
from scripts.chapters.plot import limit
from scripts.chapters.traffic import board as drawn

BOARD = drawn.board()
N, D = 8192, 128


def test_the_ridge_is_the_quotient_of_the_two_figures():
    peak, hallway = H100["bf16 peak"].value, H100["hbm bandwidth"].value
    assert f"{peak / 1e12:.0f} ÷ {hallway / 1e12:.2f} = {peak / hallway:.0f} FLOP per byte" in BOARD.read(1)


def test_the_square_is_larger_than_all_memory_of_the_chip():
    places = drawn.on_chip().values()
    assert sum(places) < square_bytes(N, 2)
    said = BOARD.read(2)
    assert {f"{size / 2**20:.0f} MiB" for size in (square_bytes(N, 2), *places)} <= set(said)
    assert f"= {sum(places) / 2**20:.0f} MiB" in said[-1]


def test_the_trips_are_those_of_the_library():
    moved = sum(kernel.read + kernel.written for kernel in eager_traffic(N, D, 2))
    said = " ".join(BOARD.read(4))
    assert "6 trips" in said and moved == 6 * square_bytes(N, 2) + qkvo_bytes(N, D, 2)
    assert f"= {mb(moved):.1f} MB" in said and f"{moved / qkvo_bytes(N, D, 2):.0f} times the least" in said
    assert str(N // D) in BOARD.read(3) and 4 * square_bytes(N, 2) == N // D * qkvo_bytes(N, D, 2)


def test_the_counters_saw_what_the_record_says():
    (row,) = [row for row in records.table("hbm_traffic", "whole") if row["form"] == "attention"]
    kept, flushed = (1e6 * row[caches] / square_bytes(N, 2) for caches in ("kept", "flushed"))
    assert {f"{kept:.2f}", f"{flushed:.1f}"} <= set(BOARD.read(5))


def test_the_bars_are_the_four_kernels():
    rows = [row for row in records.table("hbm_traffic", "counted") if row["form"] == "attention"]
    flushed = [row["time"] for row in rows if row["caches"] == "flushed"]
    assert len(flushed) == 4 and {f"{time:.3f} ms" for time in flushed} <= set(BOARD.read(6))


def test_qk_stands_under_the_slope():
    (row,) = [row for row in records.table("roofline", "roofs") if row["step"] == "QKᵀ"]
    assert drawn.intensity() == pytest.approx(row["intensity"], rel=1e-3) == pytest.approx(D / (1 + 2 * D / N))
    assert {f"{row['intensity']:.0f}", f"{row['intensity'] * H100['hbm bandwidth'].value / 1e12:.0f}"} <= set(
        BOARD.read(7)
    )


def test_the_limit_is_that_of_the_ladder():
    lines, least = drawn.lines_and_limit()
    assert least == pytest.approx(limit(N, D, 16, 2).time)
    assert {f"{lines:.1f} ms", f"{least:.1f} ms"} <= set(BOARD.read(8))
