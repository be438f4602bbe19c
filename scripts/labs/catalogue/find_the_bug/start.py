"""Find the bug: eight kernels, each wrong in one place.  Give for each an input on
which that shows.

Leave the kernels as they are.  The grader runs its own copies, beside what is
right, on the tensors that you return: each dimension from 1 to 64, every number and
every attention score from -1000 to 1000, and no NaN.  An lse may be -inf.
"""

import torch
import triton
import triton.language as tl

BLOCK = 16


def expose_softmax() -> torch.Tensor:
    """x: [M, N], FP32, for ``softmax``."""
    raise NotImplementedError("write me")


def softmax(x, out):
    """The shares of each row of x.  x, out: [M, N], FP32, contiguous"""
    row = triton.next_power_of_2(x.shape[1])
    softmax_kernel[(x.shape[0],)](x, out, x.shape[1], ROW=row)


@triton.jit
def softmax_kernel(x, out, length, ROW: tl.constexpr):
    place = tl.arange(0, ROW)
    real = place < length
    scores = tl.load(x + tl.program_id(0) * length + place, real, other=0.0)
    powers = tl.where(real, tl.exp(scores - tl.max(scores, 0)), 0.0)
    shares = powers / tl.sum(powers, 0)
    tl.store(out + tl.program_id(0) * length + place, shares, real)


def expose_sums() -> torch.Tensor:
    """x: [M, N], FP32, for ``sums``."""
    raise NotImplementedError("write me")


def sums(x, out):
    """The sum of each row of x.  x: [M, N], out: [M], FP32, contiguous"""
    sums_kernel[(x.shape[0],)](x, out, x.shape[1], BLOCK=BLOCK)


@triton.jit
def sums_kernel(x, out, length, BLOCK: tl.constexpr):
    total = tl.zeros((BLOCK,), tl.float32)
    for first in range(0, length, BLOCK):
        place = first + tl.arange(0, BLOCK)
        real = place < length // BLOCK * BLOCK
        numbers = tl.load(x + tl.program_id(0) * length + place, real, other=0.0)
        total += numbers
    tl.store(out + tl.program_id(0), tl.sum(total, 0))


def expose_dots() -> tuple[torch.Tensor, torch.Tensor]:
    """x, y: [M, N], FP16, for ``dots``."""
    raise NotImplementedError("write me")


def dots(x, y, out):
    """The dot product of each row of x with that row of y.

    x, y: [M, N], FP16   out: [M], FP32   contiguous
    """
    row = triton.next_power_of_2(x.shape[1])
    dots_kernel[(x.shape[0],)](x, y, out, x.shape[1], ROW=row)


@triton.jit
def dots_kernel(x, y, out, length, ROW: tl.constexpr):
    place = tl.arange(0, ROW)
    real = place < length
    first = tl.program_id(0) * length
    xs = tl.load(x + first + place, real, other=0.0)
    ys = tl.load(y + first + place, real, other=0.0)
    products = xs * ys
    tl.store(out + tl.program_id(0), tl.sum(products.to(tl.float32), 0))


def expose_rescaled() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """q: [N_q, 16], k, v: [N_k, 16], FP32, for ``rescaled``."""
    raise NotImplementedError("write me")


def rescaled(q, k, v, out):
    """Attention without a mask.

    q, out: [N_q, 16]   k, v: [N_k, 16]   FP32, contiguous
    """
    programs = triton.cdiv(q.shape[0], BLOCK)
    lengths = q.shape[0], k.shape[0]
    rescaled_kernel[(programs,)](q, k, v, out, *lengths, D=16, BLOCK=BLOCK)


