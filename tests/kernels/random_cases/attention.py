"""Random cases of attention: every rung, the dispatcher, and FlashAttention's gradients."""

from collections.abc import Callable
from functools import partial
from random import Random

import torch
from torch import Tensor

from kernels.checks import is_hopper
from kernels.dispatch import attention
from kernels.first.key_blocks import key_blocks_attention
from kernels.first.one_key import one_key_attention
from kernels.first.three_kernels import three_kernel_attention
from kernels.flash.attention import flash_attention
from tests.kernels.error_budget import attention_budget_used, gradient_budget_used
from tests.kernels.flash.harness import (
    columns_first,
    growing_keys,
    large_scores,
    mixed_magnitudes,
    one_hot_rows,
    sequence_first,
    subnormals,
)
from tests.kernels.prefilled import prefilled_with_nan
from tests.kernels.random_cases.lse import lse_used
from tests.kernels.random_cases.rounds import (
    DEVICE,
    DTYPES,
    LARGEST,
    LONGEST,
    Form,
    as_many_as_fit,
    catalogue,
    normal,
    sizes,
    split,
)

NUMBERS = {
    "normal": lambda q, k, v: (q, k, v),
    **{f.__name__: f for f in (large_scores, one_hot_rows, mixed_magnitudes, subnormals, growing_keys)},
}
SPARE = 16  # columns beside a view, of NaN


def inside_nan(x: Tensor) -> Tensor:
    """A view into a tensor that is NaN everywhere else."""
    *outer, rows, columns = x.shape
    view = x.new_full((*outer, rows + 3, columns + SPARE), torch.nan)[..., 1 : rows + 1, :columns]
    return view.copy_(x)


LAYOUTS = {
    "contiguous": lambda x: x,
    "columns_first": columns_first,
    "sequence_first": sequence_first,
    "inside_nan": inside_nan,
}


