"""The row of scores held whole, as in chapter 5; without a key the second loop adds nothing."""

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
    q_head_stride, q_row_stride, q_column_stride,
    k_head_stride, k_row_stride, k_column_stride,
    v_head_stride, v_row_stride, v_column_stride,
    out_head_stride, out_row_stride, out_column_stride,
    scale, seq_q, seq_k, head_dim, PADDED_DIM: tl.constexpr, ROW: tl.constexpr,
):  # fmt: skip
    head = tl.program_id(0) // seq_q
    query_number = tl.program_id(0) % seq_q
    column = tl.arange(0, PADDED_DIM)
    real = column < head_dim
    place = tl.arange(0, ROW)
    own_query = q + head * q_head_stride + query_number * q_row_stride
    query = tl.load(own_query + column * q_column_stride, mask=real, other=0.0).to(tl.float32)

    scores = tl.full([ROW], -float("inf"), tl.float32)  # score
    for key_number in range(seq_k):
        own_key = k + head * k_head_stride + key_number * k_row_stride
        key = tl.load(own_key + column * k_column_stride, mask=real, other=0.0).to(tl.float32)
        scores = tl.where(place == key_number, tl.sum(query * key) * scale, scores)

    exponentials = tl.exp(scores - tl.max(scores))  # normalize
    weights = exponentials / tl.sum(exponentials)

    output = tl.zeros([PADDED_DIM], tl.float32)  # blend
    for key_number in range(seq_k):
        own_value = v + head * v_head_stride + key_number * v_row_stride
        value = tl.load(own_value + column * v_column_stride, mask=real, other=0.0).to(tl.float32)
        output += tl.sum(tl.where(place == key_number, weights, 0.0)) * value
    own_output = out + head * out_head_stride + query_number * out_row_stride
    tl.store(own_output + column * out_column_stride, output.to(out.dtype.element_ty), mask=real)