@triton.jit
def rescaled_kernel(
    q, k, v, out, seq_q, seq_k, D: tl.constexpr, BLOCK: tl.constexpr
):  # fmt: skip
    row = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    column = tl.arange(0, D)
    queries = tl.load(q + row[:, None] * D + column, row[:, None] < seq_q, 0.0)
    running_max = tl.full((BLOCK,), float("-inf"), tl.float32)
    running_sum = tl.zeros((BLOCK,), tl.float32)
    accumulator = tl.zeros((BLOCK, D), tl.float32)
    for first in range(0, seq_k, BLOCK):
        key = first + tl.arange(0, BLOCK)
        keys = tl.load(k + key[:, None] * D + column, key[:, None] < seq_k, 0.0)
        values = tl.load(v + key[:, None] * D + column, key[:, None] < seq_k, 0.0)
        scores = tl.dot(queries, tl.trans(keys), input_precision="ieee") * 0.25
        scores = tl.where(key[None, :] < seq_k, scores, float("-inf"))
        new_max = tl.maximum(running_max, tl.max(scores, 1))
        rescale = tl.exp(running_max - new_max)
        weights = tl.exp(scores - new_max[:, None])
        running_sum = running_sum * rescale + tl.sum(weights, 1)
        blend = tl.dot(weights, values, input_precision="ieee")
        accumulator = accumulator + blend
        running_max = new_max
    output = accumulator / running_sum[:, None]
    tl.store(out + row[:, None] * D + column, output, row[:, None] < seq_q)


def expose_ragged() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """q: [N_q, 16], k, v: [N_k, 16], FP32, for ``ragged``."""
    raise NotImplementedError("write me")


def ragged(q, k, v, out):
    """Attention without a mask.

    q, out: [N_q, 16]   k, v: [N_k, 16]   FP32, contiguous
    """
    programs = triton.cdiv(q.shape[0], BLOCK)
    lengths = q.shape[0], k.shape[0]
    ragged_kernel[(programs,)](q, k, v, out, *lengths, D=16, BLOCK=BLOCK)


@triton.jit
def ragged_kernel(
    q, k, v, out, seq_q, seq_k, D: tl.constexpr, BLOCK: tl.constexpr
):  # fmt: skip
    row = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    column = tl.arange(0, D)
    queries = tl.load(q + row[:, None] * D + column, row[:, None] < seq_q, 0.0)
    running_max = tl.full((BLOCK,), float("-inf"), tl.float32)
    running_sum = tl.zeros((BLOCK,), tl.float32)
    accumulator = tl.zeros((BLOCK, D), tl.float32)
    for first in range(0, seq_k, BLOCK):
        key = first + tl.arange(0, BLOCK)
        keys = tl.load(k + key[:, None] * D + column, key[:, None] < seq_k, 0.0)
        values = tl.load(v + key[:, None] * D + column, key[:, None] < seq_k, 0.0)
        scores = tl.dot(queries, tl.trans(keys), input_precision="ieee") * 0.25
        new_max = tl.maximum(running_max, tl.max(scores, 1))
        rescale = tl.exp(running_max - new_max)
        weights = tl.exp(scores - new_max[:, None])
        running_sum = running_sum * rescale + tl.sum(weights, 1)
        blend = tl.dot(weights, values, input_precision="ieee")
        accumulator = accumulator * rescale[:, None] + blend
        running_max = new_max
    output = accumulator / running_sum[:, None]
    tl.store(out + row[:, None] * D + column, output, row[:, None] < seq_q)


def expose_causal() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """q, k, v: [N, 16], FP32, for ``causal``."""
    raise NotImplementedError("write me")


def causal(q, k, v, out):
    """Attention in which each query sees the keys up to its own place.

    q, k, v, out: [N, 16], FP32, contiguous
    """
    causal_kernel[(triton.cdiv(q.shape[0], 2 * BLOCK),)](
        q, k, v, out, q.shape[0], D=16, BLOCK_Q=2 * BLOCK, BLOCK_K=BLOCK
    )


