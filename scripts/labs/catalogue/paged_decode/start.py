"""Decode: one query of each sequence against its cache, which lies in pages and is
read by several programs, whose results are merged.
"""

import triton
import triton.language as tl


def merge_parts(part_out, part_lse, out, lse) -> None:
    """Merges what the pieces of each sequence have left: output and lse of all.

    part_out: [batch, splits, d], FP32, contiguous, the output of each piece,
        divided as if it were alone; 0 without tokens
    part_lse: [batch, splits], FP32, contiguous, the natural logarithm of each
        piece's sum of exp(score); -inf without tokens
    out: [batch, d], FP32 or FP16   lse: [batch], FP32

    A sequence without any token gets 0 and -inf.  This launches a program for each
    sequence.  It is right as it stands.
    """
    batch, splits, d = part_out.shape
    merge_kernel[(batch,)](
        part_out, part_lse, out, lse, splits, out.stride(0),
        HEAD_DIM=d, SPLITS=triton.next_power_of_2(splits),
    )  # fmt: skip


@triton.jit
def merge_kernel(
    part_out, part_lse, out, lse, splits, out_row_stride,
    HEAD_DIM: tl.constexpr, SPLITS: tl.constexpr,
):  # fmt: skip
    """One sequence.

    SPLITS: the first power of two that is no less than splits, for tl.arange
    """
    raise NotImplementedError("write me")


def decode_parts(
    q, keys, values, page_table, lengths, part_out, part_lse,
    scale: float, splits: int,
) -> None:  # fmt: skip
    """Attention of each query over each piece of its cache, and what each weighs.

    q: [batch, d], FP32 or FP16; d is 16 or 32
    keys, values: [pages, page_size, d], of q's dtype; page_size is 8 or 16; rows
        contiguous, but maybe apart
    page_table: [batch, pages_per_sequence], int32; -1 follows the last page of a
        sequence.  Its token t lies in page page_table[sequence, t // page_size],
        row t % page_size
    lengths: [batch], int32, the tokens of each sequence; may be 0
    part_out: [batch, splits, d]   part_lse: [batch, splits], both FP32, contiguous

    The pages of a sequence are cut into pieces of cdiv(its pages, splits) pages
    each, in their order; the last pieces may have fewer, or none.  A piece leaves
    its output, divided as if it were alone, and its lse, the natural logarithm of
    its sum of exp(scale · (q · key)).  A piece without tokens leaves zeros and
    -inf.  What lies in a page behind the last token is not to be used, whatever it
    is.  All arithmetic is in FP32.  This launches a program for each piece of each
    sequence.  It is right as it stands.
    """
    batch, d = q.shape
    decode_kernel[(batch, splits)](
        q, keys, values, page_table, lengths, part_out, part_lse, scale, splits,
        q.stride(0), *keys.stride()[:2], *values.stride()[:2], page_table.stride(0),
        HEAD_DIM=d, PAGE_SIZE=keys.shape[1],
    )  # fmt: skip


@triton.jit
def decode_kernel(
    q, keys, values, page_table, lengths, part_out, part_lse, scale, splits,
    q_row_stride, key_page_stride, key_row_stride,
    value_page_stride, value_row_stride, table_row_stride,
    HEAD_DIM: tl.constexpr, PAGE_SIZE: tl.constexpr,
):  # fmt: skip
    """One piece of one sequence: program (sequence, piece).

    *_stride: how far apart in memory neighbouring rows or pages are, in numbers
    """
    raise NotImplementedError("write me")
