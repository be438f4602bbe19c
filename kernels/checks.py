"""Checks what every form of attention must: bad input is named before anything runs.

Messages call the arguments query, key and value.  If a tensor *is* the wrong thing, a TypeError
says so; if it *has* the wrong thing, a ValueError.
"""

from __future__ import annotations

import math
import reprlib
import sys

import torch
from torch import Tensor
from torch._C import _functorch
from torch._C._dynamo.eval_frame import get_eval_frame_callback
from torch._subclasses.fake_tensor import FakeTensor
from torch.autograd.forward_ad import unpack_dual
from torch.utils._python_dispatch import is_traceable_wrapper_subclass

KERNEL_DTYPES = (torch.float32, torch.float16, torch.bfloat16)
REFERENCE = "kernels.reference.attention"  # it takes more than any kernel does


def check_attention(
    q: Tensor, k: Tensor, v: Tensor, *, scale: float | None = None, enable_gqa: bool = False
) -> float:
    """Checks that query, key and value fit each other; returns the scale, 1/√d if None."""
    for name, tensor in (("query", q), ("key", k), ("value", v)):
        if not isinstance(tensor, Tensor):
            raise TypeError(f"{name} is {type(tensor).__name__}, a tensor is wanted")
        if sparse_or_nested(tensor):
            raise TypeError(f"{name} is {sparse_or_nested(tensor)}")
        if not tensor.is_floating_point():
            raise TypeError(f"{name} is {tensor.dtype}, a floating-point tensor is wanted")
        if tensor.ndim < 2:
            raise ValueError(
                f"{name} has {tensor.ndim} dimensions, [..., sequence, head_dim] is wanted"
            )
        if tensor.dtype != q.dtype:
            raise TypeError(f"{name} is {tensor.dtype}, query is {q.dtype}: they must match")
        if tensor.device != q.device:
            raise ValueError(
                f"{name} is on {tensor.device}, query is on {q.device}: they must match"
            )
        if tensor.ndim != q.ndim:
            raise ValueError(
                f"{name} has {tensor.ndim} dimensions, query has {q.ndim}: they must match"
            )
    if q.shape[-1] == 0:
        raise ValueError("query has head_dim 0, at least 1 is wanted")
    if k.shape[-1] != q.shape[-1]:
        raise ValueError(
            f"key has head_dim {k.shape[-1]}, query has {q.shape[-1]}: they must match"
        )
    if v.shape[-2] != k.shape[-2]:
        raise ValueError(
            f"value has sequence length {v.shape[-2]}, key has {k.shape[-2]}: they must match"
        )
    if v.shape[:-2] != k.shape[:-2]:
        raise ValueError(
            f"value has leading dimensions {_sizes(v)}, key has {_sizes(k)}: they must match"
        )
    if not isinstance(enable_gqa, bool):
        raise TypeError(f"enable_gqa is {type(enable_gqa).__name__}, True or False is wanted")
    _check_heads(q, k, enable_gqa)
    if scale is None:
        return 1 / math.sqrt(q.shape[-1])
    if isinstance(scale, bool) or not isinstance(scale, int | float):
        raise TypeError(f"scale is {type(scale).__name__}, a Python number is wanted")
    if not abs(scale) <= largest_scale(q.dtype):  # true of NaN, too
        wanted = f"at most {largest_scale(q.dtype):.2g} is wanted"
        raise ValueError(f"scale is {reprlib.repr(scale)}, {wanted}")
    return float(scale)


def largest_scale(dtype: torch.dtype, key_scale: float = 1.0) -> float:
    """Returns the largest scale, 2^127 in FP32: kernels multiply it by log2(e), which fits."""
    return sys.float_info.max if dtype == torch.float64 else 2.0**127 / key_scale


def _check_heads(q: Tensor, k: Tensor, enable_gqa: bool) -> None:
    if k.shape[:-2] == q.shape[:-2]:
        return
    if q.ndim < 3 or k.shape[:-3] != q.shape[:-3]:
        raise ValueError(
            f"key has leading dimensions {_sizes(k)}, query has {_sizes(q)}: they must match"
        )
    heads, query_heads = k.shape[-3], q.shape[-3]
    if not enable_gqa:
        raise ValueError(
            f"key has {heads} heads, query has {query_heads}: "
            "they must match unless enable_gqa=True"
        )
    if heads == 0 or query_heads % heads:
        raise ValueError(
            f"key has {heads} heads, query has {query_heads}: a whole multiple is wanted"
        )


