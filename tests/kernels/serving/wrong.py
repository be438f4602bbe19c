"""Decode kernels that are wrong on purpose, each by one mistake that is easily made.

``split_kv_attention`` is a right one in PyTorch: a sequence's keys in parts, merged by output and log-sum-exp.
Its options are mistakes; others are right decoding of a cache that is read wrongly.  Whatever accepts a right kernel
must reject every one of ``WRONG`` by its output, and every one of ``WRONG_LSE`` by its log-sum-exp.
"""

from copy import copy
from functools import partial

import torch
from torch.nn.functional import pad


def split_kv_attention(
    q, cache, *, scale=None, return_lse=False, portable=False, repeat_heads=torch.repeat_interleave, **mistakes
):
    """As ``decode_attention``.   repeat_heads: gives each query head its key head"""
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    out, lse = torch.empty_like(q), torch.empty(q.shape[:-1], device=q.device)
    group = q.shape[1] // cache.kv_heads
    mistakes["weight_dtype"] = torch.bfloat16 if cache.format == "bf16" else torch.float16
    for i in range(cache.batch):
        k, v = (repeat_heads(x, group, 0) for x in cache.gather(i))
        out[i], lse[i] = split_kv_sequence(q[i], k, v, scale, **mistakes)
    return (out, lse) if return_lse else out


def split_kv_sequence(
    q, k, v, scale, *, part_length=24, mask_shift=0, mask="bottom-right", query_dtype=torch.float32,
    score_dtype=torch.float32, weight_dtype=torch.float16, sum_dtype=torch.float32,
    subtract_max=True, nan_without_keys=False, lost_part=None, weigh_by_lse=True,
):  # fmt: skip
    """Output and lse.  All in FP32, but weights are rounded before they meet the values.

    part_length: how many keys   mask_shift: how many too many each query sees
    """
    length, new_tokens = k.shape[1], q.shape[1]
    token = torch.arange(new_tokens, device=q.device)[:, None]
    masks = {"bottom-right": length - new_tokens + 1 + token, "top-left": 1 + token, "none": length + 0 * token}
    visible_keys = masks[mask] + mask_shift
    outputs, lses = [], []
    for first in range(0, max(1, length), part_length):
        keys, values = k[:, first : first + part_length], v[:, first : first + part_length]
        key = first + torch.arange(keys.shape[1], device=q.device)
        scores = (q.to(query_dtype).float() @ keys.mT * scale).to(score_dtype).float()
        scores = pad(scores.masked_fill(key >= visible_keys, -torch.inf), (0, 1), value=-torch.inf)
        maximum = scores.amax(-1, keepdim=True) if subtract_max else torch.zeros_like(scores[..., :1])
        if not nan_without_keys:
            maximum = maximum.clamp(min=-1e30)
        weights = (scores - maximum).exp()[..., :-1]
        total = weights.sum(-1, keepdim=True)
        outputs.append(weights.to(weight_dtype).float() @ values / torch.where(total == 0, 1, total))
        lses.append(maximum + total.log())
    if lost_part is not None and len(lses) > 1:
        outputs.pop(lost_part), lses.pop(lost_part)
    # The merge.
    maximum = torch.stack(lses).amax(0).clamp(min=-1e30)
    total, out = torch.zeros_like(maximum), torch.zeros_like(outputs[0])
    for output, part_lse in zip(outputs, lses, strict=True):
        weight = (part_lse - maximum).exp() if weigh_by_lse else (part_lse > -torch.inf).float()
        total = (total + weight).to(sum_dtype).float()
        out = (out + weight * output).to(sum_dtype).float()
    return out / torch.where(total == 0, 1, total), (maximum + total.log())[..., 0]


def zeros(q, cache, *, return_lse=False, **options):
    return (torch.zeros_like(q), torch.zeros(q.shape[:-1], device=q.device)) if return_lse else torch.zeros_like(q)


def with_changed_results(change):
    """Right, but for what ``change`` does to (out, lse, cache)."""

    def attention(q, cache, *, return_lse=False, **options):
        out, lse = split_kv_attention(q, cache, return_lse=True, **options)
        out, lse = change(out, lse, cache)
        return (out, lse) if return_lse else out

    return attention


def _zeros_in(index):
    def change(out, lse, cache):
        out[index] = 0
        return out, lse

    return with_changed_results(change)


def nan_in_one_place(out, lse, cache):
    out[-1, -1, -1, -1] = torch.nan
    return out, lse


