"""Every program computes all queries of its head."""

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
    q_head, q_row, q_column, k_head, k_row, k_column,
    v_head, v_row, v_column, out_head, out_row, out_column,
    scale, seq_q, seq_k, head_dim, PADDED_DIM: tl.constexpr, ROW: tl.constexpr,
):  # fmt: skip
    head = tl.program_id(0) // seq_q
    column = tl.arange(0, PADDED_DIM)
    real = column < head_dim
    place = tl.arange(0, ROW)
    for query_number in range(seq_q):
        own_query = q + head * q_head + query_number * q_row
        query = tl.load(own_query + column * q_column, mask=real, other=0.0).to(tl.float32)

        scores = tl.full([ROW], -float("inf"), tl.float32)  # multiply
        for key_number in range(seq_k):
            own_key = k + head * k_head + key_number * k_row
            key = tl.load(own_key + column * k_column, mask=real, other=0.0).to(tl.float32)
            scores = tl.where(place == key_number, tl.sum(query * key) * scale, scores)

        exponentials = tl.exp(scores - tl.max(scores))  # squish
        weights = exponentials / tl.sum(exponentials)

        output = tl.zeros([PADDED_DIM], tl.float32)  # multiply
        for key_number in range(seq_k):
            own_value = v + head * v_head + key_number * v_row
            value = tl.load(own_value + column * v_column, mask=real, other=0.0).to(tl.float32)
            output += tl.sum(tl.where(place == key_number, weights, 0.0)) * value
        own_output = out + head * out_head + query_number * out_row
        tl.store(own_output + column * out_column, output.to(out.dtype.element_ty), mask=real)
