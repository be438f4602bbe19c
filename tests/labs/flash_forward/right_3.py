"""An output and an lse that are right after each block, blended with the next block's by the softmax of both lse."""

import torch
import triton
import triton.language as tl


def flash_forward(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, out: torch.Tensor, lse: torch.Tensor) -> None:
    for head in range(len(q)):  # a launch for each head
        tables = q[head], k[head], v[head], out[head], lse[head]
        strides = [stride for table in tables for stride in table.stride()]
        flash_kernel[(q.shape[1] // 16,)](*tables, *strides, q.shape[2] ** 0.5, k.shape[1], HEAD_DIM=q.shape[2])


@triton.jit
def flash_kernel(
    q, k, v, out, lse, q_row_stride, q_column_stride, k_row_stride, k_column_stride, v_row_stride, v_column_stride,
    out_row_stride, out_column_stride, lse_row_stride, root, seq_k,
    HEAD_DIM: tl.constexpr,
):  # fmt: skip
    query = tl.program_id(0) * 16 + tl.arange(0, 16)
    column = tl.arange(0, HEAD_DIM)
    queries = tl.load(q + query[:, None] * q_row_stride + column[None, :] * q_column_stride).to(tl.float32)
    blend = tl.zeros([16, HEAD_DIM], tl.float32)
    so_far = tl.full([16], -float("inf"), tl.float32)
    for first in range(0, seq_k, 16):
        key = first + tl.arange(0, 16)
        keys = tl.load(k + key[:, None] * k_row_stride + column[None, :] * k_column_stride).to(tl.float32)
        values = tl.load(v + key[:, None] * v_row_stride + column[None, :] * v_column_stride).to(tl.float32)
        scores = tl.dot(queries, tl.trans(keys), input_precision="ieee") / root
        largest = tl.max(scores, 1)
        exponentials = tl.exp(scores - largest[:, None])
        total = tl.sum(exponentials, 1)
        block = tl.dot(exponentials / total[:, None], values, input_precision="ieee")
        lse_of_block = largest + tl.log(total)
        higher = tl.maximum(so_far, lse_of_block)
        both = higher + tl.log(tl.exp(so_far - higher) + tl.exp(lse_of_block - higher))
        blend = tl.exp(so_far - both)[:, None] * blend + tl.exp(lse_of_block - both)[:, None] * block
        so_far = both
    tl.store(out + query[:, None] * out_row_stride + column[None, :] * out_column_stride, blend)
    tl.store(lse + query * lse_row_stride, so_far)
