"""The error budget: at most twice the error of PyTorch's own attention, for the output and for its three gradients.

One budget for a whole tensor passes a head of zeros beside a head of large values, and one for a whole head passes a
row of zeros beside a row of large values.  So each row's error is taken as a fraction of that row's size, and each head
has the budget of its own worst row in PyTorch's result at the same precision, plus what rounding may do to the row.

The chapter on the first kernel teaches a simpler and stricter budget: 1.5 times the largest error of PyTorch's result
in the head.

The truth is FP64.  PyTorch's result is the worst of those of ``scaled_dot_product_attention``'s backends that accept
the input.
"""

import warnings
from collections.abc import Callable, Sequence
from functools import partial

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

from kernels.reference import oracle, weights

FACTOR = 2
BACKENDS = (
    SDPBackend.MATH,
    SDPBackend.FLASH_ATTENTION,
    SDPBackend.EFFICIENT_ATTENTION,
    SDPBackend.CUDNN_ATTENTION,
)


def budget_used(
    actual: Tensor, baseline: Tensor | Sequence[Tensor], truth: Tensor, size: Tensor, rounding: Tensor | float = 0.0
) -> float:
    """The largest error as a fraction of what is allowed: at most 1 passes.  NaN is inf, and a row of size 0 must be 0.

    actual, truth: [..., rows, columns]   baseline: the same, one or several, of which the worst counts
    size: [..., rows, 1], what an error in that row is measured by, if the row has no value larger than that
    rounding: [..., rows, 1], what an error in the input of the softmax, which FP32 cannot avoid, does to that row
    """
    assert actual.shape == truth.shape, f"the shape is {list(actual.shape)}, it should be {list(truth.shape)}"
    if truth.numel() == 0:
        return 0.0
    eps = torch.finfo(actual.dtype).eps
    empty = size == 0
    size = size.maximum(truth.abs().amax(-1, keepdim=True)).clamp(min=smallest(actual.dtype)).masked_fill(empty, 0)
    worst = torch.zeros_like(size[..., :1, :])
    if not empty.all():
        baselines = [baseline] if isinstance(baseline, Tensor) else baseline
        errors = [worst_row(x, actual, truth, size) for x in baselines]
        useful = [x for x in errors if _is_useful(x, eps, rounding, size)]
        assert useful, "no baseline is of use: each is far from the truth itself, or not finite"
        worst = torch.stack(useful).amax(0)
    allowed = FACTOR * (worst * size + rounding) + eps / 2 * size
    error = (actual.double() - truth).abs()
    fraction_used = (error / allowed).masked_fill(empty & (error == 0), 0)
    return fraction_used.nan_to_num(nan=torch.inf, posinf=torch.inf).max().item()


def worst_row(baseline: Tensor, actual: Tensor, truth: Tensor, size: Tensor) -> Tensor:
    """The error of each head's worst row, as a fraction of the row's size: [..., 1, 1]."""
    assert actual.dtype == baseline.dtype, f"the dtype is {actual.dtype}, it should be {baseline.dtype}"
    relative_error = ((baseline.double() - truth).abs() / size).masked_fill(size == 0, 0)
    return relative_error.amax((-2, -1), keepdim=True)


def _is_useful(worst: Tensor, eps: float, rounding: Tensor | float, size: Tensor) -> bool:
    """Whether a baseline is as near to the truth as its precision promises, or nearly: it allows others its error."""
    unavoidable = torch.as_tensor(rounding / size).nan_to_num(nan=0.0)
    return bool((worst < 16 * (eps + unavoidable.amax(-2, keepdim=True))).all())  # NaN compares false


def smallest(dtype: torch.dtype) -> float:
    """Numbers below this have fewer bits, or none: FP32's, which BF16 shares, may be flushed to 0."""
    if dtype == torch.float16:
        return torch.finfo(torch.float16).smallest_normal
    return torch.finfo(torch.float32).smallest_normal / torch.finfo(dtype).eps


def attention_budget_used(
    attention: Callable, q: Tensor, k: Tensor, v: Tensor, *, rounded: torch.dtype | None = None, **options
) -> float:
    """``budget_used`` by the output of an attention function on these inputs.

    rounded: what weights are rounded to before the matmul, which then has an allowance of its own.  Among a few cases
    PyTorch's rounding is allowance enough; among thousands there is a row where it happens to come to nothing.
    options: is_causal, scale, enable_gqa, key_lengths; the function gets those that are given
    """
    mask = visible(q, k, **options)
    term_sizes = Squares(q, k, v, mask, options.get("scale"), rounded=rounded)
    baselines = [outputs[0] for outputs in torch_results(q, k, v, None, mask, options)]
    truth = oracle(q, k, v, attn_mask=mask, **_without_masks(options))
    size = term_sizes.out()
    weight_rounding = 0 if rounded is None else torch.finfo(rounded).eps / 4
    rounding = term_sizes.out(term_sizes.rounding) + size * (arithmetic(k.shape[-2]) + weight_rounding)
    return budget_used(attention(q, k, v, **options), baselines, truth, size, rounding)


