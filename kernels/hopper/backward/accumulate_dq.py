"""Accumulates dq: many programs add to FP32 sums in global memory, if need be in a fixed order.

A consumer writes a block of 64 by 64 into shared memory, and TMA adds it to the sums, 16 KiB at
a time.  In both memories a block keeps the order of the registers that it comes from, so no
number moves between threads, and each thread writes 16 bytes beside its neighbour's.
``backward_postprocess_kernel`` knows that order.

Adding from registers, by ``red.global.add.v4.f32``, was slower: the fence that lets wgmma see
shared memory is compiled to one that waits for everything the thread has under way, additions
included.

An FP32 sum depends on the order of its terms.  To make two runs agree bit for bit, each block
has a counter, and a program waits until all programs before it have added.  CUDA doesn't
promise to start programs in the order of the grid, so another counter numbers them as they
start, and a program only waits for smaller numbers, which are already running.
"""

from __future__ import annotations

from triton._C.libtriton import ir
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language._core import builtin
from triton.experimental.gluon.language.nvidia.hopper import fence_async_shared, tma

from kernels.hopper.ring import WGMMA_M

# A barrier of the warps of one function; Triton 3.7 renamed it.
warpgroup_barrier = gl.barrier if hasattr(gl, "barrier") else gl.thread_barrier


@builtin
def async_add(tensor, coordinates, tile, _semantic=None):
    """Starts tensor += tile by TMA: Gluon 3.6 has the instruction but no function for it."""
    coordinates = _semantic._convert_to_ir_values(coordinates, require_i64=False)
    _semantic.builder.create_async_tma_reduce(
        ir.DESCRIPTOR_REDUCE_KIND.ADD, tensor.handle, coordinates, tile.handle
    )


@gluon.jit
def lay_out(tile, PENDING: gl.constexpr, block):
    """Writes a block, [64, 64], into a tile, as ``backward_postprocess_kernel`` will read it.

    tile: free once at most PENDING of this consumer's copies are still being read
    """
    # Of every eight columns, a thread has two neighbours in each of two rows.  From warp, which
    # of the two rows, row, which eight columns, pair of columns, which of the pair ...
    block = block.reshape([4, 2, 8, 8, 4, 2])
    # ... to which eight columns, warp, row, pair, and a thread's four numbers.
    block = block.permute((3, 0, 2, 4, 1, 5)).reshape([16, 256])
    tma.store_wait(PENDING)
    tile.store(block)


@gluon.jit
def send(accum, row, tile):
    """Starts accum += tile.   row: where in accum; a block has 16 rows of 256 numbers."""
    # Makes writes before the warps' last barrier visible to TMA.  At heads of 128 the compiler
    # puts that barrier here, at 64 into ``release``, after which nothing was written.
    fence_async_shared()
    async_add(accum, [row, 0], tile)


@gluon.jit
def add_all(accum, row, tile, block):
    """Adds a block of 64 or 128 columns to accum, at the end of a program."""
    if block.shape[1] == WGMMA_M:
        lay_out(tile, 0, block)
        send(accum, row, tile)
    else:
        left, right = gl.split(block.reshape([WGMMA_M, 2, WGMMA_M]).permute((0, 2, 1)))
        lay_out(tile, 0, left)
        send(accum, row, tile)
        lay_out(tile, 0, right)
        send(accum, row + 16, tile)
    tma.store_wait(0)


@gluon.jit
def send_in_order(
    outputs, q_block, sent, tile, work, seq_k, CONSUMER: gl.constexpr,
    BLOCK_Q: gl.constexpr, BLOCK_K: gl.constexpr, CAUSAL: gl.constexpr,
):  # fmt: skip
    """Returns q_block, and starts adding this consumer's half of that block of queries to dq.

    outputs: dq, the sums; dq_semaphores, None or a pointer to counters, for which it waits
    q_block: number of the block, counted through all heads   sent: of the block before, or -1
    """
    dq_semaphores = outputs.dq_semaphores
    half_number = 2 * q_block + CONSUMER
    if dq_semaphores is not None:
        if sent >= 0:
            release_semaphore(dq_semaphores + (2 * sent + CONSUMER + 1))
        rank = rank_in(work, q_block, seq_k, BLOCK_Q, BLOCK_K, CAUSAL)
        wait_for_rank(dq_semaphores + (half_number + 1), rank)
    send(outputs.dq, half_number * 16, tile)
    return q_block


@gluon.jit
def wait_for_rank(semaphore, rank):
    """Waits until ``rank`` programs have added to the block."""
    added = read_acquired(semaphore)
    while added != rank:
        added = read_acquired(semaphore)


@gluon.jit
def read_acquired(pointer):
    """Returns a counter, and orders TMA's next additions after those that the counter counts.

    An acquire orders what threads read and write.  TMA belongs to another proxy, so PTX needs a
    fence between the two proxies as well.
    """
    return gl.inline_asm_elementwise(
        "ld.acquire.gpu.global.b32 $0, [$1]; fence.proxy.async.global;", "=r,l",
        [pointer.to(gl.int64)], dtype=gl.int32, is_pure=False, pack=1,
    )  # fmt: skip


@gluon.jit
def release_semaphore(semaphore):
    """Counts this program once its additions are in global memory."""
    gl.inline_asm_elementwise(
        "cp.async.bulk.wait_group 0; mov.b32 $0, $1;", "=r,r", [0],
        dtype=gl.int32, is_pure=False, pack=1,
    )  # fmt: skip
    warpgroup_barrier()
    gl.atomic_add(semaphore, 1, sem="release", scope="gpu")


@gluon.jit
def rank_in(
    work, q_block, seq_k, BLOCK_Q: gl.constexpr, BLOCK_K: gl.constexpr, CAUSAL: gl.constexpr
):
    """Returns how many programs add to this block of queries before this one.

    q_block: number of the block, counted through all heads
    """
    rank = work.rank
    if CAUSAL:
        # Programs whose keys come after this block's queries add to the last block only.
        key_blocks = gl.cdiv(seq_k, BLOCK_K)
        block = q_block % work.blocks
        visible_blocks = gl.minimum(key_blocks, (block * BLOCK_Q + BLOCK_Q - 1) // BLOCK_K + 1)
        rank -= gl.where(block == work.blocks - 1, 0, key_blocks - visible_blocks)
    return rank
