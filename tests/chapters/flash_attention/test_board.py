"""Sheet 8: the board says what the library computes: states, shares, gradients, bytes, and whom PyTorch took."""

import math
from itertools import pairwise

import torch

from kernels.bench.cost import mb, mib, requested_bytes, square_bytes
from kernels.softmax import OnlineSoftmax
from scripts import records
from scripts.chapters.flash_attention import board as drawn

LN_2 = math.log(2)  # of a dot product: the score whose e to the power is 2 to the power of the product
Q, K, V, GRADIENT = (torch.tensor(rows, dtype=torch.float64) for rows in (drawn.Q, drawn.K, drawn.V, drawn.GRADIENT))
SCORES = Q @ K.T * LN_2
BOARD = drawn.board()


def joined(step):
    return " ".join(BOARD.read(step))


def runs(written, line):
    """Whether these words stand one after the other on the board."""
    return line in [written[i : i + len(line)] for i in range(len(written))]


def test_each_query_has_the_states_of_the_library_and_ends_at_its_output():
    written = BOARD.read(2)
    for scores, query in zip(SCORES, drawn.Q, strict=True):
        line, state = [drawn.vector(query)], OnlineSoftmax.empty()
        for seen, block in zip((2, 3), scores.split(drawn.BLOCK), strict=True):
            state = state.update(block)
            blend = state.running_sum * (scores[:seen].softmax(-1) @ V[:seen])
            line += [drawn.say(state.running_max / LN_2), drawn.say(state.running_sum), drawn.vector(blend)]
        assert runs(written, line)
        assert drawn.vector(scores.softmax(-1) @ V) in written


def test_the_mark_moves_for_the_second_query_alone():
    moved = [one.maximum < two.maximum for query in drawn.Q for one, two in pairwise(drawn.streamed(query))]
    assert moved == [False, True, False]


def test_a_tile_and_what_a_query_leaves_have_their_bytes():
    said = joined(3)
    assert f"{mib(64 * 8192 * 4):.0f} MiB" in said and f"{64 * 128 * 4 // 1024} KiB" in said
    assert f"{(torch.empty(1, 128).half().nbytes + torch.empty(1).nbytes)} B" in said
    assert square_bytes(8192, 4) // 128 == 64 * 8192 * 4


def test_half_the_tiles_of_a_causal_square_are_read():
    read = torch.ones(drawn.BLOCKS, drawn.BLOCKS).tril().count_nonzero().item()
    assert f"= {read}" in joined(4) and f"{100 * read / drawn.BLOCKS**2:.0f} %" in joined(4)


def test_what_is_asked_for_and_what_hbm_brings():
    (counted,) = [row for row in records.table("hbm_traffic", "whole") if row["form"] == "flash_attention"]
    assert f"{mb(requested_bytes(8192, 128, 2, 64)):.0f} MB" in joined(5)
    assert f"{counted['flushed']:.1f} MB" in joined(5)


def test_one_number_gives_each_share():
    lse = torch.logsumexp(SCORES[1], -1) / LN_2
    assert runs(BOARD.read(6), [f"lse = {drawn.say(Q[1] @ K[2])} + log_{{2}} 2 =", drawn.say(lse)])
    assert [word for word in BOARD.read(6) if word.startswith("0")] == [drawn.say(x) for x in SCORES[1].softmax(-1)]


def test_the_gradients_are_those_of_autograd():
    scores = SCORES.clone().requires_grad_()
    shares = scores.softmax(-1)
    shares.retain_grad()
    (shares @ V).backward(GRADIENT)
    for i, written in ((0, BOARD.read(7)), (1, BOARD.read(8)), (2, BOARD.read(8))):
        average = (shares[i] * shares.grad[i]).sum().detach()
        rows = (shares.grad[i], average.reshape(1), shares.grad[i] - average, scores.grad[i])
        cells = [", ".join(drawn.say(round(float(x), 9) + 0.0) for x in row) for row in rows]
        assert runs(written, [str(i + 1), *cells])


def test_the_outputs_of_the_demo_are_ticked_off_and_pytorch_took_the_ticked_one():
    assert all(drawn.vector(scores.softmax(-1) @ V) in BOARD.read(9) for scores in SCORES)
    masked = next(row for row in records.table("sdpa_backends", "chosen") if row["case"] == "a mask")
    heights = [(ink.text, ink.area[1] + ink.area[3]) for ink in BOARD.ink if ink.text and ink.on(9)]
    ticks = [height for text, height in heights if text == "✓"]
    assert masked["chosen"] == "sdpa_cudnn" and ("cuDNN", ticks[-1]) in heights and len(ticks) == len(SCORES) + 1
