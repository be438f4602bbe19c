"""Attention by the fastest rung of the ladder for what is at hand: this device, dtype, shape.

    hopper_attention       a Hopper GPU, FP16 or BF16; where heads have up to 64 numbers, also
                           blocks of queries for all SMs, or many keys
    flash_attention        a GPU that Triton compiles for, up to 256 numbers a head
    reference_attention    everywhere else; and in FP32 on a GPU, while its square is small and
                           no half of the work of small heads can be skipped

Each is attention within the error budget, so that the choice is one of time and memory alone.
What is faster where is a matter of measurement: ``snippets/hopper/fastest_rung.py`` takes the
times, and the rule is the few lines of ``fastest_rung``.  It goes by what the GPU takes, and
not by what the host takes for a call.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import nullcontext

import torch
from torch import Tensor

from kernels.checks import KERNEL_DTYPES, check_attention, is_hopper
from kernels.reference import attention as three_lines

try:
    from triton import JITFunction

    from kernels.flash.attention import flash_attention
    from kernels.flash.forward import flash_forward_kernel
    from kernels.launch import MOST, OPTIONS, PLAIN, gradient_is_wanted, noted

    COMPILES = isinstance(flash_forward_kernel, JITFunction)  # an interpreted kernel is slow
except ImportError:  # there is no Triton
    COMPILES = False

try:
    from kernels.hopper.call import hopper_attention
    from kernels.hopper.plan import plan_for

    GLUON = True
except ImportError:  # Gluon is missing, or is not the one that the kernel was written for
    GLUON = False


def attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """Each query's blend of the value rows, by ``fastest_rung``: [..., N_q, d_v].

    q: [..., N_q, d]   k: [..., N_k, d]   v: [..., N_k, d_v]   ...: batch and heads, usually
    is_causal: aligned top-left, as in torch: query i sees keys 0 to i
    scale: 1/√d if None, any sign   enable_gqa: fewer heads in k and v than in q
    Sums are in FP32, or FP64 if q is; torch.autocast changes nothing.  A query that sees no key
    gets 0.  Differentiable, once, by torch.autograd; in forward mode and by torch.func only
    where the reference is chosen.
    What is not finite spreads as the rung has it: of scores that are all -inf the kernels make
    0 and the reference NaN, and NaN or inf in v may reach a whole block of queries.

    Raises the ValueError or TypeError of the rung, which names the argument.
    """
    options = {"is_causal": is_causal, "scale": scale, "enable_gqa": enable_gqa}
    return fastest_rung(q, k, v, **options)(q, k, v, **options)


def fastest_rung(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Callable[..., Tensor]:
    """The function that ``attention`` calls on these arguments; its ``__name__`` says which.

    The choice depends on device, dtype and shape, and on whether a gradient is wanted.  No
    number of the tensors is read.
    """
    options = (is_causal, scale, enable_gqa)
    kinds = tuple(map(type, options))  # for True and 1 are equal
    traced = torch.compiler.is_compiling()
    if traced or not (COMPILES and on_gpu(q, k, v) and OPTIONS.issuperset(kinds)):
        return chosen(q, k, v, *options)
    # All that the choice depends on; the rung looks at the tensors again, and at more of them.
    shapes, dtypes = (q.shape, k.shape, v.shape), (q.dtype, k.dtype, v.dtype)
    key = (shapes, dtypes, q.get_device(), gradient_is_wanted(q, k, v), options, kinds)
    if len(CHOICES) >= MOST:
        CHOICES.clear()
    return noted(CHOICES, key, lambda: chosen(q, k, v, *options))


CHOICES: dict[tuple, Callable[..., Tensor]] = {}  # rungs, by what was asked for


def on_gpu(*tensors: object) -> bool:
    """Whether these are plain tensors on a GPU."""
    return all([type(x) in PLAIN and x.is_cuda and not x.is_nested for x in tensors])


def chosen(
    q: Tensor, k: Tensor, v: Tensor, is_causal: bool, scale: float | None, enable_gqa: bool
) -> Callable[..., Tensor]:
    """What ``fastest_rung`` returns, worked out anew."""
    check_attention(q, k, v, scale=scale, enable_gqa=enable_gqa)
    if hopper_takes(q, k, v) and not is_short(q, k, v, is_causal):
        return hopper_attention
    # In IEEE FP32, which tensor cores do not have, large matmuls are mostly faster than small
    # blocks, although the square is written and read.
    if flash_takes(q, k, v) and not (
        q.dtype == torch.float32
        and square_is_small(q, k, v)
        and not skips_half(q, k, v, is_causal)
    ):
        return flash_attention
    return reference_attention


# What each rung can do, of arguments that fit each other.


def hopper_takes(q: Tensor, k: Tensor, v: Tensor) -> bool:
    """Whether ``hopper_attention`` can: 16 bits on a Hopper GPU, in whole 16-byte pieces."""
    return (
        GLUON
        and flash_takes(q, k, v)
        and is_hopper(q.device)
        and q.dtype != torch.float32
        and q.shape[-1] % 8 == 0
    )


def flash_takes(q: Tensor, k: Tensor, v: Tensor) -> bool:
    """Whether ``flash_attention`` can: a GPU of compute capability 8.0 or more, as in Triton's
    own list, [batch, heads, sequence, head_dim], and one head_dim up to 256."""
    return (
        COMPILES
        and q.is_cuda
        and torch.cuda.get_device_capability(q.device) >= (8, 0)
        and q.dtype in KERNEL_DTYPES
        and q.ndim == 4
        and q.shape[-1] == v.shape[-1] <= 256
    )


def is_short(q: Tensor, k: Tensor, v: Tensor, is_causal: bool) -> bool:
    """Whether heads up to 64 are too little work for ``hopper_attention`` to be the faster one.

    They have few keys, and make fewer blocks of queries than the GPU has SMs.  A block of
    ``flash_attention`` has 64 queries, those of the other 128 or 192: there are more of the
    former to share out, and each begins sooner.  With many keys the faster kernel makes up for
    that: on an H200, without a mask, forward with 8192 and not with 2048, with a gradient with
    2048 and not with 512; the bounds lie between.  So it does with larger heads, but for the
    shortest.
    """
    few = 1024 if gradient_is_wanted(q, k, v) else 4096
    keys = min(q.shape[-2], k.shape[-2]) if is_causal else k.shape[-2]
    blocks = math.ceil(q.shape[-2] / plan_for(q.shape[-1], is_causal, q.shape[-2]).block_q)
    sms = torch.cuda.get_device_properties(q.device).multi_processor_count
    return q.shape[-1] <= 64 and keys < few and q.shape[:-2].numel() * blocks < sms


def skips_half(q: Tensor, k: Tensor, v: Tensor, is_causal: bool) -> bool:
    """Whether in FP32 blocks are faster after all: causal, where half of them are skipped.

    On an H200 that makes up for small blocks forward, with heads of 64 and a block of 64
    queries for each SM.  With a gradient matmuls stay ahead; with fewer blocks or larger heads
    mostly, though not with 64 queries and keys.
    """
    if not is_causal or q.shape[-1] > 64 or gradient_is_wanted(q, k, v):
        return False
    sms = torch.cuda.get_device_properties(q.device).multi_processor_count
    return q.shape[:-2].numel() * math.ceil(q.shape[-2] / 64) >= sms


def square_is_small(q: Tensor, k: Tensor, v: Tensor) -> bool:
    """Whether what ``reference_attention`` holds fits into a quarter of the GPU's memory.

    That is at most three squares of FP32 scores at once, six with the backward pass.
    """
    squares = 6 if gradient_is_wanted(q, k, v) else 3
    scores = q.shape[:-1].numel() * k.shape[-2]
    memory = torch.cuda.get_device_properties(q.device).total_memory
    return squares * scores * 4 <= memory / 4


def reference_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """``reference.attention`` with FP32 or FP64 inside, whatever goes in: as exact as a kernel.

    A score between 8 and 16 is off by up to 2⁻⁵ in BF16, and its share by 3 %; the kernels hold
    scores in FP32.  On any device; raises what ``reference.attention`` does.
    """
    check_attention(q, k, v, scale=scale, enable_gqa=enable_gqa)
    device, inside = q.device.type, torch.float64 if q.dtype == torch.float64 else torch.float32
    casts = torch.amp.is_autocast_available(device)  # autocast would have 16 bits again
    with torch.autocast(device, enabled=False) if casts else nullcontext():
        out = three_lines(
            *(tensor.to(inside) for tensor in (q, k, v)),
            is_causal=is_causal, scale=scale, enable_gqa=enable_gqa,
        )  # fmt: skip
    return out.to(q.dtype)
