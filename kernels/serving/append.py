"""The kernel that appends tokens to a paged cache, and converts or quantises each row.

A row that is stored is never touched again.  A block scale of NVFP4 covers 16 numbers of one
row, and the tensor scales are given beforehand, so that a new token changes no old one.
"""

from __future__ import annotations

import triton
import triton.language as tl

from kernels.formats.block_triton import load_blocks, quantize_nvfp4
from kernels.formats.value_triton import encode_e4m3


# Triton does not compile anew when a count changes; it does for a stride that is divisible by
# 16 and one that is not.
@triton.jit(do_not_specialize=["pages_per_sequence", "heads", "new"])
def append_kernel(
    k, v, keys, values, key_block_scales, value_block_scales,
    sequences, lengths, page_table, pages_per_sequence,
    k_batch, k_head, k_row, v_batch, v_head, v_row,
    key_scale, value_scale, heads, new,
    HEAD_DIM: tl.constexpr, PAGE_SIZE: tl.constexpr, FORMAT: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    """ROWS neighbouring rows of a page, of keys or of values: those of them that are new.

    k, v: pointers to rows that are contiguous; *_batch to *_row: strides in elements
    keys to value_block_scales: pointers to contiguous pages, of scales or None
    sequences: which sequence each entry of k and v belongs to   heads: of keys and values
    ROWS: a power of two, at most PAGE_SIZE
    """
    # Which head of which entry is mine?
    program = tl.program_id(0)
    programs_a_head = tl.cdiv(new + ROWS - 1, ROWS)  # new rows need not begin where mine do
    head = tl.cast(program // programs_a_head % heads, tl.int64)
    entry = tl.cast(program // programs_a_head // heads, tl.int64)  # offsets may pass 2**31

    # Which positions, and where are they?  ROWS divides PAGE_SIZE: all of them in one page.
    sequence = tl.load(sequences + entry).to(tl.int64)
    length = tl.load(lengths + sequence)
    first = (length // ROWS + program % programs_a_head) * ROWS
    pages = page_table + sequence * pages_per_sequence
    page = tl.load(pages + first // PAGE_SIZE, first < length + new, 0).to(tl.int64)
    first_row = (page * heads + head) * PAGE_SIZE + first % PAGE_SIZE

    if tl.program_id(1) == 0:
        write_rows(
            k + entry * k_batch + head * k_head, k_row, first - length, new,
            keys, key_block_scales, first_row, key_scale, HEAD_DIM, FORMAT, ROWS,
        )  # fmt: skip
    else:
        write_rows(
            v + entry * v_batch + head * v_head, v_row, first - length, new,
            values, value_block_scales, first_row, value_scale, HEAD_DIM, FORMAT, ROWS,
        )  # fmt: skip


@triton.jit
def write_rows(
    source, stride, first, new, pages, block_scales, first_row, scale,
    HEAD_DIM: tl.constexpr, FORMAT: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    """Rows ``first`` to ``first + ROWS`` of ``source`` to the cache's rows from ``first_row``.

    Those below 0 or from ``new`` on are none.  What is written lies side by side: it is counted
    through all rows in blocks of 16 numbers.
    """
    BLOCKS: tl.constexpr = ROWS * (HEAD_DIM // 16)
    block = tl.arange(0, triton.next_power_of_2(BLOCKS))
    row = first + block // (HEAD_DIM // 16)
    real = (row >= 0) & (row < new) & (block < BLOCKS)
    source += row.to(tl.int64) * stride + block % (HEAD_DIM // 16) * 16
    to = first_row * (HEAD_DIM // 16) + block
    if FORMAT == "nvfp4":
        codes, scales = quantize_nvfp4(widened(load_blocks(source, real)), scale)
        tl.store(pages + to[:, None] * 8 + tl.arange(0, 8), codes, real[:, None])
        tl.store(block_scales + to, scales, real)
    else:
        place, real = tl.arange(0, 16)[None, :], real[:, None]
        x = tl.load(source[:, None] + place, real, 0.0)
        if FORMAT == "fp8":
            x = encode_e4m3(widened(x) * tl.div_rn(1.0, scale))
        elif x.dtype != pages.dtype.element_ty:
            x = rounded_to_bf16(widened(x)) if FORMAT == "bf16" else widened(x).to(tl.float16)
        tl.store(pages + to[:, None] * 16 + place, x, real)


@triton.jit
def widened(x):
    """x in FP32.  BF16 is the upper half of an FP32 number."""
    if x.dtype == tl.bfloat16:
        x = (x.to(tl.uint16, bitcast=True).to(tl.uint32) << 16).to(tl.float32, bitcast=True)
    return x.to(tl.float32)


@triton.jit
def rounded_to_bf16(x):
    """The upper half of FP32 numbers, rounded to nearest, ties to even; NaN stays NaN."""
    bits = x.to(tl.uint32, bitcast=True)
    bits = tl.where(x == x, bits + 0x7FFF + ((bits >> 16) & 1), 0x7FFF0000)
    return (bits >> 16).to(tl.uint16).to(tl.bfloat16, bitcast=True)
