"""Decode kernels that are wrong on purpose, each by one mistake that is easily made.

``in_parts`` is a right one in PyTorch: the keys of a sequence in parts, which are merged by output and log-sum-exp.
Its options are mistakes; others are right decoding of a cache that is read wrongly.  Whatever accepts a right kernel
must reject every one of ``WRONG`` by its output, and every one of ``WRONG_LSE`` by its log-sum-exp.
"""

from copy import copy
from functools import partial

import torch
from torch.nn.functional import pad


def in_parts(q, cache, *, scale=None, return_lse=False, portable=False, share=torch.repeat_interleave, **mistakes):
    """As ``decode_attention``.   share: which head of keys belongs to which head of queries"""
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    out, lse = torch.empty_like(q), torch.empty(q.shape[:-1], device=q.device)
    group = q.shape[1] // cache.kv_heads
    mistakes["weights_in"] = torch.bfloat16 if cache.format == "bf16" else torch.float16
    for i in range(cache.batch):
        k, v = (share(x, group, 0) for x in cache.gather(i))
        out[i], lse[i] = of_sequence(q[i], k, v, scale, **mistakes)
    return (out, lse) if return_lse else out


def of_sequence(
    q, k, v, scale, *, part=24, shift=0, mask="bottom-right", read_q_in=torch.float32, scores_in=torch.float32,
    weights_in=torch.float16, subtract_max=True, nan_where_nothing_is_seen=False, lost_part=None, weigh=True,
    sum_in=torch.float32,
):  # fmt: skip
    """Output and lse.  All in FP32, but weights are rounded before they meet the values.

    part: how many keys   shift: how many too many each query sees
    """
    length, new = k.shape[1], q.shape[1]
    token = torch.arange(new, device=q.device)[:, None]
    seen = {"bottom-right": length - new + 1 + token, "top-left": 1 + token, "none": length + 0 * token}[mask] + shift
    outputs, logs = [], []
    for first in range(0, max(1, length), part):
        keys, values = k[:, first : first + part], v[:, first : first + part]
        key = first + torch.arange(keys.shape[1], device=q.device)
        scores = (q.to(read_q_in).float() @ keys.mT * scale).to(scores_in).float()
        scores = pad(scores.masked_fill(key >= seen, -torch.inf), (0, 1), value=-torch.inf)
        maximum = scores.amax(-1, keepdim=True) if subtract_max else torch.zeros_like(scores[..., :1])
        if not nan_where_nothing_is_seen:
            maximum = maximum.clamp(min=-1e30)
        weights = (scores - maximum).exp()[..., :-1]
        total = weights.sum(-1, keepdim=True)
        outputs.append(weights.to(weights_in).float() @ values / torch.where(total == 0, 1, total))
        logs.append(maximum + total.log())
    if lost_part is not None and len(logs) > 1:
        outputs.pop(lost_part), logs.pop(lost_part)
    # The merge.
    maximum = torch.stack(logs).amax(0).clamp(min=-1e30)
    total, out = torch.zeros_like(maximum), torch.zeros_like(outputs[0])
    for output, log in zip(outputs, logs, strict=True):
        weight = (log - maximum).exp() if weigh else (log > -torch.inf).float()
        total = (total + weight).to(sum_in).float()
        out = (out + weight * output).to(sum_in).float()
    return out / torch.where(total == 0, 1, total), (maximum + total.log())[..., 0]


def zeros(q, cache, *, return_lse=False, **options):
    return (torch.zeros_like(q), torch.zeros(q.shape[:-1], device=q.device)) if return_lse else torch.zeros_like(q)


def changed(change):
    """Right, but for what ``change`` does to (out, lse, cache)."""

    def attention(q, cache, *, return_lse=False, **options):
        out, lse = in_parts(q, cache, return_lse=True, **options)
        out, lse = change(out, lse, cache)
        return (out, lse) if return_lse else out

    return attention


def _zeros_in(which):
    def change(out, lse, cache):
        out[which] = 0
        return out, lse

    return changed(change)


def nan_in_one_place(out, lse, cache):
    out[-1, -1, -1, -1] = torch.nan
    return out, lse


