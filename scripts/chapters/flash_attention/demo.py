"""Sheet 8: three words tile by tile, what the kernel makes of them, and the gradients on their way back."""

from __future__ import annotations

from collections.abc import Iterator
from math import log

import torch

from kernels.bench.cost import fused_traffic, mb, requested_bytes
from kernels.flash.attention import flash_attention
from kernels.softmax import OnlineSoftmax, exp_below
from scripts.chapters.demo import DEVICE, number_text, table, vector_text
from scripts.chapters.flash_attention.board import BLOCK, BLOCK_Q, BYTES, HEAD_DIM, OUTPUT_GRADIENT, N
from scripts.chapters.three_matmuls.worked import K, Q, V

SNIPPET = "flash_by_hand"
SCALE = log(2)  # so that an exponential is 2 to the power of the dot product


def lines() -> Iterator[str]:
    q, k, v, above = (torch.tensor(rows, dtype=torch.float32) for rows in (Q, K, V, OUTPUT_GRADIENT))
    words = [x[None, None].to(DEVICE).requires_grad_() for x in (q, k, v)]
    out, lse = flash_attention(*words, scale=SCALE, return_lse=True)
    dv = torch.autograd.grad(out, words[2], above[None, None].to(DEVICE))[0][0, 0]
    out, lse = out.detach()[0, 0].cpu(), lse.detach()[0, 0].cpu() / SCALE
    yield f"The square is never there, and out comes {', '.join(map(vector_text, out))}."
    yield ""
    rows = []
    for word, query in enumerate(q):
        cells = [cell for state in states(query, k, v) for cell in state]
        rows.append([vector_text(query), *cells, number_text(lse[word], ".3g"), vector_text(out[word])])
    yield from table(["query", *["max", "sum", "blend"] * 2, "lse", "out"], *rows)
    yield ""
    scores = (q @ k.T * SCALE).requires_grad_()
    shares = scores.softmax(-1)
    (ds,) = torch.autograd.grad(shares @ v, scores, above)
    dp, average = above @ v.T, (above * out).sum(-1)
    rows = [
        [i + 1, in_cell(dp[i]), number_text(average[i]), in_cell(dp[i] - average[i]), in_cell(ds[i]), in_cell(dv[i])]
        for i in range(3)
    ]
    yield from table(["row", "dP", "D", "dP - D", "dS", "dV, by the kernel"], *rows)
    requested, hbm_read = requested_bytes(N, HEAD_DIM, BYTES, BLOCK_Q), fused_traffic(N, HEAD_DIM, BYTES)[0].read
    yield f"{N} words: {mb(requested):.0f} MB asked for, {mb(hbm_read):.1f} MB through HBM"
    yield f"a query leaves {HEAD_DIM * BYTES + lse.element_size()} B, whatever N"


def states(query: torch.Tensor, keys: torch.Tensor, values: torch.Tensor) -> Iterator[tuple[str, str, str]]:
    """Maximum, sum and blend after each block of keys."""
    state, blend = OnlineSoftmax.empty(), torch.zeros(values.shape[-1])
    for block, value in zip(keys.split(BLOCK), values.split(BLOCK), strict=True):
        scores = block @ query * SCALE
        before, state = state, state.update(scores)
        blend = exp_below(before.running_max, state.running_max) * blend + exp_below(scores, state.running_max) @ value
        yield number_text(state.running_max / SCALE), number_text(state.running_sum), vector_text(blend)


def in_cell(numbers: torch.Tensor) -> str:
    """A vector as a table has it, without brackets."""
    return vector_text(numbers)[1:-1]