def _sizes(tensor: Tensor) -> list[int]:
    return list(tensor.shape[:-2])


def visible(q: Tensor, k: Tensor, attn_mask: Tensor | None, is_causal: bool) -> Tensor | None:
    """Returns which keys each query sees, bool, broadcastable to [..., N_q, N_k]; None if all.

    A causal mask is aligned top-left, as in torch: query i sees keys 0 to i, even if N_q
    differs from N_k.
    """
    score_shape = (q.shape[-2], k.shape[-2])
    if attn_mask is not None:
        if not isinstance(attn_mask, Tensor) or attn_mask.dtype != torch.bool:
            kind = getattr(attn_mask, "dtype", type(attn_mask).__name__)
            raise TypeError(f"attn_mask is {kind}, a bool tensor is wanted: True takes part")
        if sparse_or_nested(attn_mask):
            raise TypeError(f"attn_mask is {sparse_or_nested(attn_mask)}")
        shape = (*q.shape[:-2], *score_shape)
        try:
            attn_mask.expand(shape)
        except RuntimeError:
            actual = list(attn_mask.shape)
            raise ValueError(
                f"attn_mask has shape {actual}, one that broadcasts to {list(shape)} is wanted"
            ) from None
        if attn_mask.device != q.device:
            raise ValueError(
                f"attn_mask is on {attn_mask.device}, query is on {q.device}: they must match"
            )
    if not isinstance(is_causal, bool):
        raise TypeError(f"is_causal is {type(is_causal).__name__}, True or False is wanted")
    if not is_causal:
        return attn_mask
    causal = torch.ones(score_shape, dtype=torch.bool, device=q.device).tril()
    return causal if attn_mask is None else attn_mask & causal


