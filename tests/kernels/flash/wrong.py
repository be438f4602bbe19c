"""Attention kernels that are wrong on purpose, each by one mistake that has been made before.

``streaming_attention`` is a right one, FlashAttention's algorithm in PyTorch, forward and backward, and its options are
the mistakes.  Whatever accepts a right kernel must reject every one of ``WRONG`` by its output, every one of
``WRONG_GRADIENT`` by its gradients, and every one of ``WRONG_LSE`` by its log-sum-exp.
"""

from functools import partial

import torch
from torch.nn.functional import pad

from tests.kernels.error_budget import visible

BLOCK = 32


def streaming_attention(q, k, v, *, return_lse=False, **options):
    """Right unless told otherwise: ``forward``'s output, with ``backward``'s gradients."""
    backward_options = {name: options.pop(name) for name in MISTAKES_IN_BACKWARD if name in options}
    out, lse = StreamingAttention.apply(q, k, v, options, backward_options)
    return (out, lse) if return_lse else out


class StreamingAttention(torch.autograd.Function):
    """Nothing is kept for the backward pass but the output and one number a row."""

    @staticmethod
    def forward(ctx, q, k, v, options, backward_options):
        out, lse = forward(q, k, v, **options)
        ctx.save_for_backward(q, k, v, out, lse)
        names = ("is_causal", "scale", "key_lengths")
        ctx.options = {name: options[name] for name in names if name in options} | backward_options
        ctx.mark_non_differentiable(lse)
        return out, lse

    @staticmethod
    def backward(ctx, dout, _):
        return *backward(*ctx.saved_tensors, dout, **ctx.options), None, None


