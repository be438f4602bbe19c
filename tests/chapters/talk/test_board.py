"""The talk: its three words and its large numbers on the board are those of the library."""

import torch

from kernels.bench.cost import attention_flops, eager_traffic, mib, square_bytes
from kernels.bench.hardware import H100
from kernels.reference import attention, weights
from scripts.chapters.talk import board as drawn

Q, K, V = (torch.tensor(table, dtype=torch.float64) for table in (drawn.Q, drawn.K, drawn.V))
BOARD = drawn.board()


def test_the_three_words():
    products, scores = Q @ K.T, Q @ K.T / 2**0.5
    said = "|".join(BOARD.read(2))
    cells = [f"{cell:.0f}" for cell in products[0].tolist()]
    assert "|".join(cells) in said and "|".join(map(drawn.number, scores[0].tolist())) in said
    assert "|".join(map(drawn.number, products[1].tolist())) in said
    assert "|".join(map(drawn.number, products[2].tolist())) in said
    powers = scores[0].exp()
    assert f"{powers[0]:.2f} + {powers[1]:.0f} + {powers[2]:.2f} = {powers.sum():.2f}" in BOARD.read(3)
    parts = (100 * weights(Q, K)[0]).round().tolist()
    assert [text for text in BOARD.read(3) if text.isdigit() and text != "0"] == [f"{part:.0f}" for part in parts]


def test_the_blend_of_the_first_word():
    output = torch.tensor(drawn.blend(drawn.shares()[0]), dtype=torch.float64)
    assert torch.allclose(output, attention(Q, K, V)[0], atol=0.03) and output.sum() == 10
    assert f"= {drawn.vector(output.tolist())}" in BOARD.read(4) and "6 + 4 = 10 ✓" in BOARD.read(4)


def test_the_sizes_and_the_times():
    n, d, size = drawn.WORDS, drawn.DIM, drawn.BYTES
    assert BOARD.read(5).count(f"{mib(square_bytes(n, size)):.0f} MiB") == 2
    assert BOARD.read(5).count(f"{mib(n * d * size):.0f} MiB") == 2
    said = BOARD.read(6)
    as_typed = sum(each.read + each.written for each in eager_traffic(n, d, size))
    small, square = 4 * n * d * size, square_bytes(n, size)
    assert as_typed == small + (drawn.TRIPS + 2) * square  # two more than the textbook's, by the scale
    assert str(drawn.TRIPS * square // small) in said
    cooks = attention_flops(n, d) / H100["bf16 peak"].value
    carried = drawn.TRIPS * square / H100["hbm bandwidth"].value
    assert f"cooks: {1e6 * cooks:.0f} µs" in said and f"hallway: {1e6 * carried:.0f} µs" in said
