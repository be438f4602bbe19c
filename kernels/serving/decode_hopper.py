"""Decodes on Hopper, in Gluon: the next keys and values arrive while we multiply these.

``kernels.serving.decode`` says what we compute, how programs share the keys and how we merge
parts.  Here a program reads its piece tile by tile, in a way that suits a Hopper GPU:

    fetch     the Tensor Memory Accelerator (TMA) copies the next tiles into a ring of stages in
              shared memory; each stage has a barrier that says when its tile has come
    multiply  each warp reads keys of its own, as operands of the tensor cores, and has a
              softmax of its own: running maximum, running sum, accumulator
    merge     after the last tile of a key head, the program merges the results of its warps

``kernels.serving.layouts`` has the layouts of those operands, and widens 8 or 4 bits to 16.
"""

from __future__ import annotations

import torch
import triton
from torch import Tensor
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

from kernels.launch_cache import launch
from kernels.serving.cache import KVCache
from kernels.serving.decode_hopper_kernel import decode_hopper_kernel
from kernels.serving.layouts import (
    words_per_row,
)

WARPS = 4
# The fastest on an H100 at head_dim 128: some 64 KB are on their way to each SM, in a few large
# chunks.
PROGRAMS_PER_SM = {"bf16": 1, "fp16": 1, "fp8": 2, "nvfp4": 2}
STAGES = {"bf16": 2, "fp16": 2, "fp8": 2, "nvfp4": 3}  # tiles in use and on their way
SHARED_MEMORY = 228 * 2**10  # bytes of an SM; CUDA takes 1 KB more for each program


def keys_per_warp(head_dim: int) -> int:
    """Returns how many keys a warp reads at a time."""
    return 32 if head_dim < 256 else 16


def keys_per_tile(cache: KVCache) -> int:
    """Returns how many keys a program reads at a time."""
    return WARPS * keys_per_warp(cache.head_dim)


def hopper_program_count(cache: KVCache, rows: int) -> int:
    """Returns as many programs as run at once, so all equal pieces start together."""
    tile_bytes = keys_per_tile(cache) * cache.bytes_per_token // cache.kv_heads
    merge_bytes = WARPS * rows * cache.head_dim * 4  # the outputs of all warps, at the end
    max_per_sm = SHARED_MEMORY // (STAGES[cache.format] * tile_bytes + merge_bytes + 2**10)
    sms = torch.cuda.get_device_properties(cache.device).multi_processor_count
    return sms * max(1, min(max_per_sm, PROGRAMS_PER_SM[cache.format]))


def hopper_decode_parts(
    q: Tensor, cache: KVCache, out: Tensor, lse: Tensor, part_out: Tensor, part_lse: Tensor,
    score_scale: float, rows: int, launch_entry: dict | None,
) -> None:  # fmt: skip
    """Does what ``decode.decode_parts`` does; a block has ``keys_per_tile`` keys."""
    programs, pages = part_out.shape[0], (cache.keys, cache.values)
    scales = (cache.key_block_scales, cache.value_block_scales)
    other_tensors = (cache.page_table, cache.lengths, out, lse, part_out, part_lse)

    def prepare():
        batch, heads, new_tokens, head_dim = q.shape
        words = words_per_row(cache.format, head_dim)
        chunk = min(cache.page_size, keys_per_tile(cache))
        arguments = (
            q, *(make_descriptor(x, chunk, words) for x in pages),
            *(x if x is None else make_scale_descriptor(x, chunk * words // 8) for x in scales),
            *other_tensors, score_scale, cache.value_scale, batch, cache.page_table.stride(0),
            cache.kv_heads, heads // cache.kv_heads, new_tokens,
        )  # fmt: skip
        options = dict(
            HEAD_DIM=head_dim, PAGE_SIZE=cache.page_size, FORMAT=cache.format, ROWS=rows,
            BN=keys_per_warp(head_dim), WARPS=WARPS, STAGES=STAGES[cache.format],
            BATCH=triton.next_power_of_2(batch), num_warps=WARPS, launch_pdl=True,
        )  # fmt: skip
        return (programs,), arguments, options

    launch(
        decode_hopper_kernel,
        launch_entry,
        programs,
        (q, *pages, *scales, *other_tensors),
        prepare,
    )


def make_descriptor(x: Tensor, rows: int, words: int) -> TensorDescriptor:
    """Returns a descriptor by which TMA fetches ``rows`` rows of ``words`` 32-bit words.

    The whole tensor is a table whose lines are rows, or parts of rows, of at most 128 bytes.
    That is as wide as TMA swizzles, so lanes that read below each other use different banks of
    shared memory.
    """
    line = min(words, 32)
    table = x.view(torch.int32).view(-1, line)
    layout = gl.NVMMASharedLayout(swizzle_byte_width=4 * line, element_bitwidth=32, rank=2)
    return TensorDescriptor.from_tensor(table, [rows * words // line, line], layout)


def make_scale_descriptor(x: Tensor, words: int) -> TensorDescriptor:
    """Returns a descriptor by which TMA fetches a chunk's block scales, one line of words."""
    layout = gl.NVMMASharedLayout(swizzle_byte_width=0, element_bitwidth=32, rank=2)
    return TensorDescriptor.from_tensor(x.view(torch.int32).view(-1, words), [1, words], layout)
