"""Runs the Hopper kernel with all of softmax before its second wait, which makes it slower.

In ``kernels.hopper.consumer``, a consumer waits for its scores, does softmax, and waits for the
product with values, which runs meanwhile.  But the compiler may move arithmetic behind a wait,
and it moves most of softmax there.  Here we put an instruction before the wait that it can't
move, and that needs the sum of all weights.
"""

from __future__ import annotations

from functools import cache, update_wrapper
from types import FunctionType
from typing import Any

from torch import Tensor
from triton.experimental import gluon
from triton.experimental.gluon import language as gl

from kernels.checks import check_no_gradient
from kernels.hopper.attention import check_call, empty_outputs, launch
from kernels.hopper.consumer import consume, online_softmax, remaining_blocks, step
from kernels.hopper.kernel import hopper_kernel
from kernels.hopper.plan import plan_for


def copy_with_globals(function: FunctionType, **names: Any) -> FunctionType:
    """Returns a copy of this function for which some global names mean something else."""
    copy = FunctionType(
        function.__code__,
        function.__globals__ | names,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    copy.__kwdefaults__ = function.__kwdefaults__
    copy = update_wrapper(copy, function)
    del copy.__wrapped__
    return copy


def kernel_with_globals(kernel, **names: Any):
    """Returns such a copy of a kernel, or of a function inside one."""
    options = {"do_not_specialize": kernel.do_not_specialize}
    return type(kernel)(copy_with_globals(kernel.fn, **names), **options)


@cache
def softmax_first_kernel():
    """Returns a ``hopper_kernel`` in which a step does softmax before it waits."""

    @gluon.jit
    def hold_before_wait(number):
        # Returns the same number, by instructions of which the last but one stays before any
        # wait: a thread would sleep if its number were below 0, but no sum of weights is.
        return gl.inline_asm_elementwise(
            "{ .reg .pred below; setp.lt.f32 below, $1, 0f00000000; @below nanosleep.u32 1; "
            "mov.b32 $0, $1; }",
            "=r,r",
            [number],
            dtype=gl.float32,
            is_pure=False,
            pack=1,
        )

    @gluon.jit
    def online_softmax_first(
        scores, running_max, running_sum, scale_log2, CONDITIONAL: gl.constexpr
    ):
        # Returns what online_softmax does, and all of it is computed before what follows.
        weights, new_max, new_sum, rescale = online_softmax(
            scores, running_max, running_sum, scale_log2, CONDITIONAL
        )
        return weights, new_max, hold_before_wait(new_sum), rescale

    step_softmax_first = kernel_with_globals(step, online_softmax=online_softmax_first)
    main_loop = kernel_with_globals(remaining_blocks, step=step_softmax_first)
    consumer = kernel_with_globals(consume, remaining_blocks=main_loop)
    return kernel_with_globals(hopper_kernel, consume=consumer)


def softmax_first_attention(
    q: Tensor, k: Tensor, v: Tensor, *, is_causal: bool = False
) -> Tensor:
    """Returns what ``hopper_attention`` does, without a gradient.

    Raises what ``hopper_attention`` raises.
    """
    check_no_gradient(instead="hopper_attention", query=q, key=k, value=v)
    scale = check_call(q, k, v, is_causal, None, False)
    out, _ = empty_outputs(q, False)
    plan = plan_for(q.shape[-1], is_causal, q.shape[-2])
    launch_softmax_first = copy_with_globals(launch, hopper_kernel=softmax_first_kernel())
    launch_softmax_first(q, k, v, out, None, is_causal, scale, plan)
    return out