def draw(rng: Random, entry: dict) -> dict:
    """A shape and a scale; small and odd lengths mostly, and few that are long."""
    longest = entry["longest"]
    seq_k = rng.randint(longest // 2 + 1, longest)
    seq_q = rng.choice([1, seq_k, rng.randint(1, longest), rng.randint(1, min(longest, 70))])
    batch, key_heads, group = rng.choice([1, 1, 2, 3]), rng.choice([1, 1, 2, 3]), rng.choice([1, 1, 1, 2, 3, 4])
    # Where a stride is a multiple of a length, the length is odd: Triton compiles anew where 16 divides a stride.
    if entry["layout"] == "columns_first" or entry["head_dim"] % 16:
        seq_k, seq_q = (length - 1 + length % 2 or 1 for length in (seq_k, seq_q))
        key_heads, group = key_heads | 1, group | 1
    if batch * key_heads * group * seq_k * max(seq_q, seq_k) > LARGEST:
        batch, key_heads, group = 1, 1, 1
    scale = None if rng.random() < 0.6 else round(rng.uniform(-1, 1), 3)
    numbers = rng.choice(["normal"] * 5 + list(NUMBERS)[1:])
    cases = as_many_as_fit(batch * key_heads * group * seq_k * max(seq_q, seq_k))
    shape = {"batch": batch, "key_heads": key_heads, "group": group, "seq_q": seq_q, "seq_k": seq_k}
    return {**entry, **shape, "scale": scale, "numbers": numbers, "cases": cases}


def draw_for_gradients(rng: Random, entry: dict) -> dict:
    """In 16 bits PyTorch's own are NaN below a scale of 0, so that there is nothing to judge by."""
    settings = draw(rng, entry)
    if settings["scale"] is not None and settings["dtype"] != "float32":
        settings["scale"] = abs(settings["scale"])
    return settings


def inputs(settings: dict, generator: torch.Generator) -> list[Tensor | None]:
    """q, k, v, dout, and the lengths of sequences, in a row of four for each case so that each begins aligned."""
    cases, batch, seq_q, seq_k = (settings[name] for name in ("cases", "batch", "seq_q", "seq_k"))
    head_dim, key_heads = settings["head_dim"], settings["key_heads"]
    each, heads = cases * batch, key_heads * settings["group"]
    q, dout = (normal(generator, each, heads, seq_q, head_dim) for _ in range(2))
    k, v = (normal(generator, each, key_heads, seq_k, head_dim) for _ in range(2))
    q, k, v = NUMBERS[settings["numbers"]](q, k, v)
    q, k = q * sizes(generator, each, 0.03, 3), k * sizes(generator, each, 0.3, 1)
    v = (v + normal(generator, each, key_heads, 1, 1)) * sizes(generator, each, 1e-3, 100)
    dout = dout * sizes(generator, each, 0.01, 10)
    if settings["dtype"] == "float16":
        dout = dout * within_fp16(settings, q, k, v, dout)
    dtype = getattr(torch, settings["dtype"])
    lengths = None
    if settings["lengths"]:
        lengths = torch.randint(-1, seq_k + 2, (cases, 4), generator=generator, device=DEVICE)
        lengths = lengths.to(getattr(torch, settings["lengths"]))
    return [x.to(dtype) for x in (q, k, v, dout)] + [lengths]


def within_fp16(settings: dict, q: Tensor, k: Tensor, v: Tensor, dout: Tensor) -> Tensor:
    """What makes each case's dout so small, if it is not, that gradients fit into FP16, [each, 1, 1, 1]: beyond that
    PyTorch's own are not finite, so that there is nothing to judge by."""
    scale = settings["head_dim"] ** -0.5 if settings["scale"] is None else abs(settings["scale"])
    rows = settings["group"] * settings["seq_q"]

    def largest(x: Tensor) -> Tensor:
        return x.flatten(1).amax(1)

    largest_dscores = 2 * largest(dout.norm(dim=-1)) * largest(v.norm(dim=-1))
    largest_dq, largest_dk = (
        largest_dscores * scale * largest(k.abs()),
        largest_dscores * scale * largest(q.abs()) * rows**0.5,
    )
    worst = torch.stack([largest_dscores, largest_dq, largest_dk, largest(dout.abs()) * rows**0.5]).amax(0)
    return (2.0**13 / worst.clamp(min=1e-30)).clamp(max=1)[:, None, None, None]


def options_of(settings: dict) -> dict:
    """What is given to kernel and judge alike; lengths come by themselves."""
    given = {"is_causal": settings["causal"], "enable_gqa": True}
    return given if settings["scale"] is None else {**given, "scale": settings["scale"]}


def each_case(settings: dict, tensors: list[Tensor | None]):
    """Query, key, value, dout and keyword arguments of each case, laid out as the settings say."""
    *rows, lengths = tensors
    laid_out = (LAYOUTS[settings["layout"]](x) for x in rows)
    pieces = [split(x, settings["cases"]) for x in (*laid_out, lengths)]
    for q, k, v, dout, own in zip(*pieces, strict=True):
        more = {} if own is None else {"key_lengths": own[0, : settings["batch"]]}
        yield q, k, v, dout, options_of(settings) | more


def with_contiguous_tensors(kernel: Callable) -> Callable:
    """A kernel that takes contiguous tensors of one number of heads, called as the others are."""
    return lambda q, k, v, *, enable_gqa, **options: kernel(*(x.contiguous() for x in (q, k, v)), **options)


def forward(kernel: Callable, settings: dict, tensors: list[Tensor | None]) -> list[Tensor]:
    """The output of each case, stacked, and its lse where the kernel gives one."""
    with prefilled_with_nan():
        results = [kernel(q, k, v, **options) for q, k, v, _, options in each_case(settings, tensors)]
    if isinstance(results[0], Tensor):
        return [torch.cat(results)]
    return [torch.cat(each) for each in zip(*results, strict=True)]


def backward(kernel: Callable, settings: dict, tensors: list[Tensor | None]) -> list[Tensor]:
    """The output of each case and its three gradients, stacked."""
    results = []
    with prefilled_with_nan():
        for *rows, dout, options in each_case(settings, tensors):
            leaves = [x.detach().requires_grad_() for x in rows]
            out = kernel(*leaves, **options)
            results.append((out.detach(), *torch.autograd.grad(out, leaves, dout)))
    return [torch.cat(each) for each in zip(*results, strict=True)]


def judge_arguments(settings: dict, tensors: list[Tensor | None]) -> tuple[list[Tensor], dict]:
    *rows, lengths = tensors
    own = {} if lengths is None else {"key_lengths": lengths[:, : settings["batch"]].flatten()}
    return rows, options_of(settings) | own


def forward_used(settings: dict, tensors: list[Tensor | None], results: list[Tensor]) -> float:
    (q, k, v, _), options = judge_arguments(settings, tensors)
    fraction_used = attention_budget_used(lambda *_, **__: results[0], q, k, v, rounded=q.dtype, **options)
    if len(results) == 1:
        return fraction_used
    return max(fraction_used, lse_used(results[1], q, k, **options))


class Replayed(torch.autograd.Function):
    """The output and the gradients that a kernel returned, for a judge that asks for them."""

    @staticmethod
    def forward(ctx, q, k, v, out, *gradients):
        ctx.gradients = gradients
        return out.clone()

    @staticmethod
    def backward(ctx, _):
        return *ctx.gradients, None, None, None, None


def backward_used(settings: dict, tensors: list[Tensor | None], results: list[Tensor]) -> float:
    (*rows, dout), options = judge_arguments(settings, tensors)
    fractions_used = gradient_budget_used(
        lambda *leaves, **_: Replayed.apply(*leaves, *results), *rows, dout, **options
    )
    return max(fractions_used.values())


def lengths_up_to(longest: int) -> list[int]:
    """The longest of each class: a kernel that holds a row whole is compiled for powers of two."""
    return [length for length in (1, 4, 16, 32, 64, 64, 128, 256, longest) if length <= longest]


def forms() -> list[Form]:
    common = {"causal": [False, True], "layout": list(LAYOUTS)}
    lengths = {"lengths": [None, "int32", None, "int64", None]}
    seen = {"longest": lengths_up_to(LONGEST)}
    dims_by_16 = [16, 32, 48, 64, 80, 128]
    any_dim = [1, 3, 8, 16, 33, 40, 64, 80, 96, 128, 160, 256]

    def of(name: str, kernel: Callable, kernels: list[dict], gradient: bool = False) -> Form:
        if gradient:
            return Form(name, kernel, kernels, draw_for_gradients, inputs, backward, backward_used)
        return Form(name, kernel, kernels, draw, inputs, forward, forward_used)

    def entries(name: str, head_dims: list[int], count: int, **other: list) -> list[dict]:
        return catalogue(name, count, **({"dtype": DTYPES, "head_dim": head_dims, **common, **lengths, **seen} | other))

    def first(name: str, kernel: Callable) -> Form:
        kernels = entries(name, dims_by_16, 24, lengths=[None], layout=["contiguous"])
        draw_one = lambda rng, entry: {**draw(rng, entry), "group": 1}  # noqa: E731
        return Form(
            name, with_contiguous_tensors(kernel), [*kernels, odd_entry], draw_one, inputs, forward, forward_used
        )

    odd_entry = {
        "dtype": "float32",
        "head_dim": 20,
        "layout": "contiguous",
        "causal": True,
        "lengths": None,
        "longest": 64,
    }
    with_lse = partial(flash_attention, return_lse=True)
    every_form = [
        first("one_key_attention", one_key_attention),
        first("key_blocks_attention", key_blocks_attention),
        first("three_kernel_attention", three_kernel_attention),
        of("flash_attention, forward", with_lse, entries("flash", any_dim, 36)),
        # For a head_dim of 1 PyTorch has nothing fused, and no other form's gradients lose as many digits to rounding.
        of("flash_attention, with gradients", flash_attention, entries("gradients", any_dim[1:], 30), gradient=True),
        of("attention, the dispatcher", attention, entries("flash", any_dim, 36, lengths=[None])),
    ]
    if DEVICE.type == "cuda" and is_hopper(DEVICE):
        from kernels.hopper.attention import hopper_attention

        by_8 = [8, 16, 40, 64, 80, 128, 136, 256]
        kernels = entries("hopper", by_8, 32, dtype=DTYPES[1:], lengths=[None])
        every_form.append(of("hopper_attention", partial(hopper_attention, return_lse=True), kernels))
    return every_form
