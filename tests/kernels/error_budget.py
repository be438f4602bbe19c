"""The error budget: at most twice the error of PyTorch's own attention, and one rounding of the result.

Errors are taken against FP64, for each head by itself, since one budget for a whole tensor would pass a head of zeros
beside a head of large values.  A head's error is its largest, and PyTorch's is the worst of those of the backends of
``scaled_dot_product_attention`` that accept the input, at the same precision.  To PyTorch's error is added what FP32
does to any kernel, while PyTorch may be lucky: a weight is exp(score - lse), and both are known to 2⁻²³ of themselves.
"""

import math
import warnings
from collections.abc import Callable, Sequence
from functools import partial

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

from kernels.reference import oracle

FACTOR = 2
BACKENDS = (
    SDPBackend.MATH,
    SDPBackend.FLASH_ATTENTION,
    SDPBackend.EFFICIENT_ATTENTION,
    SDPBackend.CUDNN_ATTENTION,
)


def budget_used(actual: Tensor, baselines: Sequence[Tensor], truth: Tensor, rounding: Tensor | float = 0.0) -> float:
    """The largest error of a head as a share of what it is allowed: at most 1 passes, NaN is inf.

    actual, truth: [..., rows, columns], a head each
    baselines: the same; the worst counts, unless it is 100 times worse than the best, and so broken
    rounding: [..., 1, 1], what the rounding of scores in FP32 does to the head
    """
    assert actual.shape == truth.shape, f"the shape is {list(actual.shape)}, it should be {list(truth.shape)}"
    if truth.numel() == 0:
        return 0.0

    def error(result: Tensor) -> Tensor:
        assert result.dtype == actual.dtype, f"the dtype is {actual.dtype}, it should be {result.dtype}"
        return largest(result.double() - truth)

    numbers = torch.finfo(actual.dtype)
    of_the_result = numbers.eps / 2 * largest(truth).clamp(min=numbers.smallest_normal)
    errors = torch.stack([error(baseline) for baseline in baselines]).nan_to_num(nan=torch.inf)
    best = errors.amin(0)
    assert best.isfinite().all(), "no baseline is finite here: none allows an error"
    broken = errors > 100 * (best + rounding + of_the_result)
    of_torch = errors.masked_fill(broken, 0).amax(0)
    used = error(actual) / (FACTOR * (of_torch + rounding) + of_the_result)
    return used.nan_to_num(nan=torch.inf, posinf=torch.inf).max().item()


def largest(x: Tensor) -> Tensor:
    """The largest magnitude of each head, [..., 1, 1]."""
    return x.double().abs().amax((-2, -1), keepdim=True)