def gradient_budget_used(
    attention: Callable, q: Tensor, k: Tensor, v: Tensor, dout: Tensor | None = None, **options
) -> dict[str, float]:
    """``budget_used`` by the output of an attention function, "out", and by its gradients, "dq", "dk" and "dv".

    dout: the gradient of the output, random if None   options: as above
    The truth is autograd's, through the FP64 oracle; the baselines are the gradients of SDPA's backends.
    """
    if dout is None:
        dout = torch.randn(q.shape, device=q.device).to(q.dtype)
    mask = visible(q, k, **options)
    term_sizes = Squares(q, k, v, mask, options.get("scale"), dout)
    baselines = torch_results(q, k, v, dout, mask, options)
    exact = partial(oracle, attn_mask=mask, **_without_masks(options))
    truths = gradients(exact, *(x.double() for x in (q, k, v, dout)))
    actual = gradients(partial(attention, **options), q, k, v, dout)
    sizes = term_sizes.out(), *term_sizes.gradients()
    sizes = [size.maximum(truth.abs().amax(-1, keepdim=True)) for size, truth in zip(sizes, truths, strict=True)]
    # Twice: what computes a score again rounds it anew, while the lse that it meets remembers the first time.
    weight_rounding = 2 * term_sizes.rounding + term_sizes.rounding_of_lse
    roundings = term_sizes.out(term_sizes.rounding), *term_sizes.gradients(weight_rounding)
    # A 16-bit kernel rounds weights and gradients of scores before the matmul; torch on a CPU keeps them in FP32.
    operand_rounding = torch.finfo(q.dtype).eps / 4
    fractions_used = {}
    for i, name in enumerate(("out", "dq", "dk", "dv")):
        terms = k.shape[-2] if name in ("out", "dq") else q.shape[-2] * term_sizes.group
        fraction = arithmetic(terms) + (0 if name == "out" else operand_rounding)
        fractions_used[name] = budget_used(
            actual[i], [x[i] for x in baselines], truths[i], sizes[i], roundings[i] + sizes[i] * fraction
        )
    return fractions_used


def arithmetic(terms: int) -> float:
    """What FP32 inside a kernel does to a row, as a fraction of its size: exp2 of a GPU is off by two units in the last
    place, and sums of n terms, one after the other, by about √n/4.
    """
    return 2 * torch.finfo(torch.float32).eps * max(1, terms**0.5 / 8)


def lse_budget_used(attention: Callable, q: Tensor, k: Tensor, v: Tensor, **options) -> float:
    """``budget_used`` by the log-sum-exp that an attention function returns with ``return_lse=True``.

    The baseline is ``logsumexp`` in FP32; a score's own rounding is a rounding of the result.  A query that sees no
    key must have -inf.
    """
    actual = attention(q, k, v, return_lse=True, **options)[1]
    assert actual.dtype == torch.float32, f"lse is {actual.dtype}, it should be torch.float32"
    mask = visible(q, k, **options)
    term_sizes = Squares(q, k, v, mask, options.get("scale"))
    truth, baseline = (
        _scores(*pair, options.get("scale")).masked_fill(~mask, -torch.inf).logsumexp(-1, keepdim=True)
        for pair in ((q.double(), k.double()), (q.float(), k.float()))
    )
    empty = truth == -torch.inf
    actual = actual[..., None]
    actual = torch.where(empty, torch.where(actual == -torch.inf, 0.0, torch.inf), actual)
    baseline, truth = (x.masked_fill(empty, 0) for x in (baseline, truth))
    size = torch.ones_like(truth).masked_fill(empty, 0)
    return budget_used(actual, baseline, truth, size, term_sizes.rounding.masked_fill(empty, 0))


