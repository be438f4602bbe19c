"""The kernel before the backward pass's products: which numbers of dout it reads."""

import torch

from kernels.hopper.backward.rows import backward_preprocess_kernel

FAR_STRIDE = 2**31  # numbers from one to the next: more than 32 bits count


def delta_of(dout, device):
    """dout · out for each row, of an output of ones."""
    batch, heads, seq_q, head_dim = dout.shape
    out = torch.ones(dout.shape, dtype=dout.dtype, device=device)
    lse_log2, delta = torch.empty(2, batch * heads * 64, device=device)
    numbers = (out, dout, torch.zeros(batch, heads, seq_q, device=device), None, lse_log2, delta, None)
    strides = (x // 8 for x in dout.stride()[:-1])
    constants = {"HEAD_DIM": head_dim, "COLUMNS": 64, "BLOCK": 64, "num_warps": 4}
    backward_preprocess_kernel[(batch * heads,)](*numbers, heads, seq_q, 64, *strides, **constants)
    return delta.view(batch, heads, 64)[:, :, :seq_q]


def test_strides_of_more_than_2_to_the_31_numbers(device):
    """A batch, a head or a row that lies so far behind the other; memory that nobody touches costs nothing."""
    for axis in range(3):
        shape, strides = [1, 1, 1, 64], [64, 64, 64, 1]
        shape[axis], strides[axis] = 2, FAR_STRIDE
        dout = torch.empty(FAR_STRIDE + 64, dtype=torch.bfloat16, device=device).as_strided(shape, strides)
        dout.select(axis, 0).fill_(1)
        dout.select(axis, 1).fill_(2)
        assert delta_of(dout, device).flatten().tolist() == [64, 128]
