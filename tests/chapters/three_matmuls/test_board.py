"""Sheet 1: the board says what the library computes of the three words, step by step."""

import torch

from kernels.bench.cost import mib, square_bytes
from kernels.reference import attention, weights
from scripts.chapters.three_matmuls import board as drawn

Q, K, V = (torch.tensor(table, dtype=torch.float64) for table in (drawn.Q, drawn.K, drawn.V))
BOARD = drawn.board()


def close(found, wanted, within=1e-9):
    return torch.allclose(torch.tensor(found, dtype=torch.float64), wanted, rtol=0, atol=within)


def rows(table) -> list[list[str]]:
    return [[drawn.number(value) for value in row] for row in table.tolist()]


def holds(step: int, wanted: list[list[str]]) -> bool:
    """Whether what is written after this step has all of these, one after another."""
    said, flat = "|".join(BOARD.read(step)), "|".join(cell for row in wanted for cell in row)
    return flat in said


def test_the_dot_products_of_the_second_step():
    said = BOARD.read(2)
    query = torch.tensor(drawn.ASKS)
    sums = [float(query @ torch.tensor(key, dtype=query.dtype)) for key in drawn.OFFERS]
    assert sums == [1, -1, 0, 0]
    assert [text for text in said if text[:2] in ("= ", "1 ", "su")] == ["sum = 1.00", "= -1.00", "= 0.00", "1 - 1 = 0"]
    assert said.count(".5") == 4 and "-0" not in said  # in q, in k, and twice among the products


def test_the_grid_and_the_scores():
    for i, row in enumerate(rows(Q @ K.T)):
        assert holds(3, [["[1, 0]", *row] if i == 0 else row])
    assert all(holds(4, [row]) for row in rows(Q @ K.T / 2**0.5)) and "1.41" in BOARD.read(4)


def test_the_exponentials_their_sums_and_the_shares():
    powers, shares = (Q @ K.T / 2**0.5).exp(), weights(Q, K)
    assert close(drawn.shares(), shares) and close(drawn.at_the_board(), shares, 0.005)
    for row, part in zip(powers, (100 * shares).round().tolist(), strict=True):
        wanted = [*rows(row[None])[0], f"{row.sum():.2f}", "  ".join(f"{each:.0f}" for each in part) + " %"]
        assert holds(5, [wanted])


def test_the_output_at_the_board_is_that_of_the_library_but_for_the_rounded_shares():
    output = attention(Q, K, V)
    written = [drawn.blend(row) for row in drawn.at_the_board()]
    assert close(written, output, 0.03)
    assert holds(6, [["6", "4"]]) and holds(6, [["5", "5", "4", "6"]]) and "= [6, 4]" in BOARD.read(6)
    assert all(abs(sum(row) - 10) < 1e-9 for row in written)
    printed = "  ".join(f"{share:.3f}" for share in weights(Q, K)[0].tolist())
    assert f"{printed}   →   [{', '.join(f'{value:.3f}' for value in output[0].tolist())}]" in BOARD.read(7)


def test_the_shapes_and_the_size_of_the_square():
    q, k, v = torch.zeros(3, *drawn.SHAPE, device="meta")
    shapes = [f"{n}×{m}" for n, m in (q.shape, (q @ k.T).shape, (q @ k.T @ v).shape)]  # noqa: RUF001
    assert [text for text in BOARD.read(7) if "×" in text] == shapes  # noqa: RUF001
    said = BOARD.read(8)
    assert f"{mib(square_bytes(drawn.WORDS, drawn.BYTES)):.0f} MiB" in said
    assert f"{mib(drawn.WORDS * drawn.DIM * drawn.BYTES):.0f} MiB each" in " ".join(said)