def gradients(attention: Callable, q: Tensor, k: Tensor, v: Tensor, dout: Tensor) -> tuple[Tensor, ...]:
    """The output of an attention function, then the gradients of query, key and value."""
    leaves = [x.detach().requires_grad_() for x in (q, k, v)]
    with torch.enable_grad():
        out = attention(*leaves)
        return out.detach(), *torch.autograd.grad(out, leaves, dout)


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
    disagree; here it gets every key and no gradient, and its output is not looked at.  Heads that are shared are
    repeated, for most backends refuse them.
    """
    arguments = {name: value for name, value in options.items() if name in ("is_causal", "scale")}
    group = q.shape[1] // max(1, k.shape[1])

    def attention(q, k, v):
        k, v = (x.repeat_interleave(group, 1) for x in (k, v))
        return scaled_dot_product_attention(q, k, v, **arguments)

    if options.get("key_lengths") is not None:
        no_key = ~mask.any(-1, keepdim=True)
        arguments |= {"attn_mask": mask | no_key, "is_causal": False}
        dout = None if dout is None else dout.masked_fill(no_key, 0)
    results = []
    for backend in BACKENDS:
        with warnings.catch_warnings(), sdpa_kernel(backend):
            warnings.simplefilter("ignore")  # each says why it does not accept these inputs
            try:
                if dout is None:
                    results.append((attention(q, k, v),))
                else:
                    results.append(gradients(attention, q, k, v, dout))
            except torch.OutOfMemoryError:
                raise
            except RuntimeError:
                continue
    return results


class Squares:
    """How large each row of the output and the gradients is if signs fall at random: √(Σ term²) in its largest column,
    or as large as it is.

    Rounding errors of the terms add up to this times their relative size; the row itself may cancel to nothing.  A
    weight, or a score's gradient, is rounded to the inputs' dtype (or ``rounded``) before the matmul that follows, so
    that one below the smallest normal number is known no better than that number.

    A score is known to 2⁻²³ of itself and of its sum's terms in FP32 at best, of which d added one after the other make
    about √d/3 times more, and so do a tensor core's few sums, since it cuts off what it does not keep: its weight's
    relative error (``rounding``, [..., N_q, 1], of the row's worst score).  What this does is a size too, each term
    times its rounding.

    A weight of the backward pass is exp(score - lse), and lse is one number a row in FP32: however small the scores
    are, it is about the logarithm of the number of keys.  It is rounded when the logarithm of the sum meets the
    maximum, when it is stored, when it is scaled for exp2, and when it is subtracted: four times at most half a unit
    in the last place, which is twice ``rounding_of_lse``, [..., N_q, 1].

    A row's rowsum(dout∘out) is one number, so that its error goes into all gradients of the row's scores alike and
    meets the sum of the keys, by their weights, in the gradient of the query.
    """

    def __init__(self, q, k, v, mask, scale, dout=None, *, rounded=None):
        self.group = q.shape[1] // k.shape[1]
        self.scale = q.shape[-1] ** -0.5 if scale is None else scale
        gqa = {"enable_gqa": True}
        self.q = q.double().square()
        self.k, self.v = (x.double().square().repeat_interleave(self.group, 1) for x in (k, v))
        self.dout = None if dout is None else dout.double().square()
        self.floor = mask.double() * smallest(rounded or q.dtype) ** 2
        shares = weights(q.double(), k.double(), attn_mask=mask, scale=scale, **gqa)
        self.shares = shares.square() + self.floor
        self.output = self.shares @ self.v + (shares @ v.double().repeat_interleave(self.group, 1)).square()
        self.blend_of_keys = (shares @ k.double().repeat_interleave(self.group, 1)).square()
        sum_growth = max(1, q.shape[-1] / 8)
        exact = _scores(q.double(), k.double(), scale)
        scores = (sum_growth * (exact.square() + self.scale**2 * (self.q @ self.k.mT)) * mask).sqrt()
        worst_score = scores.amax(-1, keepdim=True) if k.shape[-2] else scores.sum(-1, keepdim=True)
        self.rounding = torch.finfo(torch.float32).eps * worst_score
        lse = exact.masked_fill(~mask, -torch.inf).logsumexp(-1, keepdim=True)
        self.rounding_of_lse = torch.finfo(torch.float32).eps * lse.abs().nan_to_num(posinf=0.0)

    def out(self, times: Tensor | float = 1.0) -> Tensor:
        """[batch, heads, N_q, 1], each term times ``times``."""
        return _root_of_largest(self.output * (times * torch.ones_like(self.rounding)).square())

    def gradients(self, times: Tensor | float = 1.0) -> tuple[Tensor, Tensor, Tensor]:
        """Of query, key and value: [batch, heads, rows, 1] each; those of a key head are summed over its queries."""
        times = (times * torch.ones_like(self.rounding)).square()
        dshares = self.dout @ self.v.mT
        delta = (self.dout * self.output).sum(-1, keepdim=True)
        dscores = (self.shares * (dshares + delta) + self.floor) * times
        dq = self.scale**2 * (dscores @ self.k + delta * times * self.blend_of_keys)
        dk = self.scale**2 * (dscores.mT @ self.q)
        dv = (self.shares * times).mT @ self.dout
        dk, dv = (x.unflatten(1, (-1, self.group)).sum(2) for x in (dk, dv))
        return tuple(_root_of_largest(x) for x in (dq, dk, dv))


def _root_of_largest(squares: Tensor) -> Tensor:
    return squares.amax(-1, keepdim=True).sqrt()


def _scores(q: Tensor, k: Tensor, scale: float | None) -> Tensor:
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    return q @ k.repeat_interleave(q.shape[1] // k.shape[1], 1).mT * scale


def _without_masks(options: dict) -> dict:
    return {name: value for name, value in options.items() if name in ("scale", "enable_gqa")}
