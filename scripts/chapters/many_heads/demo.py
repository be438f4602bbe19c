"""Sheet 2: both heads of the board in both forms, the mask, the cells of word 1, and the launches of eight heads."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from kernels.multihead import LoopedMultiHeadAttention, MultiHeadAttention
from kernels.reference import weights
from scripts.chapters.demo import DEVICE, percents, table, vector_text
from scripts.chapters.many_heads.board import HEADS, W_K, W_Q, W_V, WIDTH, WORDS

SNIPPET = "multihead"
LONG_WORDS = 128  # words of the squares that are counted
VIEWS = {"_unsafe_view"}  # of those operators whose schema does not say so


@torch.no_grad()
def lines() -> Iterator[str]:
    looped = LoopedMultiHeadAttention(WIDTH, HEADS).to(DEVICE)
    loop_counts, all_counts = (operator_counts(form) for form in (looped, MultiHeadAttention.from_loop(looped)))
    squares = [count.scores // LONG_WORDS**2 for count in (loop_counts, all_counts)]
    yield f"{loop_counts.launches} launches become {all_counts.launches}, and {squares[0]} squares stay {squares[1]}."
    yield ""
    x, loop = torch.tensor(WORDS, dtype=torch.float64, device=DEVICE), board_heads()
    at_once = MultiHeadAttention.from_loop(loop)
    heads = [(weights(head.query(x), head.key(x)).round(decimals=2), head.value(x)) for head in loop.heads]
    outputs = [form(x[None])[0] for form in (loop, at_once)]
    rows = []
    for word in range(len(WORDS)):
        cells = [cell for shares, v in heads for cell in (percents(shares[word]), vector_text(shares[word] @ v))]
        rows.append([word + 1, *cells, vector_text(outputs[1][word], ".3g")])
    yield from table(["word", "head 1", "output", "head 2", "output", "both, shares not rounded"], *rows)
    yield f"the loop and all at once {'agree' if torch.allclose(*outputs) else 'DIFFER'}"
    q, k, v = (getattr(loop.heads[0], name)(x) for name in ("query", "key", "value"))
    causal = weights(q, k, is_causal=True).round(decimals=2) @ v
    yield f"causal, head 1: {'  '.join(vector_text(row) for row in causal)}"
    cells = torch.arange(len(WORDS) * 4).view(1, 2, len(WORDS), 2)  # as the heads leave them
    word_cells = cells.transpose(1, 2).reshape(len(WORDS), -1)[0].tolist()
    steps = [after - before for before, after in pairwise(word_cells)]
    cells, steps = (", ".join(map(str, numbers)) for numbers in (word_cells, steps))
    yield f"word 1 lies in {cells}, steps {steps}: no stride does that, copy"
    yield f"{LONG_WORDS} words: {squares[1]} · {LONG_WORDS}² = {all_counts.scores:,} scores"


def board_heads() -> LoopedMultiHeadAttention:
    """The board's two heads: no bias, and an output projection that hands on what it gets."""
    loop = LoopedMultiHeadAttention(len(WORDS[0]), 2).double().to(DEVICE)
    for parameter in loop.parameters():
        parameter.zero_()
    for head, (query_rows, key_rows) in zip(loop.heads, ((W_Q, W_K), (W_K, W_Q)), strict=True):
        for name, rows in (("query", query_rows), ("key", key_rows), ("value", W_V)):
            getattr(head, name).weight.copy_(torch.tensor(rows))
    loop.output.weight.copy_(torch.eye(len(WORDS[0])))
    return loop


class OperatorCounter(TorchDispatchMode):
    """Counts the operators that compute or copy something, on a GPU a kernel each, and the scores of all softmaxes."""

    def __init__(self):
        super().__init__()
        self.launches = self.scores = 0

    def __torch_dispatch__(self, operator, types, args=(), kwargs=None):
        out, name = operator(*args, **kwargs or {}), operator.overloadpacket.__name__
        is_view = name in VIEWS or any(answer.alias_info for answer in operator._schema.returns)
        self.launches += not is_view
        self.scores += out.numel() if name == "_softmax" else 0
        return out


def operator_counts(form: torch.nn.Module) -> OperatorCounter:
    x = torch.randn(1, LONG_WORDS, WIDTH, device=DEVICE)
    with OperatorCounter() as counter:
        form(x)
    return counter