def forward(
    q, k, v, *, is_causal=False, scale=None, enable_gqa=False, key_lengths=None,
    rescale_sum=True, rescale_accumulator=True, mask_tail=True, causal_shift=0, scale_twice=False,
    accumulator_dtype=torch.float32, nan_without_keys=False, weight_dtype=None, score_dtype=torch.float32,
):  # fmt: skip
    """Output and lse.  Keys and values in blocks of BLOCK, online softmax, FP32 sums, weights in the inputs' dtype."""
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    seq_q, seq_k = q.shape[-2], k.shape[-2]
    keys, values = (blocks(x, q.shape[1] // k.shape[1]) for x in (k, v))
    query = torch.arange(seq_q, device=q.device)[:, None]
    running_max = torch.full((*q.shape[:-1], 1), -torch.inf, device=q.device)
    running_sum = torch.zeros_like(running_max)
    accumulator = torch.zeros(q.shape, dtype=accumulator_dtype, device=q.device)
    for number, (key_block, value_block) in enumerate(zip(keys, values, strict=True)):
        scores = (q.float() @ key_block.mT * scale * (scale if scale_twice else 1)).to(score_dtype).float()
        key = number * BLOCK + torch.arange(BLOCK, device=q.device)
        if mask_tail:
            scores = scores.masked_fill(key >= seq_k, -torch.inf)
        if is_causal:
            scores = scores.masked_fill(key > query + causal_shift, -torch.inf)
        if key_lengths is not None:
            scores = scores.masked_fill(key >= key_lengths[:, None, None, None], -torch.inf)
        new_max = torch.maximum(running_max, scores.amax(-1, keepdim=True))
        safe_max = new_max if nan_without_keys else new_max.clamp(min=-1e30)
        rescale = (running_max - safe_max).exp()
        exponentials = (scores - safe_max).exp()
        running_max = new_max
        running_sum = running_sum * (rescale if rescale_sum else 1) + exponentials.sum(-1, keepdim=True)
        accumulator = accumulator * (rescale.to(accumulator_dtype) if rescale_accumulator else 1)
        accumulator = accumulator + (exponentials.to(weight_dtype or q.dtype).float() @ value_block).to(
            accumulator_dtype
        )
    safe_sum = running_sum.masked_fill((running_sum == 0) & (not nan_without_keys), 1)
    return (accumulator / safe_sum).to(q.dtype), (running_max + safe_sum.log())[..., 0]


MISTAKES_IN_BACKWARD = (
    "scale_key", "scale_query", "subtract_delta", "normalise", "mask_backward", "sum_over_group", "guard_lse",
    "round_to",
)  # fmt: skip


def backward(
    q, k, v, out, lse, dout, *, is_causal=False, scale=None, key_lengths=None,
    scale_key=True, scale_query=True, subtract_delta=True, normalise=True, mask_backward=True, sum_over_group=True,
    guard_lse=True, round_to=None,
):  # fmt: skip
    """The gradients of q, k and v.  Weights again from lse, a block of keys at a time, rounded before each matmul."""
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    group = q.shape[1] // k.shape[1]
    round_to = round_to or q.dtype
    query = torch.arange(q.shape[-2], device=q.device)[:, None]
    delta = (dout.float() * out.float()).sum(-1, keepdim=True)
    lse = lse[..., None]
    if guard_lse:  # (-inf) - (-inf) would be NaN
        lse = lse.masked_fill(lse == -torch.inf, torch.inf)
    dq, dkeys, dvalues = torch.zeros_like(q, dtype=torch.float32), [], []
    for number, (key_block, value_block) in enumerate(zip(blocks(k, group), blocks(v, group), strict=True)):
        key = number * BLOCK + torch.arange(BLOCK, device=q.device)
        scores = q.float() @ key_block.mT * scale
        scores = scores.masked_fill(key >= k.shape[-2], -torch.inf)
        if is_causal and mask_backward:
            scores = scores.masked_fill(key > query, -torch.inf)
        if key_lengths is not None:
            scores = scores.masked_fill(key >= key_lengths[:, None, None, None], -torch.inf)
        weights = (scores - (lse if normalise else scores.amax(-1, keepdim=True).clamp(min=-1e30))).exp()
        dweights = dout.float() @ value_block.mT
        dscores = (weights * (dweights - delta * subtract_delta)).to(round_to).float()
        dq += dscores @ key_block * (scale if scale_query else 1)
        dkeys.append(dscores.mT @ q.float() * (scale if scale_key else 1))
        dvalues.append(weights.to(round_to).float().mT @ dout.float())
    dk, dv = (torch.cat(x, -2)[..., : k.shape[-2], :].unflatten(1, (-1, group)) for x in (dkeys, dvalues))
    dk, dv = (x.sum(2) if sum_over_group else x[:, :, 0] for x in (dk, dv))
    return dq.to(q.dtype), dk.to(k.dtype), dv.to(v.dtype)


def blocks(x, group):
    """Blocks of BLOCK rows in FP32, the last one filled up with zeros, heads repeated."""
    return pad(x.repeat_interleave(group, 1), (0, 0, 0, -x.shape[-2] % BLOCK)).float().split(BLOCK, -2)


def zeros(q, k, v, **options):
    return torch.zeros_like(q)


def zeros_in_one_head(q, k, v, **options):
    out = streaming_attention(q, k, v, **options)
    out[-1, -1] = 0
    return out


def zeros_in_one_row(q, k, v, **options):
    out = streaming_attention(q, k, v, **options)
    out[-1, -1, -1] = 0
    return out


def down_the_columns(q, k, v, **options):
    mask = visible(q, k, **options)
    k, v = (x.repeat_interleave(q.shape[1] // k.shape[1], 1) for x in (k, v))
    scores = q @ k.mT * q.shape[-1] ** -0.5
    return scores.masked_fill(~mask, -torch.inf).softmax(-2).masked_fill(~mask, 0) @ v


def low_precision(q, k, v, **options):
    """FP32 inputs rounded to BF16, FP16 inputs summed in BF16: eight bits where more were promised."""
    return streaming_attention(q.bfloat16(), k.bfloat16(), v.bfloat16(), **options).to(q.dtype)


def nan_in_one_place(q, k, v, **options):
    out = streaming_attention(q, k, v, **options)
    out[-1, 0, -1, -1] = torch.nan
    return out


def bottom_right(q, k, v, *, is_causal=False, **options):
    shift = k.shape[-2] - q.shape[-2]
    return streaming_attention(q, k, v, is_causal=is_causal, causal_shift=shift, **options)


def wrong_group(q, k, v, **options):
    """Query head h takes key head h modulo their number, instead of h divided by the group."""
    times = q.shape[1] // k.shape[1]
    return streaming_attention(q, k.repeat(1, times, 1, 1), v.repeat(1, times, 1, 1), **options)


def small_offsets(q, k, v, **options):
    """Offsets that wrap around, as int32 ones do beyond 2³¹ elements.

    Shrunk to int16 and 2¹⁵ elements, so that any machine can hold a tensor that is large enough: what lies further is
    read from the beginning again.  The kernels' own offsets are tested beyond 2³¹, where there is a GPU.
    """
    return streaming_attention(*(_read_with_small_offsets(x) for x in (q, k, v)), **options)


def _read_with_small_offsets(x):
    offset = torch.zeros((), dtype=torch.int16, device=x.device)
    for axis, (size, stride) in enumerate(zip(x.shape, x.contiguous().stride(), strict=True)):
        index = torch.arange(size, device=x.device).view([-1 if i == axis else 1 for i in range(x.ndim)])
        offset = offset + (index * stride).to(torch.int16)
    return x.flatten()[offset.long() % x.numel()]


def ignores_key_lengths(q, k, v, *, key_lengths=None, **options):
    return streaming_attention(q, k, v, **options)


WRONG = {
    "zeros": zeros,
    "zeros in one head": zeros_in_one_head,
    "zeros in one row": zeros_in_one_row,
    "no rescale": partial(streaming_attention, rescale_sum=False, rescale_accumulator=False),
    "the sum rescaled, the accumulator not": partial(streaming_attention, rescale_accumulator=False),
    "the accumulator rescaled, the sum not": partial(streaming_attention, rescale_sum=False),
    "softmax down the columns": down_the_columns,
    "causal mask off by one": partial(streaming_attention, causal_shift=1),
    "causal mask hides the diagonal": partial(streaming_attention, causal_shift=-1),
    "causal mask aligned bottom-right": bottom_right,
    "last block not masked": partial(streaming_attention, mask_tail=False),
    "padding not masked": ignores_key_lengths,
    "low precision": low_precision,
    "accumulator in half": partial(streaming_attention, accumulator_dtype=torch.float16),
    "weights in BF16": partial(streaming_attention, weight_dtype=torch.bfloat16),
    "scores in BF16": partial(streaming_attention, score_dtype=torch.bfloat16),
    "NaN in one place": nan_in_one_place,
    "NaN where a query sees no key": partial(streaming_attention, nan_without_keys=True),
    "scaled twice": partial(streaming_attention, scale_twice=True),
    "heads grouped wrongly": wrong_group,
    "offsets in too few bits": small_offsets,
}


class ChangedGradients(torch.autograd.Function):
    """The output of ``streaming_attention``, its gradients changed by a function of (dq, dk, dv)."""

    @staticmethod
    def forward(ctx, q, k, v, options, change):
        out, lse = forward(q, k, v, **options)
        ctx.save_for_backward(q, k, v, out, lse)
        ctx.options = {name: options[name] for name in ("is_causal", "scale", "key_lengths") if name in options}
        ctx.change = change
        return out

    @staticmethod
    def backward(ctx, dout):
        return *ctx.change(*backward(*ctx.saved_tensors, dout, **ctx.options)), None, None


def with_changed_gradients(change):
    return lambda q, k, v, **options: ChangedGradients.apply(q, k, v, options, change)


def _zeros_in_one(gradient_index, *position):
    def change(*gradients):
        gradients[gradient_index][position] = 0
        return gradients

    return with_changed_gradients(change)


WRONG_GRADIENT = {
    "zeros": with_changed_gradients(lambda *gradients: [torch.zeros_like(x) for x in gradients]),
    **{f"zeros in one head of {name}": _zeros_in_one(i, -1, -1) for i, name in enumerate(("dq", "dk", "dv"))},
    **{f"zeros in one row of {name}": _zeros_in_one(i, -1, -1, 3) for i, name in enumerate(("dq", "dk", "dv"))},
    "low precision": partial(streaming_attention, round_to=torch.bfloat16),
    "key without the scale": partial(streaming_attention, scale_key=False),
    "query without the scale": partial(streaming_attention, scale_query=False),
    "delta left out": partial(streaming_attention, subtract_delta=False),
    "weights not normalised": partial(streaming_attention, normalise=False),
    "causal mask missing": partial(streaming_attention, mask_backward=False),
    "grouped heads not summed": partial(streaming_attention, sum_over_group=False),
    "NaN where a query sees no key": partial(streaming_attention, guard_lse=False),
}


def with_changed_lse(change):
    def kernel(q, k, v, *, return_lse, **options):
        out, lse = streaming_attention(q, k, v, return_lse=True, **options)
        return out, change(lse)

    return kernel


WRONG_LSE = {
    "zeros": with_changed_lse(torch.zeros_like),
    "in units of log 2": with_changed_lse(lambda lse: lse * torch.tensor(2.0).log().reciprocal()),
    "the maximum alone": with_changed_lse(lambda lse: lse - 1),
    "NaN where a query sees no key": with_changed_lse(lambda lse: lse.masked_fill(lse == -torch.inf, torch.nan)),
    "+inf where a query sees no key": with_changed_lse(lambda lse: lse.abs()),
    "0 where a query sees no key": with_changed_lse(lambda lse: lse.masked_fill(lse == -torch.inf, 0)),
    "low precision": with_changed_lse(lambda lse: lse.half().float()),
}
