"""Every block of every pair is one program's work, and where pairs take turns the longest blocks come first."""

import pytest
import torch
import triton
import triton.language as tl

from kernels.flash.schedule import share_of_work


@triton.jit
def schedule_kernel(out, blocks, rows, CAUSAL: tl.constexpr):
    batch_head, block_number = share_of_work(blocks, rows, CAUSAL)
    tl.store(out + 2 * tl.program_id(0), batch_head)
    tl.store(out + 2 * tl.program_id(0) + 1, block_number)


def scheduled_blocks(batch_heads, blocks, rows, causal, device):
    """Each program's pair of batch and head, and the number of its block: [programs, 2]."""
    out = torch.empty(batch_heads * blocks, 2, dtype=torch.int32, device=device)
    schedule_kernel[(batch_heads * blocks,)](out, blocks, rows, CAUSAL=causal)
    return out


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("batch_heads, blocks, rows", [(1, 1, 5), (5, 3, 2**14), (2, 3, 2**16), (4, 2, 100)])
def test_every_block_is_one_program_s(batch_heads, blocks, rows, causal, device):
    work = scheduled_blocks(batch_heads, blocks, rows, causal, device).tolist()
    assert sorted(work) == [
        [batch_head, block_number] for batch_head in range(batch_heads) for block_number in range(blocks)
    ]
    whole_pairs = batch_heads - min(batch_heads, -(-(2**15) // rows)) if causal else batch_heads
    assert work[: whole_pairs * blocks] == sorted(work)[: whole_pairs * blocks]
    block_numbers = [block_number for _, block_number in work[whole_pairs * blocks :]]
    assert block_numbers == sorted(block_numbers)