def repeat_heads(q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    """Returns k and v with as many heads as q: heads h·g to h·g + g - 1 share key head h."""
    if k.shape == q.shape[:-2] + k.shape[-2:]:
        return k, v
    group = q.shape[-3] // k.shape[-3]
    return k.repeat_interleave(group, -3), v.repeat_interleave(group, -3)


def check_rung(kernel, q: Tensor, k: Tensor, v: Tensor, **options) -> float:
    """Checks what ``check_shapes`` does, and that ``kernel`` runs on this dtype and device
    without a gradient; returns the scale to use."""
    scale = check_shapes(q, k, v, **options)
    check_runnable(kernel, on_cpu=REFERENCE, query=q, key=k, value=v)
    check_no_gradient(instead=REFERENCE, query=q, key=k, value=v)
    if options.get("key_lengths") is not None and why_unreadable(options["key_lengths"]):
        raise TypeError(f"key_lengths is {why_unreadable(options['key_lengths'])}")
    return scale


def check_shapes(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    is_causal: bool = False,
    key_lengths: Tensor | None = None,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> float:
    """Checks what ``check_attention`` does and what Triton kernels need; returns the scale.

    They need 4-D tensors, head_dim up to 256 and the same in v, and key_lengths that fit.
    """
    scale = check_attention(q, k, v, scale=scale, enable_gqa=enable_gqa)
    if q.ndim != 4:
        raise ValueError(
            f"query has {q.ndim} dimensions, [batch, heads, sequence, head_dim] is wanted"
        )
    if q.shape[-1] > 256:
        raise ValueError(
            f"query has head_dim {q.shape[-1]}, at most 256 is wanted: use {REFERENCE}"
        )
    if v.shape[-1] != q.shape[-1]:
        raise ValueError(
            f"value has head_dim {v.shape[-1]}, query has {q.shape[-1]}: they must match"
        )
    if not isinstance(is_causal, bool):
        raise TypeError(f"is_causal is {type(is_causal).__name__}, True or False is wanted")
    if key_lengths is not None:
        check_key_lengths(q, key_lengths)
    return scale


def check_key_lengths(q: Tensor, key_lengths: Tensor) -> None:
    """Checks that these are [batch] whole numbers on q's device.

    It doesn't read them, because that would wait for the GPU.  Kernels treat a length above N_k
    as N_k and one below 0 as 0.
    """
    if not isinstance(key_lengths, Tensor):
        raise TypeError(f"key_lengths is {type(key_lengths).__name__}, a tensor is wanted")
    if sparse_or_nested(key_lengths):
        raise TypeError(f"key_lengths is {sparse_or_nested(key_lengths)}")
    if key_lengths.dtype not in (torch.int32, torch.int64):
        raise TypeError(f"key_lengths is {key_lengths.dtype}, int32 or int64 is wanted")
    if key_lengths.shape != q.shape[:1]:
        raise ValueError(
            f"key_lengths has shape {list(key_lengths.shape)}, "
            f"query has {q.shape[0]} sequences: [{q.shape[0]}] is wanted"
        )
    if key_lengths.device != q.device:
        raise ValueError(
            f"key_lengths is on {key_lengths.device}, query is on {q.device}: they must match"
        )


def check_runnable(kernel, *, on_cpu: str, **tensors: Tensor) -> None:
    """Raises a ValueError or TypeError if this Triton kernel can't run on these tensors here.

    ``on_cpu`` names a function that does the same work on a CPU.
    """
    import triton  # here, so that the reference can be imported without it

    if torch.compiler.is_compiling() or (
        not isinstance(kernel, triton.JITFunction) and callable(get_eval_frame_callback())
    ):
        raise TypeError(
            f"{next(iter(tensors))} is traced by torch.compile, which cannot follow here: "
            f"put @torch.compiler.disable on the function that calls this, or use {on_cpu}"
        )
    interpreted = not isinstance(kernel, triton.JITFunction)
    for name, tensor in tensors.items():
        if why_unreadable(tensor):
            raise TypeError(f"{name} is {why_unreadable(tensor)}")
        if tensor.dtype not in KERNEL_DTYPES:
            raise TypeError(f"{name} is {tensor.dtype}, float32, float16 or bfloat16 is wanted")
        if interpreted and tensor.dtype == torch.bfloat16:
            raise TypeError(
                f"{name} is torch.bfloat16, which Triton's interpreter computes wrongly: "
                f"use float16 or float32 there, or {on_cpu}"
            )
        if interpreted and tensor.device.type != "cpu":
            raise ValueError(
                f"{name} is on {tensor.device}, where Triton's interpreter cannot run: "
                "move it to the CPU"
            )
        if not interpreted and tensor.device.type != "cuda":
            raise ValueError(
                f"{name} is on {tensor.device}, where a Triton kernel cannot run: "
                f"use {on_cpu}, or set TRITON_INTERPRET=1 before Python starts "
                "to run the kernel on a CPU, slowly"
            )


def check_no_gradient(*, instead: str, **tensors: Tensor) -> None:
    """Raises a ValueError for a tensor that requires a gradient: the kernel computes none.

    For one that's differentiated in forward mode or by torch.func it's a TypeError.
    """
    if name_of_differentiated(**tensors):
        raise TypeError(
            f"{name_of_differentiated(**tensors)} is differentiated in forward mode or by "
            f"torch.func, for which this kernel has no rule: use {instead}"
        )
    for name, tensor in tensors.items():
        if tensor.requires_grad and torch.is_grad_enabled():
            raise ValueError(
                f"{name} requires a gradient, which this kernel does not compute: "
                f"use torch.no_grad() or {instead}"
            )


def is_hopper(device: torch.device) -> bool:
    """Returns whether this GPU is NVIDIA's Hopper: some of AMD's call themselves 9.0, too."""
    return torch.version.hip is None and torch.cuda.get_device_capability(device) == (9, 0)


def sparse_or_nested(tensor: Tensor) -> str | None:
    """Returns the layout of a tensor that isn't dense, or None."""
    layout = "nested" if tensor.is_nested else tensor.layout
    return None if layout == torch.strided else f"{layout}, a dense tensor is wanted"


def why_unreadable(tensor: Tensor) -> str | None:
    """Returns what a tensor is if its memory doesn't hold its numbers for a kernel, or None."""
    if sparse_or_nested(tensor):
        return sparse_or_nested(tensor)
    if _functorch.is_functorch_wrapped_tensor(tensor):
        return "inside of torch.func (vmap, grad, jvp), where a kernel cannot read it"
    if isinstance(tensor, FakeTensor) or is_traceable_wrapper_subclass(tensor):
        return f"{type(tensor).__name__}, which has no numbers of its own: a Tensor is wanted"
    return "negated lazily: call .resolve_neg() first" if tensor.is_neg() else None


def name_of_differentiated(**tensors: Tensor) -> str | None:
    """Returns the name of the first tensor with a tangent, or a gradient by torch.func."""
    for name, tensor in tensors.items():
        if unpack_dual(tensor).tangent is not None:
            return name
        while not torch.compiler.is_compiling() and _functorch.is_functorch_wrapped_tensor(
            tensor
        ):
            if _functorch.is_gradtrackingtensor(tensor) and tensor.requires_grad:
                return name
            tensor = _functorch.get_unwrapped(tensor)
    return None
