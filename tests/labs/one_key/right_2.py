"""Without a row: the maximum, the sum and the output are kept up to date with each key."""

import torch
import triton
import triton.language as tl


def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, out: torch.Tensor) -> None:
    heads, seq_q, head_dim = q.shape
    seq_k = k.shape[1]
    strides = *q.stride(), *k.stride(), *v.stride(), *out.stride()
    padded, row = triton.next_power_of_2(head_dim), triton.next_power_of_2(max(1, seq_k))
    attention_kernel[(heads * seq_q,)](
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
    head = tl.program_id(0) // seq_q
    row = tl.program_id(0) - head * seq_q
    column = tl.arange(0, PADDED_DIM)
    mask = column < head_dim
    query = (
        tl.load(q + head * q_head_stride + row * q_row_stride + column * q_column_stride, mask, 0.0).to(tl.float32)
        * scale
    )

    running_max = -float("inf")
    running_sum = 0.0
    output = tl.zeros([PADDED_DIM], tl.float32)
    for _ in range(seq_k):
        key = tl.load(k + head * k_head_stride + column * k_column_stride, mask, 0.0).to(tl.float32)
        value = tl.load(v + head * v_head_stride + column * v_column_stride, mask, 0.0).to(tl.float32)
        score = tl.sum(query * key)
        new_max = tl.maximum(running_max, score)
        rescale = tl.exp(running_max - new_max)
        power = tl.exp(score - new_max)
        running_sum = running_sum * rescale + power
        output = output * rescale + power * value
        running_max = new_max
        k += k_row_stride
        v += v_row_stride
    output /= tl.where(running_sum == 0.0, 1.0, running_sum)
    tl.store(
        out + head * out_head_stride + row * out_row_stride + column * out_column_stride,
        output.to(out.dtype.element_ty),
        mask,
    )