@triton.jit
def causal_kernel(
    q, k, v, out, length,
    D: tl.constexpr, BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    first_row = tl.program_id(0) * BLOCK_Q
    row = first_row + tl.arange(0, BLOCK_Q)
    column = tl.arange(0, D)
    queries = tl.load(q + row[:, None] * D + column, row[:, None] < length, 0.0)
    running_max = tl.full((BLOCK_Q,), float("-inf"), tl.float32)
    running_sum = tl.zeros((BLOCK_Q,), tl.float32)
    accumulator = tl.zeros((BLOCK_Q, D), tl.float32)
    for first in range(0, first_row + BLOCK_K, BLOCK_K):
        key = first + tl.arange(0, BLOCK_K)
        keys = tl.load(k + key[:, None] * D + column, key[:, None] < length, 0.0)
        values = tl.load(v + key[:, None] * D + column, key[:, None] < length, 0.0)
        scores = tl.dot(queries, tl.trans(keys), input_precision="ieee") * 0.25
        seen = (key[None, :] <= row[:, None]) & (key[None, :] < length)
        scores = tl.where(seen, scores, float("-inf"))
        new_max = tl.maximum(running_max, tl.max(scores, 1))
        rescale = tl.exp(running_max - new_max)
        weights = tl.exp(scores - new_max[:, None])
        running_sum = running_sum * rescale + tl.sum(weights, 1)
        blend = tl.dot(weights, values, input_precision="ieee")
        accumulator = accumulator * rescale[:, None] + blend
        running_max = new_max
    output = accumulator / running_sum[:, None]
    tl.store(out + row[:, None] * D + column, output, row[:, None] < length)


def expose_strided() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """q: [N_q, 16], k, v: [N_k, 16], FP32, for ``strided``.

    They may lie in memory in any way.
    """
    raise NotImplementedError("write me")


def strided(q, k, v, out):
    """Attention without a mask, N_k at most 64.

    q, out: [N_q, 16]   k, v: [N_k, 16]   FP32, with any strides
    """
    strides = *q.stride(), *k.stride(), *v.stride(), *out.stride()
    strided_kernel[(q.shape[0],)](q, k, v, out, k.shape[0], *strides, D=16, ROW=64)


@triton.jit
def strided_kernel(
    q, k, v, out, seq_k,
    q_row_stride, q_column_stride, k_row_stride, k_column_stride,
    v_row_stride, v_column_stride, out_row_stride, out_column_stride,
    D: tl.constexpr, ROW: tl.constexpr,
):  # fmt: skip
    column = tl.arange(0, D)
    key = tl.arange(0, ROW)
    real = key[:, None] < seq_k
    query = tl.load(q + tl.program_id(0) * q_row_stride + column * q_column_stride)
    keys = tl.load(k + key[:, None] * k_row_stride + column * k_column_stride, real, other=0.0)
    values = tl.load(v + key[:, None] * k_row_stride + column * v_column_stride, real, other=0.0)
    scores = tl.sum(query[None, :] * keys, 1) * 0.25
    scores = tl.where(key < seq_k, scores, float("-inf"))
    weights = tl.exp(scores - tl.max(scores, 0))
    row = tl.sum(weights[:, None] * values, 0) / tl.sum(weights, 0)
    tl.store(out + tl.program_id(0) * out_row_stride + column * out_column_stride, row)


def expose_merged() -> tuple[torch.Tensor, ...]:
    """lse_a, lse_b: [M], out_a, out_b: [M, 16], FP32, for ``merged``.

    An lse may be -inf.
    """
    raise NotImplementedError("write me")


def merged(lse_a, lse_b, out_a, out_b, out):
    """The output over all keys, from those over two halves, and the lse of either.

    lse_a, lse_b: [M], out_a, out_b, out: [M, 16], FP32, contiguous

    The lse of a half in which a query sees no key is -inf, and its output is 0.  If
    it sees none in either, so is out.
    """
    merged_kernel[(lse_a.shape[0],)](lse_a, lse_b, out_a, out_b, out, D=16)


@triton.jit
def merged_kernel(lse_a, lse_b, out_a, out_b, out, D: tl.constexpr):
    place = tl.program_id(0) * D + tl.arange(0, D)
    a = tl.load(lse_a + tl.program_id(0))
    b = tl.load(lse_b + tl.program_id(0))
    largest = tl.maximum(a, b)
    share_a = tl.exp(a - largest)
    share_b = tl.exp(b - largest)
    total = share_a * tl.load(out_a + place) + share_b * tl.load(out_b + place)
    tl.store(out + place, total / (share_a + share_b))
