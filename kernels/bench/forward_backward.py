"""Times forward and backward of each form: the kernels alone, and the call of a user.

    hopper_attention, flash_attention    ours
    sdpa_cudnn                           cuDNN's, which PyTorch calls
    flash_attention_4                    those of the package flash-attn-4, if it's installed

A call goes through autograd, and its time includes the host's.  To leave the host out, we
launch the kernels directly and replay them as a CUDA graph.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

from kernels.bench.cost import attention_flops, backward_flops
from kernels.bench.rounds import clock_and_power, repeat_calls, time_in_rounds
from kernels.bench.timing import as_cuda_graph
from kernels.flash.attention import flash_attention, flash_backward, flash_forward
from kernels.hopper.attention import hopper_attention
from kernels.hopper.backward.gradients import hopper_backward
from kernels.reference import oracle

Gradients = tuple[Tensor, Tensor, Tensor]
TimingKey = tuple[str, str, str]  # name of the form; forward, backward or both; graph or eager
MIN_FLOPS = 1.5e12  # FLOP of one measurement: 3 ms at 500 TFLOP/s


class Form(NamedTuple):
    """Attention of q, k, v, [batch, heads, N, head_dim], as a user calls it, and its kernels.

    attention: differentiable; q, k, v, is_causal -> the output
    backward: q, k, v, dout, is_causal -> a function that launches the kernels of the backward
        pass alone and returns the gradients of q, k and v.  The forward pass runs once, before.
    """

    attention: Callable[..., Tensor]
    backward: Callable[..., Callable[[], Gradients]]


def _hopper(
    q: Tensor, k: Tensor, v: Tensor, dout: Tensor, is_causal: bool
) -> Callable[[], Gradients]:
    out, lse = hopper_attention(q, k, v, is_causal=is_causal, return_lse=True)
    return partial(hopper_backward, q, k, v, out, lse, dout, is_causal=is_causal)


def _flash(
    q: Tensor, k: Tensor, v: Tensor, dout: Tensor, is_causal: bool
) -> Callable[[], Gradients]:
    arguments = (q, k, v, None, is_causal, q.shape[-1] ** -0.5)
    return partial(flash_backward, *arguments, *flash_forward(*arguments), dout, None)


def _cudnn(
    q: Tensor, k: Tensor, v: Tensor, dout: Tensor, is_causal: bool
) -> Callable[[], Gradients]:
    """Calls the two operators behind ``scaled_dot_product_attention``."""
    forward = torch.ops.aten._scaled_dot_product_cudnn_attention
    out, lse, *rest = forward(q, k, v, None, True, is_causal=is_causal)
    cum_seq_q, cum_seq_k, max_q, max_k, seed, offset, _ = rest
    arguments = (seed, offset, None, cum_seq_q, cum_seq_k, max_q, max_k, 0.0, is_causal)
    backward = torch.ops.aten._scaled_dot_product_cudnn_attention_backward
    return lambda: backward(dout, q, k, v, out, lse, *arguments)[:3]


def forms() -> dict[str, Form]:
    """Returns all forms that can be called here, ours first.

    ``sdpa_cudnn`` is cuDNN's only inside ``sdpa_kernel(SDPBackend.CUDNN_ATTENTION)``.  To enter
    that for each call would cost the host as much as the call itself.
    """
    available = {
        "hopper_attention": Form(hopper_attention, _hopper),
        "flash_attention": Form(flash_attention, _flash),
        "sdpa_cudnn": Form(scaled_dot_product_attention, _cudnn),
    }
    flash_4 = flash_attention_4()
    return available | ({"flash_attention_4": flash_4} if flash_4 else {})


def flash_attention_4() -> Form | None:
    """Returns FlashAttention-4, or None if it can't be imported.

    Its tensors are [batch, N, heads, head_dim].  We transpose without a copy: give it tensors
    from ``in_layout_of``.
    """
    try:
        from flash_attn.cute.interface import _flash_attn_bwd, flash_attn_func
    except ImportError:
        return None

    def attention(q: Tensor, k: Tensor, v: Tensor, *, is_causal: bool = False) -> Tensor:
        output = flash_attn_func(*(x.transpose(1, 2) for x in (q, k, v)), causal=is_causal)
        return (output[0] if isinstance(output, tuple) else output).transpose(1, 2)

    def backward(q: Tensor, k: Tensor, v: Tensor, dout: Tensor, is_causal: bool):
        q, k, v, dout = (x.transpose(1, 2) for x in (q, k, v, dout))
        out, lse = flash_attn_func(q, k, v, causal=is_causal, return_lse=True)
        arguments = (q, k, v, out, dout, lse, None, is_causal)
        return lambda: tuple(x.transpose(1, 2) for x in _flash_attn_bwd(*arguments)[:3])

    return Form(attention, backward)


def in_layout_of(name: str, *tensors: Tensor) -> list[Tensor]:
    """Returns these tensors with the memory layout that this form reads, in the same shape."""
    if name != "flash_attention_4":
        return [x.contiguous() for x in tensors]
    return [x.transpose(1, 2).contiguous().transpose(1, 2) for x in tensors]


def timed_calls(
    name: str, form: Form, q: Tensor, k: Tensor, v: Tensor, dout: Tensor, is_causal: bool
) -> dict[TimingKey, Callable[[], object]]:
    """Returns the calls to time, forward and backward, already compiled."""
    q, k, v, dout = in_layout_of(name, q, k, v, dout)
    forward = partial(form.attention, q, k, v, is_causal=is_causal)
    leaves = [x.detach().requires_grad_() for x in (q, k, v)]
    out = form.attention(*leaves, is_causal=is_causal)
    backward = partial(torch.autograd.grad, out, leaves, dout, retain_graph=True)
    return {
        (name, "forward", "graph"): as_cuda_graph(forward),
        (name, "forward", "eager"): forward,
        (name, "backward", "graph"): as_cuda_graph(form.backward(q, k, v, dout, is_causal)),
        (name, "backward", "eager"): backward,
    }


def errors_of(
    q: Tensor, k: Tensor, v: Tensor, dout: Tensor, is_causal: bool
) -> dict[str, list[float]]:
    """Returns each form's relative error against FP64 in the first head.

    The errors are of the output and of the gradients of q, k and v, by the norm.
    """
    leaves = [x[0, 0].double().requires_grad_() for x in (q, k, v)]
    out = oracle(*leaves, is_causal=is_causal)
    references = [out, *torch.autograd.grad(out, leaves, dout[0, 0].double())]
    errors = {}
    for name, form in forms().items():
        tensors = in_layout_of(name, q, k, v, dout)
        with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
            results = [form.attention(*tensors[:3], is_causal=is_causal)]
            results += form.backward(*tensors, is_causal)()
        pairs = zip(results, references, strict=True)
        errors[name] = [((x[0, 0] - y).norm() / y.norm()).item() for x, y in pairs]
    return errors


def time_implementations(
    q: Tensor, k: Tensor, v: Tensor, dout: Tensor, is_causal: bool,
    *, count: int = 30, seed: int = 0,
) -> tuple[dict[TimingKey, list[float]], list[tuple[float, float]]]:  # fmt: skip
    """Times every form in every way in the same rounds, and reads clock and power in each.

    Returns the milliseconds of one call, where *both* is the sum of forward and backward of the
    same round, and what ``clock_and_power`` says in each round.  A measurement consists of
    enough calls to take 3 ms or more.
    """
    batch, heads, n, head_dim = q.shape
    flops_functions = {"forward": attention_flops, "backward": backward_flops}
    repeats = {
        direction: math.ceil(MIN_FLOPS / flops(n, head_dim, heads, batch, is_causal))
        for direction, flops in flops_functions.items()
    }
    calls_to_time: dict[TimingKey, Callable[[], object]] = {}
    readings: list[tuple[float, float]] = []
    with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
        for name, form in forms().items():
            for key, call in timed_calls(name, form, q, k, v, dout, is_causal).items():
                calls_to_time[key] = repeat_calls(call, repeats[key[1]])
        # The clock is read like another form, at a random place in each round.
        clock_key = ("", "", "")
        calls_to_time[clock_key] = lambda: readings.append(clock_and_power())
        times = time_in_rounds(calls_to_time, count=count, seed=seed)
    del times[clock_key]
    times = {key: [x / repeats[key[1]] for x in samples] for key, samples in times.items()}
    for name, direction, mode in list(times):
        if direction == "forward":
            pairs = zip(
                times[name, direction, mode], times[name, "backward", mode], strict=True
            )
            times[name, "both", mode] = [forward + backward for forward, backward in pairs]
    return times, readings[-count:]
