"""Attention kernels that are wrong on purpose, each by one mistake that has been made before.

``streamed`` is a right one, FlashAttention's algorithm in PyTorch, and its options are the mistakes.  Whatever accepts
a right kernel must reject every one of ``WRONG``.
"""

from functools import partial

import torch
from torch.nn.functional import pad

from kernels.reference import attention

BLOCK = 32


def streamed(
    q, k, v, *, is_causal=False, scale=None, enable_gqa=False,
    shrink_sum=True, shrink_accumulator=True, mask_tail=True, causal_shift=0, scale_twice=False,
    accumulate_in=torch.float32,
):  # fmt: skip
    """Right unless told otherwise: keys and values in blocks of BLOCK, online softmax, FP32 sums."""
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    group = q.shape[1] // k.shape[1]
    seq_q, seq_k = q.shape[-2], k.shape[-2]
    padding = (0, 0, 0, -seq_k % BLOCK)
    keys, values = (pad(x.repeat_interleave(group, 1), padding).float().split(BLOCK, -2) for x in (k, v))
    query = torch.arange(seq_q, device=q.device)[:, None]
    running_max = torch.full((*q.shape[:-1], 1), -torch.inf, device=q.device)
    running_sum = torch.zeros_like(running_max)
    accumulator = torch.zeros(q.shape, dtype=accumulate_in, device=q.device)
    for number, (key_block, value_block) in enumerate(zip(keys, values, strict=True)):
        scores = q.float() @ key_block.transpose(-2, -1) * scale * (scale if scale_twice else 1)
        key = number * BLOCK + torch.arange(BLOCK, device=q.device)
        if mask_tail:
            scores = scores.masked_fill(key >= seq_k, -torch.inf)
        if is_causal:
            scores = scores.masked_fill(key > query + causal_shift, -torch.inf)
        new_max = torch.maximum(running_max, scores.amax(-1, keepdim=True)).clamp(min=-1e30)
        shrink = (running_max - new_max).exp()
        exponentials = (scores - new_max).exp()
        running_max = new_max
        running_sum = running_sum * (shrink if shrink_sum else 1) + exponentials.sum(-1, keepdim=True)
        accumulator = accumulator * (shrink.to(accumulate_in) if shrink_accumulator else 1)
        accumulator = accumulator + (exponentials @ value_block).to(accumulate_in)
    return (accumulator / running_sum).to(q.dtype)


def zeros(q, k, v, **options):
    return torch.zeros_like(q)


def zeros_in_one_head(q, k, v, **options):
    out = attention(q, k, v, **options)
    out[0, -1] = 0
    return out


def zeros_in_one_row(q, k, v, **options):
    out = attention(q, k, v, **options)
    out[0, -1, -1] = 0
    return out


def down_the_columns(q, k, v, *, is_causal=False, scale=None, enable_gqa=False):
    k, v = (x.repeat_interleave(q.shape[1] // k.shape[1], 1) for x in (k, v))
    scores = q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5
    if is_causal:
        scores = scores.masked_fill(torch.ones_like(scores).tril() == 0, -torch.inf)
    return scores.softmax(-2) @ v


def low_precision(q, k, v, **options):
    """FP32 inputs rounded to BF16, FP16 inputs summed in BF16: eight bits where more were promised."""
    return attention(q.bfloat16(), k.bfloat16(), v.bfloat16(), **options).to(q.dtype)


def nan_in_one_place(q, k, v, **options):
    out = attention(q, k, v, **options)
    out[0, 0, -1, -1] = torch.nan
    return out


def bottom_right(q, k, v, *, is_causal=False, **options):
    shift = k.shape[-2] - q.shape[-2]
    return streamed(q, k, v, is_causal=is_causal, causal_shift=shift, **options)


def wrong_group(q, k, v, *, enable_gqa=False, **options):
    """Query head h takes key head h modulo their number, instead of h divided by the group."""
    times = q.shape[1] // k.shape[1]
    return attention(q, k.repeat(1, times, 1, 1), v.repeat(1, times, 1, 1), **options)


WRONG = {
    "zeros": zeros,
    "zeros in one head": zeros_in_one_head,
    "zeros in one row": zeros_in_one_row,
    "no rescale": partial(streamed, shrink_sum=False, shrink_accumulator=False),
    "the sum rescaled, the accumulator not": partial(streamed, shrink_accumulator=False),
    "the accumulator rescaled, the sum not": partial(streamed, shrink_sum=False),
    "softmax down the columns": down_the_columns,
    "causal mask off by one": partial(streamed, causal_shift=1),
    "causal mask hides the diagonal": partial(streamed, causal_shift=-1),
    "causal mask aligned bottom-right": bottom_right,
    "last block not masked": partial(streamed, mask_tail=False),
    "low precision": low_precision,
    "accumulator in half": partial(streamed, accumulate_in=torch.float16),
    "NaN in one place": nan_in_one_place,
    "scaled twice": partial(streamed, scale_twice=True),
    "heads grouped wrongly": wrong_group,
}
