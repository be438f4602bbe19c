"""Appends tokens to a paged cache: one kernel converts or quantises each row.

Nothing touches a row after it's stored.  A block scale of NVFP4 covers 16 numbers of one row,
and the tensor scales are given beforehand, so a new token changes no old one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
import triton
import triton.language as tl
from torch import Tensor

from kernels.checks import check_no_gradient, check_runnable, why_unreadable
from kernels.formats.block_triton import load_blocks, quantize_nvfp4
from kernels.formats.value_triton import encode_e4m3
from kernels.launch_cache import launch

if TYPE_CHECKING:
    from kernels.serving.cache import KVCache

VALUES_PER_PROGRAM = 4096  # at most; 32 a thread


def append_rows(
    cache: KVCache, k: Tensor, v: Tensor, sequences: Tensor | None, launch_entry: dict | None
) -> None:
    """Writes checked rows behind those that the cache has; doesn't change the cache's lengths.

    sequences: int32, the sequence of each batch entry of k and v; if None, all of them in order
    launch_entry: of the launch cache
    """
    n, heads, new_tokens, head_dim = k.shape
    tensors = (
        k, v, cache.keys, cache.values, cache.key_block_scales, cache.value_block_scales,
        sequences, cache.lengths, cache.page_table,
    )  # fmt: skip

    def prepare():
        max_rows = VALUES_PER_PROGRAM // triton.next_power_of_2(head_dim)
        rows = min(triton.next_power_of_2(new_tokens), cache.page_size, max_rows)
        warps = triton.next_power_of_2(max(1, min(4, rows * head_dim // 1024)))
        programs = n * heads * triton.cdiv(new_tokens + rows - 1, rows)
        arguments = (
            *tensors, cache.page_table.stride(0), cache.page_table.shape[1],
            *k.stride()[:3], *v.stride()[:3], cache.key_scale, cache.value_scale,
            heads, new_tokens,
        )  # fmt: skip
        options = dict(
            HEAD_DIM=head_dim, PAGE_SIZE=cache.page_size, FORMAT=cache.format, ROWS=rows,
            num_warps=warps,
        )  # fmt: skip
        return (programs, 2), arguments, options

    launch(append_kernel, launch_entry, sequences is None, tensors, prepare)


def check_rows(cache: KVCache, k: Tensor, v: Tensor, n: int) -> None:
    """Raises a ValueError or TypeError unless k and v are rows for n of the sequences."""
    for name, x in (("key", k), ("value", v)):
        if not isinstance(x, Tensor):
            raise TypeError(f"{name} is {type(x).__name__}, a tensor is wanted")
        if why_unreadable(x):
            raise TypeError(f"{name} is {why_unreadable(x)}")
        if x.ndim != 4:
            raise ValueError(
                f"{name} has {x.ndim} dimensions, [n, kv_heads, new_tokens, head_dim] is wanted"
            )
        expected_shape = [n, cache.kv_heads, k.shape[2], cache.head_dim]
        if list(x.shape) != expected_shape:
            raise ValueError(f"{name} has shape {list(x.shape)}, {expected_shape} is wanted")
        if x.dtype != k.dtype:
            raise TypeError(f"{name} is {x.dtype}, key is {k.dtype}: they must match")
        if x.device != cache.device:
            raise ValueError(
                f"{name} is on {x.device}, the cache is on {cache.device}: they must match"
            )
        check_no_gradient(instead="kernels.reference.attention", **{name: x})
        # The kernel reads BF16 by its bits, which works in the interpreter, too.
        bits = x.view(torch.float16) if x.dtype == torch.bfloat16 else x
        check_runnable(append_kernel, on_cpu="kernels.reference.attention", **{name: bits})


# Triton doesn't compile again when a count changes.  It does when a stride becomes a multiple
# of 16, or is one no longer.
@triton.jit(do_not_specialize=["table_stride", "pages_per_sequence", "heads", "new_tokens"])
def append_kernel(
    k, v, keys, values, key_block_scales, value_block_scales,
    sequences, lengths, page_table, table_stride, pages_per_sequence,
    k_batch, k_head, k_row, v_batch, v_head, v_row,
    key_scale, value_scale, heads, new_tokens,
    HEAD_DIM: tl.constexpr, PAGE_SIZE: tl.constexpr, FORMAT: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    """Writes those of ROWS neighbouring rows of a page that are new, of keys or of values.

    k, v: pointers to contiguous rows; *_batch, *_head, *_row: their strides in elements
    keys, values: pointers to contiguous pages; *_block_scales: to their scales, or None
    sequences: the sequence of each batch entry of k and v; if None, entry i is of sequence i
    heads: of keys and values
    ROWS: a power of two, at most PAGE_SIZE
    """
    # Which head of which batch entry is mine?
    program = tl.program_id(0)
    # New rows may begin in the middle of a program's ROWS.
    programs_per_head = tl.cdiv(new_tokens + ROWS - 1, ROWS)
    # In 64 bits, because offsets may exceed 2**31.
    head = tl.cast(program // programs_per_head % heads, tl.int64)
    batch_index = tl.cast(program // programs_per_head // heads, tl.int64)

    # Which positions are mine, and which page has them?  ROWS divides PAGE_SIZE, so one page
    # has them all.  If a graph is replayed too often, there may be no such page.
    sequence = batch_index
    if sequences is not None:
        sequence = tl.load(sequences + batch_index).to(tl.int64)
    length = tl.load(lengths + sequence)
    first = (length // ROWS + program % programs_per_head) * ROWS
    pages = page_table + sequence * table_stride
    page_index = first // PAGE_SIZE
    mask = (first < length + new_tokens) & (page_index < pages_per_sequence)
    page = tl.load(pages + page_index, mask, -1).to(tl.int64)
    # No page: write nothing (the host would have refused).
    new_tokens = tl.where(page < 0, 0, new_tokens)
    first_row = (page * heads + head) * PAGE_SIZE + first % PAGE_SIZE

    if tl.program_id(1) == 0:
        write_rows(
            k + batch_index * k_batch + head * k_head, k_row, first - length, new_tokens,
            keys, key_block_scales, first_row, key_scale, HEAD_DIM, FORMAT, ROWS,
        )  # fmt: skip
    else:
        write_rows(
            v + batch_index * v_batch + head * v_head, v_row, first - length, new_tokens,
            values, value_block_scales, first_row, value_scale, HEAD_DIM, FORMAT, ROWS,
        )  # fmt: skip


@triton.jit
def write_rows(
    source, stride, first, new_tokens, pages, block_scales, first_row, scale,
    HEAD_DIM: tl.constexpr, FORMAT: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    """Writes ROWS rows of ``source`` from ``first`` on to the cache from ``first_row`` on.

    Rows below 0, or from ``new_tokens`` on, don't exist.  What we write is contiguous, so we
    count blocks of 16 numbers through all rows.
    """
    BLOCKS: tl.constexpr = ROWS * (HEAD_DIM // 16)
    block = tl.arange(0, triton.next_power_of_2(BLOCKS))
    row = first + block // (HEAD_DIM // 16)
    mask = (row >= 0) & (row < new_tokens) & (block < BLOCKS)
    source += row.to(tl.int64) * stride + block % (HEAD_DIM // 16) * 16
    destination = first_row * (HEAD_DIM // 16) + block
    if FORMAT == "nvfp4":
        codes, scales = quantize_nvfp4(to_fp32(load_blocks(source, mask)), scale)
        tl.store(pages + destination[:, None] * 8 + tl.arange(0, 8), codes, mask[:, None])
        tl.store(block_scales + destination, scales, mask)
    else:
        column, mask = tl.arange(0, 16)[None, :], mask[:, None]
        x = tl.load(source[:, None] + column, mask, 0.0)
        if FORMAT == "fp8":
            x = encode_e4m3(to_fp32(x) * tl.div_rn(1.0, scale))
        elif x.dtype != pages.dtype.element_ty:
            x = round_to_bf16(to_fp32(x)) if FORMAT == "bf16" else to_fp32(x).to(tl.float16)
        tl.store(pages + destination[:, None] * 16 + column, x, mask)


@triton.jit
def to_fp32(x):
    """Returns x in FP32.  A BF16 number is the upper half of an FP32 number."""
    if x.dtype == tl.bfloat16:
        x = (x.to(tl.uint16, bitcast=True).to(tl.uint32) << 16).to(tl.float32, bitcast=True)
    return x.to(tl.float32)


@triton.jit
def round_to_bf16(x):
    """Returns FP32 numbers rounded to BF16, to nearest, ties to even; NaN stays NaN."""
    bits = x.to(tl.uint32, bitcast=True)
    bits = tl.where(x == x, bits + 0x7FFF + ((bits >> 16) & 1), 0x7FFF0000)
    return (bits >> 16).to(tl.uint16).to(tl.bfloat16, bitcast=True)
