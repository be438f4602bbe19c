"""A page at a time, with a running maximum and sum; the merge has all pieces at once."""

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
    piece = tl.arange(0, SPLITS)
    column = tl.arange(0, HEAD_DIM)
    real = piece < splits
    lses = tl.load(part_lse + sequence * splits + piece, real, -float("inf"))
    place = (sequence * splits + piece[:, None]) * HEAD_DIM + column[None, :]
    outs = tl.load(part_out + place, real[:, None], 0.0)
    largest = tl.max(lses, 0)
    safe = tl.where(largest == -float("inf"), 0.0, largest)
    weights = tl.exp(lses - safe)
    total = tl.sum(weights, 0)
    output = tl.sum(weights[:, None] * outs, 0) / tl.where(total == 0.0, 1.0, total)
    tl.store(out + sequence * out_row_stride + column, output.to(out.dtype.element_ty))
    tl.store(lse + sequence, safe + tl.log(total))


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
    length = tl.load(lengths + sequence)
    pages_per_piece = tl.cdiv(tl.cdiv(length, PAGE_SIZE), splits)
    column = tl.arange(0, HEAD_DIM)
    query = tl.load(q + sequence * q_row_stride + column).to(tl.float32)
    running_max = -float("inf")
    running_sum = 0.0
    accumulator = tl.zeros([HEAD_DIM], tl.float32)
    stop = tl.minimum((piece + 1) * pages_per_piece * PAGE_SIZE, length)
    for first in range(piece * pages_per_piece * PAGE_SIZE, stop, PAGE_SIZE):
        page = tl.load(page_table + sequence * table_row_stride + first // PAGE_SIZE)
        row = tl.arange(0, PAGE_SIZE)
        real = first + row < length
        key_place = page * key_page_stride + row[:, None] * key_row_stride + column[None, :]
        value_place = page * value_page_stride + row[:, None] * value_row_stride + column[None, :]
        page_keys = tl.load(keys + key_place, real[:, None], 0.0).to(tl.float32)
        page_values = tl.load(values + value_place, real[:, None], 0.0).to(tl.float32)
        scores = tl.where(real, tl.sum(page_keys * query[None, :], 1) * scale, -float("inf"))
        new_max = tl.maximum(running_max, tl.max(scores, 0))
        rescale = tl.exp(running_max - new_max)
        weights = tl.exp(scores - new_max)
        running_sum = running_sum * rescale + tl.sum(weights, 0)
        accumulator = accumulator * rescale + tl.sum(weights[:, None] * page_values, 0)
        running_max = new_max
    place = sequence * splits + piece
    output = accumulator / tl.where(running_sum == 0.0, 1.0, running_sum)
    tl.store(part_out + place * HEAD_DIM + column, output)
    tl.store(part_lse + place, running_max + tl.log(tl.where(running_sum == 0.0, 1.0, running_sum)))
