"""Softmax of a row three ways: naive, safe, and online, for a row that arrives in pieces.

The naive softmax overflows.  The safe one subtracts the maximum, so it must have seen the whole
row.  The online one remembers two numbers while it reads, ``(running_max, running_sum)``, and
they form an algebra:

    update   state, block -> state      a block of scores arrives
    merge    state, state -> state      two parts of a row were read separately; commutative,
                                        and associative up to rounding
    empty    (-inf, 0)                  the identity of merge: nothing of the row was read

Source: M. Milakov and N. Gimelshein, "Online normalizer calculation for softmax", 2018,
arXiv:1805.02867.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor
from triton.language.core import TRITON_MAX_TENSOR_NUMEL

from kernels.checks import check_no_gradient, check_runnable


def naive_softmax(scores: Tensor) -> Tensor:
    """Returns softmax along the last axis by the plain formula: wrong for large scores.

    exp overflows FP32 above 88.7 and FP16 above 11.09: inf, then inf / inf = NaN.
    Nothing crashes.
    """
    exponentials = scores.exp()
    return exponentials / exponentials.sum(-1, keepdim=True)


def safe_softmax(scores: Tensor) -> Tensor:
    """Returns softmax along the last axis; subtracts the maximum first, so exp can't overflow.

    A row of nothing but -inf gives NaN here, and 0 in the kernel below.
    """
    return naive_softmax(scores - scores.amax(-1, keepdim=True))


class OnlineSoftmax(NamedTuple):
    """What we remember of the scores read so far, one FP32 entry for each row.

    running_max: [...] the largest score
    running_sum: [...] the sum of ``exp(score - running_max)``
    """

    running_max: Tensor
    running_sum: Tensor

    @classmethod
    def empty(cls, *shape: int, device: torch.device | str | None = None) -> OnlineSoftmax:
        """Returns the state before anything is read: (-inf, 0), of that shape."""
        return cls(
            torch.full(shape, -torch.inf, device=device), torch.zeros(shape, device=device)
        )

    def update(self, block: Tensor) -> OnlineSoftmax:
        """Returns the state after one more block of scores, ``[..., block]``."""
        if block.ndim == 0:
            raise ValueError("block has 0 dimensions, [..., block] is wanted")
        if block.shape[-1] == 0:
            return self
        block = block.float()  # a sum of FP16 exponentials would overflow
        block_max = block.amax(-1)
        return self.merge(
            OnlineSoftmax(block_max, exp_below(block, block_max.unsqueeze(-1)).sum(-1))
        )

    def merge(self, other: OnlineSoftmax) -> OnlineSoftmax:
        """Returns the state of both parts; rescaling by ``exp(old - new)`` is the trick."""
        new_max = torch.maximum(self.running_max, other.running_max)
        return OnlineSoftmax(
            new_max,
            self.running_sum * exp_below(self.running_max, new_max)
            + other.running_sum * exp_below(other.running_max, new_max),
        )

    @property
    def lse(self) -> Tensor:
        """The log-sum-exp of the scores; -inf for an empty row."""
        return self.running_max + self.running_sum.log()


def exp_below(score: Tensor, maximum: Tensor) -> Tensor:
    """Returns ``exp(score - maximum)``, and 0 if both are -inf, whose difference is NaN."""
    return torch.where(score == -torch.inf, 0.0, (score - maximum).exp())


def softmax(scores: Tensor, *, block: int = 1024) -> Tensor:
    """Returns softmax of each row, ``[rows, columns]``, in Triton: one program for each row.

    It computes in FP32.  For M rows of N scores it reads 2·M·N numbers and writes M·N.  A fully
    masked row (all -inf) gives zeros.
    block: scores that a program reads at a time; from 2^16 on the compiler takes its time, and
    at 2^17 most of a minute

    Raises:
        ValueError: if ``scores`` is not 2-D, requires a gradient, or is on a CPU outside the
            interpreter; if ``block`` is not a power of two, or above 2^20.
        TypeError: if ``scores`` is not FP32, FP16 or BF16, or BF16 in the interpreter.
    """
    if not isinstance(scores, Tensor):
        raise TypeError(f"scores is {type(scores).__name__}, a tensor is wanted")
    if scores.ndim != 2:
        raise ValueError(f"scores has {scores.ndim} dimensions, [rows, columns] is wanted")
    if not isinstance(block, int) or isinstance(block, bool):
        raise TypeError(f"block is {type(block).__name__}, an int is wanted")
    if block < 1 or block & (block - 1):
        raise ValueError(f"block is {block}: Triton blocks are powers of two")
    if block > TRITON_MAX_TENSOR_NUMEL:
        raise ValueError(
            f"block is {block}: a Triton block has at most {TRITON_MAX_TENSOR_NUMEL} numbers"
        )
    check_runnable(softmax_kernel, on_cpu="kernels.softmax.safe_softmax", scores=scores)
    check_no_gradient(instead="kernels.softmax.safe_softmax", scores=scores)
    rows, columns = scores.shape
    out = torch.empty_like(scores, memory_format=torch.contiguous_format)
    if scores.numel():
        with torch.cuda.device_of(scores):
            softmax_kernel[(rows,)](scores, out, columns, *scores.stride(), BLOCK=block)
    return out


@triton.jit
def softmax_kernel(scores, out, columns, row_stride, column_stride, BLOCK: tl.constexpr):
    """Reads one row for its state and again for its weights.  Strides are in elements."""
    row = tl.program_id(0).to(tl.int64)  # rows · columns may exceed 2**31
    row_scores = scores + row * row_stride
    running_max = -float("inf")
    running_sum = 0.0

    # First reading: the state.                                     reads N
    for start in range(0, columns, BLOCK):
        column = start + tl.arange(0, BLOCK).to(tl.int64)
        block = tl.load(
            row_scores + column * column_stride, column < columns, -float("inf")
        ).to(tl.float32)
        new_max = tl.maximum(running_max, tl.max(block))
        safe_max = tl.where(new_max == -float("inf"), 0.0, new_max)
        running_sum = running_sum * tl.exp(running_max - safe_max) + tl.sum(
            tl.exp(block - safe_max)
        )
        running_max = new_max

    # Second reading: the weights.                                  reads N, writes N
    safe_max = tl.where(running_max == -float("inf"), 0.0, running_max)
    safe_sum = tl.where(running_sum == 0.0, 1.0, running_sum)
    for start in range(0, columns, BLOCK):
        column = start + tl.arange(0, BLOCK).to(tl.int64)
        block = tl.load(
            row_scores + column * column_stride, column < columns, -float("inf")
        ).to(tl.float32)
        weights = tl.exp(block - safe_max) / safe_sum
        tl.store(
            out + row * columns + column,
            weights.to(out.dtype.element_ty),
            column < columns,
        )
