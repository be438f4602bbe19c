"""Says into which tiles the FlashAttention kernels cut their work."""

from __future__ import annotations

from typing import Literal, NamedTuple

import torch


class Tiles(NamedTuple):
    """Queries and keys of a block, warps of a program, and stages in flight.

    registers: how many a thread may have at most, so that more programs fit on an SM; None: any
    """

    block_q: int
    block_k: int
    warps: int
    stages: int
    registers: int | None = None

    @property
    def launch(self) -> dict[str, int | None]:
        """Returns the options of a launch, by Triton's names for them."""
        return {"num_warps": self.warps, "num_stages": self.stages, "maxnreg": self.registers}


# Tiles that were fast on an H100, for head_dim up to 64, 128 and 256.
TILES = {
    # FP16 and BF16.  At 128 the forward pass keeps no stage in flight: three programs share an
    # SM, and one loads while two compute.
    ("forward", 2): (Tiles(64, 128, 4, 2), Tiles(64, 128, 4, 1, 168), Tiles(128, 64, 8, 2)),
    ("dq", 2): (Tiles(64, 64, 4, 2), Tiles(64, 64, 4, 2), Tiles(128, 32, 8, 2)),
    ("dkdv", 2): (Tiles(128, 64, 4, 2), Tiles(64, 64, 4, 2), Tiles(32, 64, 8, 3)),
    # FP32, whose products are unrolled into long code for plain lanes.
    ("forward", 4): (Tiles(32, 32, 4, 1), Tiles(32, 64, 8, 1), Tiles(32, 32, 8, 1)),
    ("dq", 4): (Tiles(16, 32, 4, 1), Tiles(16, 16, 8, 1), Tiles(16, 16, 8, 1)),
    ("dkdv", 4): (Tiles(16, 32, 4, 1), Tiles(16, 16, 4, 1), Tiles(16, 16, 8, 1)),
}


# For head_dim above 128 where a program has 99 KB, as on sm_86, 89 and 120: those above want up
# to 144 KB there.  Not timed.
SMALL = {("dq", 2): Tiles(64, 32, 4, 2), ("dkdv", 2): Tiles(32, 64, 8, 1)}
LARGE = 160 * 1024  # an A100 has 163 KB


def tiles(kernel: Literal["forward", "dq", "dkdv"], head_dim: int, dtype: torch.dtype) -> Tiles:
    """Returns the tiles of one of the kernels, which fit the current GPU's shared memory."""
    fast_tiles = TILES[kernel, dtype.itemsize][(head_dim > 64) + (head_dim > 128)]
    if head_dim <= 128 or shared_memory() >= LARGE:
        return fast_tiles
    return SMALL.get((kernel, dtype.itemsize), fast_tiles)


def shared_memory() -> int:
    """Bytes of shared memory that a program may have on the current GPU; LARGE without one."""
    if not torch.cuda.is_available():
        return LARGE
    return torch.cuda.get_device_properties().shared_memory_per_block_optin
