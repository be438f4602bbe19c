"""Sums in global memory to which many programs add, and the order in which they do.

What programs of different keys make of dqueries meets here, in FP32.  A consumer writes a
block of 64 by 64 into shared memory, and TMA adds it, 16 KiB at a time.  In both memories a
block lies in the order of the registers that it comes from: nothing moves between threads, and
each writes 16 bytes beside its neighbour's.  ``after_backward_kernel`` knows that order.

Adding straight from registers, by ``red.global.add.v4.f32``, was slower.  The fence that lets
wgmma see what was written to shared memory is compiled to one that waits for all that a thread
has under way, and so for its additions.

FP32 sums depend on the order of their terms.  Where two runs must agree bit for bit there is a
counter for each block: a program waits until all that come before it have added.  Those have
smaller numbers.  CUDA does not promise to start programs in the order of the grid, so one more
counter gives each its number when it starts: whoever is waited for runs already.
"""

from __future__ import annotations

from triton._C.libtriton import ir
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language._core import builtin
from triton.experimental.gluon.language.nvidia.hopper import fence_async_shared, tma

from kernels.hopper.ring import ROWS

# Stops the warps of one function; triton 3.7 has another name for it.
wait_for_each_other = gl.barrier if hasattr(gl, "barrier") else gl.thread_barrier


@builtin
def async_add(tensor, coordinates, tile, _semantic=None):
    """tensor += tile, by TMA: Gluon 3.6 has the instruction, and no function for it."""
    coordinates = _semantic._convert_to_ir_values(coordinates, require_i64=False)
    _semantic.builder.create_async_tma_reduce(
        ir.DESCRIPTOR_REDUCE_KIND.ADD, tensor.handle, coordinates, tile.handle
    )


@gluon.jit
def lay_out(tile, PENDING: gl.constexpr, block):
    """Writes a block, [64, 64], as TMA is to add it.

    tile: of shared memory, free once at most PENDING of this consumer's copies are still read
    """
    # A thread has two neighbouring columns of two rows of every eight columns.  From its warp,
    # which two rows, its own row, eight columns, its pair of them, which of the two ...
    block = block.reshape([4, 2, 8, 8, 4, 2])
    # ... to eight columns, warp, row, pair, and four numbers.
    block = block.permute((3, 0, 2, 4, 1, 5)).reshape([16, 256])
    tma.store_wait(PENDING)
    tile.store(block)


@gluon.jit
def send(sums, row, tile):
    """sums += the block that was laid out.   row: of sums, 256 numbers, a block has 16."""
    # What was written before a barrier of these warps TMA now sees.  At heads of 128 the
    # compiler has that barrier here, at 64 in ``release``, since when nothing was written.
    fence_async_shared()
    async_add(sums, [row, 0], tile)


@gluon.jit
def add_all(sums, row, tile, block):
    """sums += block of 64 or 128 columns, at the end of a program."""
    if block.shape[1] == ROWS:
        lay_out(tile, 0, block)
        send(sums, row, tile)
    else:
        left, right = gl.split(block.reshape([ROWS, 2, ROWS]).permute((0, 2, 1)))
        lay_out(tile, 0, left)
        send(sums, row, tile)
        lay_out(tile, 0, right)
        send(sums, row + 16, tile)
    tma.store_wait(0)


@gluon.jit
def send_in_turn(
    outputs, place, sent, tile, work, seq_k, CONSUMER: gl.constexpr,
    BLOCK_Q: gl.constexpr, BLOCK_K: gl.constexpr, CAUSAL: gl.constexpr,
):  # fmt: skip
    """Adds this consumer's half of a block of queries to dq, and returns the block's place.

    outputs: its dq are the sums; its turns None, or a pointer to counters, and then it waits
    until it's this program's turn
    place: of the block, counted through all heads   sent: of the one sent before, or -1
    """
    turns = outputs.turns
    half = 2 * place + CONSUMER
    if turns is not None:
        if sent >= 0:
            pass_on(turns + (2 * sent + CONSUMER + 1))
        rank = rank_in(work, place, seq_k, BLOCK_Q, BLOCK_K, CAUSAL)
        wait_for_rank(turns + (half + 1), rank)
    send(outputs.dq, half * 16, tile)
    return place


@gluon.jit
def wait_for_rank(turn, rank):
    """Waits until as many programs have added to a block as must do so before this one."""
    added = read_acquired(turn)
    while added != rank:
        added = read_acquired(turn)


@gluon.jit
def read_acquired(pointer):
    """A counter; what TMA added for others before they counted comes before what it adds next.

    The load orders what threads read and write.  TMA's additions are of another proxy, and PTX
    orders those behind the load by a fence between the two, of global memory.
    """
    return gl.inline_asm_elementwise(
        "ld.acquire.gpu.global.b32 $0, [$1]; fence.proxy.async.global;", "=r,l",
        [pointer.to(gl.int64)], dtype=gl.int32, is_pure=False, pack=1,
    )  # fmt: skip


@gluon.jit
def pass_on(turn):
    """Counts this program, once all that it has added is in global memory."""
    gl.inline_asm_elementwise(
        "cp.async.bulk.wait_group 0; mov.b32 $0, $1;", "=r,r", [0],
        dtype=gl.int32, is_pure=False, pack=1,
    )  # fmt: skip
    wait_for_each_other()
    gl.atomic_add(turn, 1, sem="release", scope="gpu")


@gluon.jit
def rank_in(
    work, place, seq_k, BLOCK_Q: gl.constexpr, BLOCK_K: gl.constexpr, CAUSAL: gl.constexpr
):
    """How many programs add to this block of queries before this one.

    place: of the block, counted through all heads
    """
    rank = work.rank
    if CAUSAL:
        # Programs whose keys are after this block's queries never add to it, but to the last.
        key_blocks = gl.cdiv(seq_k, BLOCK_K)
        block = place % work.blocks
        seen = gl.minimum(key_blocks, (block * BLOCK_Q + BLOCK_Q - 1) // BLOCK_K + 1)
        rank -= gl.where(block == work.blocks - 1, 0, key_blocks - seen)
    return rank
