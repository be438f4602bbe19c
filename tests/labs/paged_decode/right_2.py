"""A token at a time, in two passes; the merge takes one piece after the other."""

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
    column = tl.arange(0, HEAD_DIM)
    blend = tl.zeros([HEAD_DIM], tl.float32)
    sofar = -float("inf")
    for piece in range(splits):  # one merge of two after the other
        place = sequence * splits + piece
        other = tl.load(part_lse + place)
        if other > -float("inf"):
            larger = tl.maximum(sofar, other)
            both = larger + tl.log(tl.exp(sofar - larger) + tl.exp(other - larger))
            blend = blend * tl.exp(sofar - both) + tl.load(part_out + place * HEAD_DIM + column) * tl.exp(other - both)
            sofar = both
    tl.store(out + sequence * out_row_stride + column, blend)
    tl.store(lse + sequence, sofar)


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
    pages = (length + PAGE_SIZE - 1) // PAGE_SIZE
    tokens_per_piece = (pages + splits - 1) // splits * PAGE_SIZE
    column = tl.arange(0, HEAD_DIM)
    query = tl.load(q + sequence * q_row_stride + column).to(tl.float32) * scale
    # Two passes, a token at a time: first the maximum, then the sums.
    largest = -float("inf")
    for token in range(piece * tokens_per_piece, tl.minimum(piece * tokens_per_piece + tokens_per_piece, length)):
        page = tl.load(page_table + sequence * table_row_stride + token // PAGE_SIZE)
        key = tl.load(keys + page * key_page_stride + token % PAGE_SIZE * key_row_stride + column).to(tl.float32)
        largest = tl.maximum(largest, tl.sum(key * query))
    total = 0.0
    blend = tl.zeros([HEAD_DIM], tl.float32)
    for token in range(piece * tokens_per_piece, tl.minimum(piece * tokens_per_piece + tokens_per_piece, length)):
        page = tl.load(page_table + sequence * table_row_stride + token // PAGE_SIZE)
        key = tl.load(keys + page * key_page_stride + token % PAGE_SIZE * key_row_stride + column).to(tl.float32)
        weight = tl.exp(tl.sum(key * query) - largest)
        total += weight
        blend += weight * tl.load(values + page * value_page_stride + token % PAGE_SIZE * value_row_stride + column).to(
            tl.float32
        )
    if total > 0.0:
        tl.store(part_out + (sequence * splits + piece) * HEAD_DIM + column, blend / total)
        tl.store(part_lse + sequence * splits + piece, largest + tl.log(total))
    else:
        tl.store(part_out + (sequence * splits + piece) * HEAD_DIM + column, blend)
        tl.store(part_lse + sequence * splits + piece, -float("inf"))
