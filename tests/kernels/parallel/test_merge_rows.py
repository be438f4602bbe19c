"""The kernel that merges in place does what ``kernels.flash.partial.merge`` does, and only there."""

import pytest
import torch

from kernels.flash.partial import merge
from kernels.parallel import merge_rows as module
from kernels.parallel.merge_rows import ROWS, launch, merge_rows

SHAPES = [(1, 1, 1, 16, 0), (2, 3, 40, 24, 13), (1, 2, 3 * ROWS, 64, ROWS)]


def inputs(batch, heads, tokens, head_dim, first, dtype, device):
    out, part = (torch.randn(batch, heads, count, head_dim, device=device) for count in (tokens, tokens - first))
    lse, part_lse = (8 * torch.randn(x.shape[:-1], device=device) for x in (out, part))
    lse[..., -1] = -torch.inf  # of the last row one part saw nothing, of the one before it the other, or both
    part_lse[..., -2:] = -torch.inf
    part_lse[..., -1:] = 1.0
    lse[0, 0, -2:-1] = -torch.inf
    out[..., -1, :] = torch.nan  # what a part holds that saw nothing does not matter
    return out.to(dtype), lse, part.to(dtype), part_lse


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, pytest.param(torch.bfloat16, marks=pytest.mark.gpu)])
@pytest.mark.parametrize("function", [launch, merge_rows])
def test_it_is_merge(shape, dtype, function, device):
    *_, first = shape
    out, lse, part, part_lse = inputs(*shape, dtype, device)
    expected = out.float().clone(), lse.clone()
    expected[0][:, :, first:], expected[1][:, :, first:] = merge(
        out[:, :, first:].float(), lse[:, :, first:], part.float(), part_lse
    )
    if function is launch:
        launch(out, lse, part, part_lse, first)
    else:
        merge_rows(out, lse, part, part_lse, first=first)
    torch.testing.assert_close(lse, expected[1], rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(out.float(), expected[0], rtol=2 * torch.finfo(dtype).eps, atol=1e-6)


@pytest.mark.parametrize("function", [launch, merge_rows])
def test_fp64_loses_nothing(function, device):
    """An FP32 sum would be off by 10⁻⁷."""
    out, part = torch.randn(2, 1, 2, 40, 24, dtype=torch.float64, device=device)
    lse, part_lse = torch.randn(2, 1, 2, 40, dtype=torch.float64, device=device)
    expected = merge(out, lse, part, part_lse)
    function(out, lse, part, part_lse, first=0)
    torch.testing.assert_close((out, lse), expected, rtol=1e-14, atol=1e-14)


def test_a_grid_has_room_for_many_heads(monkeypatch):
    """Of a grid's three axes only the first goes beyond 65,535."""
    grids = []

    class Kernel:
        def __getitem__(self, grid):
            grids.append(grid)
            return lambda *arguments, **options: None

    monkeypatch.setattr(module, "merge_rows_kernel", Kernel())
    out = torch.empty(2048, 33, 1, 16)
    launch(out, out[..., 0].contiguous(), out, out[..., 0], 0)
    assert grids == [(2048 * 33,)]


@pytest.mark.gpu
def test_more_heads_than_the_second_axis_of_a_grid_holds():
    out, part = torch.randn(2, 2048, 33, 2, 16, device="cuda")
    lse, part_lse = torch.randn(2, 2048, 33, 2, device="cuda")
    expected = merge(out, lse, part, part_lse)
    merge_rows(out, lse, part, part_lse, first=0)
    torch.testing.assert_close((out, lse), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.gpu
def test_no_warp_reads_what_another_has_written():
    """Thousands of rows: a log-sum-exp that is stored before all warps have read it shows in some of them."""
    out, part = torch.randn(2, 1, 16, 4096, 128, device="cuda")
    lse, part_lse = torch.randn(2, 1, 16, 4096, device="cuda")
    expected = merge(out, lse, part, part_lse)
    merge_rows(out, lse, part, part_lse, first=0)
    torch.testing.assert_close((out, lse), expected, rtol=1e-5, atol=1e-5)