def rounding_of_scores(q: Tensor, k: Tensor, mask: Tensor, scale: float | None) -> Tensor:
    """For each head of queries: to which share of itself FP32 knows every weight, [batch, heads, 1, 1].

    The log-sum-exp is larger than the largest score, by log N_k at most.
    """
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    k = k.repeat_interleave(q.shape[1] // k.shape[1], 1)
    scores = (q.double() @ k.double().mT * scale).masked_fill(~mask, 0)
    return torch.finfo(torch.float32).eps * (largest(scores) + math.log(k.shape[-2])).clamp(min=1)


def attention_budget_used(attention: Callable, q: Tensor, k: Tensor, v: Tensor, **options) -> float:
    """``budget_used`` by the output of an attention function on these inputs.

    options: is_causal, scale, enable_gqa, key_lengths; the function gets those that are given
    """
    mask = visible(q, k, **options)
    of_torch = [outputs[0] for outputs in torch_results(q, k, v, None, mask, options)]
    truth = exact(mask, options)(q, k, v)
    rounding = rounding_of_scores(q, k, mask, options.get("scale"))
    rounding = rounding * largest(v).repeat_interleave(q.shape[1] // k.shape[1], 1)
    return budget_used(attention(q, k, v, **options), of_torch, truth, rounding)


def gradient_budget_used(
    attention: Callable, q: Tensor, k: Tensor, v: Tensor, dout: Tensor | None = None, **options
) -> dict[str, float]:
    """``budget_used`` by the output of an attention function, "out", and by its gradients, "dq", "dk" and "dv".

    dout: the gradient of the output, random if None   options: as above
    """
    if dout is None:
        dout = torch.randn(q.shape, device=q.device).to(q.dtype)
    mask = visible(q, k, **options)
    of_torch = torch_results(q, k, v, dout, mask, options)
    truths = gradients(exact(mask, options), *(x.double() for x in (q, k, v, dout)))
    actual = gradients(partial(attention, **options), q, k, v, dout)

    scale, group = options.get("scale"), q.shape[1] // k.shape[1]
    rounding = rounding_of_scores(q, k, mask, scale)
    # The gradient of a score is a difference, 0 where a query sees one key alone: it is as exact as what is subtracted.
    of_score = rounding * largest(dout.double() @ v.repeat_interleave(group, 1).double().mT)
    of_score = of_score * (q.shape[-1] ** -0.5 if scale is None else abs(scale))
    roundings = (
        rounding * largest(v).repeat_interleave(group, 1),
        of_score * largest(k).repeat_interleave(group, 1),
        (of_score * largest(q)).unflatten(1, (-1, group)).amax(2),
        rounding.unflatten(1, (-1, group)).amax(2) * largest(truths[3]),
    )
    return {
        name: budget_used(actual[i], [x[i] for x in of_torch], truths[i], roundings[i])
        for i, name in enumerate(("out", "dq", "dk", "dv"))
    }


def lse_budget_used(attention: Callable, q: Tensor, k: Tensor, v: Tensor, **options) -> float:
    """``budget_used`` by the log-sum-exp that an attention function returns with ``return_lse=True``.

    The baseline is ``logsumexp`` in FP32.  A query that sees no key must have -inf.
    """
    actual = attention(q, k, v, return_lse=True, **options)[1]
    assert actual.dtype == torch.float32, f"lse is {actual.dtype}, it should be torch.float32"
    mask, scale, group = visible(q, k, **options), options.get("scale"), q.shape[1] // k.shape[1]
    k = k.repeat_interleave(group, 1)
    truth, baseline = (
        (x @ y.mT * (q.shape[-1] ** -0.5 if scale is None else scale)).masked_fill(~mask, -torch.inf).logsumexp(-1)
        for x, y in ((q.double(), k.double()), (q.float(), k.float()))
    )
    return lse_used(actual, baseline, truth, rounding_of_scores(q, k, mask, scale))


def lse_used(actual: Tensor, baseline: Tensor, truth: Tensor, rounding: Tensor) -> float:
    """``budget_used`` by a log-sum-exp, [..., heads, rows]: its error is a share of every weight of the row."""
    empty = truth == -torch.inf
    if not (actual == -torch.inf).equal(empty):
        return torch.inf
    actual, baseline, truth = (x.masked_fill(empty, 0)[..., None] for x in (actual, baseline, truth))
    return budget_used(actual, [baseline], truth, rounding)


def gradients(attention: Callable, q: Tensor, k: Tensor, v: Tensor, dout: Tensor) -> tuple[Tensor, ...]:
    """The output of an attention function, then the gradients of query, key and value."""
    leaves = [x.detach().requires_grad_() for x in (q, k, v)]
    with torch.enable_grad():
        out = attention(*leaves)
        return out.detach(), *torch.autograd.grad(out, leaves, dout)


def exact(mask: Tensor, options: dict) -> Callable[..., Tensor]:
    """Attention in FP64, with a mask in place of is_causal and key_lengths."""
    options = {name: options[name] for name in ("scale", "enable_gqa") if name in options}
    return partial(oracle, attn_mask=mask, **options)


def visible(q: Tensor, k: Tensor, *, is_causal=False, key_lengths=None, **_) -> Tensor:
    """Which keys each query sees, [batch, 1, N_q, N_k]: those of its sequence, up to its own place if causal."""
    key = torch.arange(k.shape[-2], device=q.device)
    mask = torch.ones(q.shape[0], 1, q.shape[-2], k.shape[-2], dtype=torch.bool, device=q.device)
    if is_causal:
        mask = mask.tril()
    return mask if key_lengths is None else mask & (key < key_lengths[:, None, None, None])


def torch_results(q, k, v, dout, mask, options) -> list[tuple[Tensor, ...]]:
    """What each of SDPA's backends says that accepts these inputs: its output, and with ``dout`` the three gradients.

    SDPA takes key_lengths as a mask alone, which it refuses beside is_causal.  On a query that sees no key its backends
    disagree; here it gets every key and no gradient, and its output is set to 0.  Heads that are shared are repeated,
    for most backends refuse them.
    """
    arguments = {name: value for name, value in options.items() if name in ("is_causal", "scale")}
    group = q.shape[1] // max(1, k.shape[1])
    no_key = ~mask.any(-1, keepdim=True)
    if options.get("key_lengths") is not None:
        arguments |= {"attn_mask": mask | no_key, "is_causal": False}

    def attention(q, k, v):
        k, v = (x.repeat_interleave(group, 1) for x in (k, v))
        return scaled_dot_product_attention(q, k, v, **arguments).masked_fill(no_key, 0)

    results = []
    for backend in BACKENDS:
        with warnings.catch_warnings(), sdpa_kernel(backend):
            warnings.simplefilter("ignore")  # each says why it does not accept these inputs
            try:
                results.append((attention(q, k, v),) if dout is None else gradients(attention, q, k, v, dout))
            except torch.OutOfMemoryError:
                raise
            except RuntimeError:
                continue
    return results
