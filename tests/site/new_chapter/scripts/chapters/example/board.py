"""Sheet 13: two numbers and their sum."""

from __future__ import annotations

from scripts.chapters.board import Board
from scripts.chapters.example.worked import NUMBERS, SUM


def board() -> Board:
    board = Board()
    board.step("Two numbers, and behind them their sum.")
    board.write(240, 100, f"{NUMBERS[0]} + {NUMBERS[1]} = {SUM}")
    return board
