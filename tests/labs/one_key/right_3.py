"""The keys are read twice, once for the maximum; a grid of two axes."""

import torch
import triton
import triton.language as tl


def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, out: torch.Tensor) -> None:
    heads, seq_q, head_dim = q.shape
    seq_k = k.shape[1]
    strides = *q.stride(), *k.stride(), *v.stride(), *out.stride()
    padded, row = triton.next_power_of_2(head_dim), triton.next_power_of_2(max(1, seq_k))
    attention_kernel[(seq_q, heads)](
        q, k, v, out, *strides, head_dim**-0.5, seq_q, seq_k, head_dim,
        PADDED_DIM=padded, ROW=row,
    )  # fmt: skip


@triton.jit
def attention_kernel(
    q, k, v, out,
    q_head_stride, q_row_stride, q_column_stride, k_head_stride, k_row_stride, k_column_stride,
    v_head_stride, v_row_stride, v_column_stride, out_head_stride, out_row_stride, out_column_stride,
    scale, seq_q, seq_k, head_dim, PADDED_DIM: tl.constexpr, ROW: tl.constexpr,
):  # fmt: skip
    row, head = tl.program_id(0), tl.program_id(1)
    q += head * q_head_stride + row * q_row_stride
    k += head * k_head_stride
    v += head * v_head_stride
    column = tl.arange(0, PADDED_DIM)
    mask = column < head_dim
    query = tl.load(q + column * q_column_stride, mask, 0.0).to(tl.float32)

    largest = -1e38
    for key_number in range(seq_k):
        key = tl.load(k + key_number * k_row_stride + column * k_column_stride, mask, 0.0).to(tl.float32)
        largest = tl.maximum(largest, tl.sum(query * key) * scale)
    total = 0.0
    output = tl.zeros([PADDED_DIM], tl.float32)
    for key_number in range(seq_k):
        key = tl.load(k + key_number * k_row_stride + column * k_column_stride, mask, 0.0).to(tl.float32)
        value = tl.load(v + key_number * v_row_stride + column * v_column_stride, mask, 0.0).to(tl.float32)
        power = tl.exp(tl.sum(query * key) * scale - largest)
        total += power
        output += power * value
    output /= tl.where(total > 0.0, total, 1.0)
    tl.store(
        out + head * out_head_stride + row * out_row_stride + column * out_column_stride,
        output.to(out.dtype.element_ty),
        mask,
    )
