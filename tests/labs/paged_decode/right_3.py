"""Blocks of 32 tokens that lie in several pages, in powers of 2; the merge in two passes."""

import triton
import triton.language as tl


def merge_parts(part_out, part_lse, out, lse) -> None:
    batch, splits, d = part_out.shape
    merge_kernel[(batch,)](
        part_out, part_lse, out, lse, splits, out.stride(0), HEAD_DIM=d, SPLITS=triton.next_power_of_2(splits)
    )


@triton.jit
def merge_kernel(part_out, part_lse, out, lse, splits, out_row_stride, HEAD_DIM: tl.constexpr, SPLITS: tl.constexpr):
    sequence = tl.program_id(0)
    largest = -float("inf")
    for piece in range(splits):
        largest = tl.maximum(largest, tl.load(part_lse + sequence * splits + piece))
    column = tl.arange(0, HEAD_DIM)
    total = 0.0
    blend = tl.zeros([HEAD_DIM], tl.float32)
    for piece in range(splits):
        one = tl.load(part_lse + sequence * splits + piece)
        weight = tl.where(one == -float("inf"), 0.0, tl.exp(one - largest))
        total += weight
        blend += weight * tl.load(part_out + (sequence * splits + piece) * HEAD_DIM + column)
    tl.store(out + sequence * out_row_stride + column, blend / tl.where(total > 0.0, total, 1.0))
    tl.store(lse + sequence, tl.where(total > 0.0, largest + tl.log(total), -float("inf")))


def decode_parts(q, keys, values, page_table, lengths, part_out, part_lse, scale: float, splits: int) -> None:
    batch, d = q.shape
    decode_kernel[(batch, splits)](
        q, keys, values, page_table, lengths, part_out, part_lse, scale, splits,
        q.stride(0), *keys.stride()[:2], *values.stride()[:2], page_table.stride(0),
        HEAD_DIM=d, PAGE_SIZE=keys.shape[1],
    )  # fmt: skip


@triton.jit
def decode_kernel(
    q, keys, values, page_table, lengths, part_out, part_lse, scale, splits,
    q_row_stride, key_page_stride, key_row_stride, value_page_stride, value_row_stride, table_row_stride,
    HEAD_DIM: tl.constexpr, PAGE_SIZE: tl.constexpr,
):  # fmt: skip
    sequence, piece = tl.program_id(0), tl.program_id(1)
    BLOCK: tl.constexpr = 32  # tokens a step, from as many pages as it takes
    length = tl.load(lengths + sequence)
    tokens_per_piece = tl.cdiv(tl.cdiv(length, PAGE_SIZE), splits) * PAGE_SIZE
    stop = tl.minimum(piece * tokens_per_piece + tokens_per_piece, length)
    column = tl.arange(0, HEAD_DIM)[None, :]
    query = tl.load(q + sequence * q_row_stride + column).to(tl.float32) * (scale * 1.4426950408889634)
    largest = tl.full([1], -float("inf"), tl.float32)
    total = tl.zeros([1], tl.float32)
    blend = tl.zeros([HEAD_DIM], tl.float32)
    for first in range(piece * tokens_per_piece, stop, BLOCK):
        token = first + tl.arange(0, BLOCK)
        mask = token < stop
        page = tl.load(page_table + sequence * table_row_stride + token // PAGE_SIZE, mask, 0)[:, None]
        row = (token % PAGE_SIZE)[:, None]
        some_keys = tl.load(keys + page * key_page_stride + row * key_row_stride + column, mask[:, None], 0.0)
        scores = tl.where(mask, tl.sum(some_keys.to(tl.float32) * query, 1), -float("inf"))
        new = tl.maximum(largest, tl.max(scores, 0))
        weights = tl.exp2(scores - new)
        rescale = tl.exp2(largest - new)
        some_values = tl.load(values + page * value_page_stride + row * value_row_stride + column, mask[:, None], 0.0)
        blend = blend * rescale + tl.sum(weights[:, None] * some_values, 0)
        total = total * rescale + tl.sum(weights, 0)
        largest = new
    place = sequence * splits + piece
    tl.store(part_out + place * HEAD_DIM + tl.arange(0, HEAD_DIM), blend / tl.maximum(total, 1e-30))
    logarithm = (largest + tl.log2(total)) * 0.6931471805599453
    tl.store(part_lse + place + tl.arange(0, 1), tl.where(total > 0.0, logarithm, -float("inf")))