def misread(change):
    """Right, but for a cache that is taken for another one: ``change`` gives what it is taken for, by name."""

    def attention(q, cache, **options):
        other = copy(cache)
        vars(other).update(change(cache))
        return in_parts(q, other, **options)

    return attention


def pages_in_order(cache):
    table = torch.arange(cache.page_table.numel(), device=cache.device) % cache.pages
    return {"page_table": table.view(cache.page_table.shape)}


def pages_of_another_sequence(cache):
    return {"page_table": cache.page_table.roll(1, 0).clamp(min=0)}


def heads_in_reverse(cache):
    return {"values": cache.values.flip(1)}


def changed_in_nvfp4(name, change):
    return misread(lambda cache: {name: change(getattr(cache, name))} if cache.format == "nvfp4" else {})


def swapped(packed):
    """The two codes of each byte."""
    return packed >> 4 | packed << 4


def of_the_neighbour(block_scales):
    return block_scales.roll(1, -1)


def of_the_token_before(block_scales):
    return block_scales.roll(1, -2)


WRONG = {
    "zeros": zeros,
    "zeros in one sequence": _zeros_in((-1,)),
    "zeros in one head": _zeros_in((-1, -1)),
    "zeros in one row": _zeros_in((-1, -1, -1)),
    "NaN in one place": changed(nan_in_one_place),
    "parts averaged, not weighed by their lse": partial(in_parts, weigh=False),
    "first part lost": partial(in_parts, lost_part=0),
    "last part lost": partial(in_parts, lost_part=-1),
    "sums in FP16": partial(in_parts, part=4, sum_in=torch.float16),
    "maximum not subtracted": partial(in_parts, subtract_max=False),
    "NaN where a query sees no key": partial(in_parts, nan_where_nothing_is_seen=True),
    "scores in FP16": partial(in_parts, scores_in=torch.float16),
    "query in FP16, whatever its size": partial(in_parts, read_q_in=torch.float16),
    "query in FP8": partial(in_parts, read_q_in=torch.float8_e4m3fn),
    "causal mask aligned top-left": partial(in_parts, mask="top-left"),
    "causal mask missing": partial(in_parts, mask="none"),
    "newest key missing": partial(in_parts, shift=-1),
    "one key too many": partial(in_parts, shift=1),
    "heads grouped wrongly": partial(in_parts, share=lambda x, group, axis: torch.cat([x] * group, axis)),
    "page table ignored": misread(pages_in_order),
    "pages of another sequence": misread(pages_of_another_sequence),
    "values of another head": misread(heads_in_reverse),
    "key scale forgotten": misread(lambda cache: {"key_scale": 1.0}),
    "value scale forgotten": misread(lambda cache: {"value_scale": 1.0}),
    "nibbles of keys swapped": changed_in_nvfp4("keys", swapped),
    "nibbles of values swapped": changed_in_nvfp4("values", swapped),
    "block scale of the neighbour, keys": changed_in_nvfp4("key_block_scales", of_the_neighbour),
    "block scale of the neighbour, values": changed_in_nvfp4("value_block_scales", of_the_neighbour),
    "block scale of the token before": changed_in_nvfp4("value_block_scales", of_the_token_before),
    "block scales of keys for values": misread(lambda cache: {"value_block_scales": cache.key_block_scales}),
}


def _lse(change):
    return changed(lambda out, lse, cache: (out, change(lse)))


WRONG_LSE = {
    "zeros": zeros,
    "in units of log 2": _lse(lambda lse: lse / torch.tensor(2.0).log()),
    "in FP16": _lse(lambda lse: lse.half().float()),
    "of the last parts alone": partial(in_parts, lost_part=0),
    "parts not weighed": partial(in_parts, weigh=False),
    "key scale forgotten": misread(lambda cache: {"key_scale": 1.0}),
    "newest key missing": partial(in_parts, shift=-1),
    "NaN where a query sees no key": partial(in_parts, nan_where_nothing_is_seen=True),
    "+inf where a query sees no key": _lse(lambda lse: lse.masked_fill(lse == -torch.inf, torch.inf)),
    "0 where a query sees no key": _lse(lambda lse: lse.masked_fill(lse == -torch.inf, 0)),
}