def with_misread_cache(change):
    """Right, but for a cache that is taken for another one: ``change`` gives what it is taken for, by name."""

    def attention(q, cache, **options):
        other = copy(cache)
        vars(other).update(change(cache))
        return split_kv_attention(q, other, **options)

    return attention


def pages_in_order(cache):
    table = torch.arange(cache.page_table.numel(), device=cache.device) % cache.pages
    return {"page_table": table.view(cache.page_table.shape)}


def pages_of_another_sequence(cache):
    return {"page_table": cache.page_table.roll(1, 0).clamp(min=0)}


def heads_in_reverse(cache):
    return {"values": cache.values.flip(1)}


def with_changed_nvfp4(name, change):
    return with_misread_cache(lambda cache: {name: change(getattr(cache, name))} if cache.format == "nvfp4" else {})


def swap_nibbles(packed):
    """The two codes of each byte."""
    return packed >> 4 | packed << 4


def scales_of_neighbour(block_scales):
    return block_scales.roll(1, -1)


def scales_of_previous_token(block_scales):
    return block_scales.roll(1, -2)


WRONG = {
    "zeros": zeros,
    "zeros in one sequence": _zeros_in((-1,)),
    "zeros in one head": _zeros_in((-1, -1)),
    "zeros in one row": _zeros_in((-1, -1, -1)),
    "NaN in one place": with_changed_results(nan_in_one_place),
    "parts averaged, not weighed by their lse": partial(split_kv_attention, weigh_by_lse=False),
    "first part lost": partial(split_kv_attention, lost_part=0),
    "last part lost": partial(split_kv_attention, lost_part=-1),
    "sums in FP16": partial(split_kv_attention, part_length=4, sum_dtype=torch.float16),
    "maximum not subtracted": partial(split_kv_attention, subtract_max=False),
    "NaN where a query sees no key": partial(split_kv_attention, nan_without_keys=True),
    "scores in FP16": partial(split_kv_attention, score_dtype=torch.float16),
    "query in FP16, whatever its size": partial(split_kv_attention, query_dtype=torch.float16),
    "query in FP8": partial(split_kv_attention, query_dtype=torch.float8_e4m3fn),
    "causal mask aligned top-left": partial(split_kv_attention, mask="top-left"),
    "causal mask missing": partial(split_kv_attention, mask="none"),
    "newest key missing": partial(split_kv_attention, mask_shift=-1),
    "one key too many": partial(split_kv_attention, mask_shift=1),
    "heads grouped wrongly": partial(
        split_kv_attention, repeat_heads=lambda x, group, axis: torch.cat([x] * group, axis)
    ),
    "page table ignored": with_misread_cache(pages_in_order),
    "pages of another sequence": with_misread_cache(pages_of_another_sequence),
    "values of another head": with_misread_cache(heads_in_reverse),
    "key scale forgotten": with_misread_cache(lambda cache: {"key_scale": 1.0}),
    "value scale forgotten": with_misread_cache(lambda cache: {"value_scale": 1.0}),
    "nibbles of keys swapped": with_changed_nvfp4("keys", swap_nibbles),
    "nibbles of values swapped": with_changed_nvfp4("values", swap_nibbles),
    "block scale of the neighbour, keys": with_changed_nvfp4("key_block_scales", scales_of_neighbour),
    "block scale of the neighbour, values": with_changed_nvfp4("value_block_scales", scales_of_neighbour),
    "block scale of the token before": with_changed_nvfp4("value_block_scales", scales_of_previous_token),
    "block scales of keys for values": with_misread_cache(lambda cache: {"value_block_scales": cache.key_block_scales}),
}


def with_changed_lse(change):
    return with_changed_results(lambda out, lse, cache: (out, change(lse)))


WRONG_LSE = {
    "zeros": zeros,
    "in units of log 2": with_changed_lse(lambda lse: lse / torch.tensor(2.0).log()),
    "in FP16": with_changed_lse(lambda lse: lse.half().float()),
    "of the last parts alone": partial(split_kv_attention, lost_part=0),
    "parts not weighed": partial(split_kv_attention, weigh_by_lse=False),
    "key scale forgotten": with_misread_cache(lambda cache: {"key_scale": 1.0}),
    "newest key missing": partial(split_kv_attention, mask_shift=-1),
    "NaN where a query sees no key": partial(split_kv_attention, nan_without_keys=True),
    "+inf where a query sees no key": with_changed_lse(lambda lse: lse.masked_fill(lse == -torch.inf, torch.inf)),
    "0 where a query sees no key": with_changed_lse(lambda lse: lse.masked_fill(lse == -torch.inf, 0)),
}
